import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { exactSearch, MetricKind } from 'usearch'
import { DIMENSIONS, GROUPS_FILE } from '../../../api/recommendations/model/manifest.ts'
import { openModel } from '../../../api/recommendations/model/open.ts'
import { seededRandom } from '../../../tools/random/random.ts'
import { quantile, row } from '../../harness/table.ts'
import { itemIdOf } from './bundle.ts'
import type { PartInput } from './part.ts'
import type { World } from './world.ts'

/** Number of candidates per search. Lists take the same number from a search. */
const WANTED = 200
const SEED = 31
const WARM_UP = 20
const ONE_THREAD = 1
const BYTES_PER_MIB = 2 ** 20
/** Number of values per step of the conversion to floats. Converting all at once would take several GB of memory. */
const VALUES_AT_ONCE = 65_536

/**
 * Measures how many of the 200 items with the highest dot products a search finds, and how long a search takes. An
 * exact search provides the expected items and the time to compare with.
 */
export async function measureRecall({ world, bundle, values, say }: PartInput): Promise<void> {
  const model = await openModel(bundle)
  try {
    const random = seededRandom(SEED)
    const questions = Array.from({ length: values.questions }, () => historyOf(world, random)).flatMap((history) => {
      const vector = model.foldIn(history)
      return vector === undefined ? [] : [vector]
    })
    for (const vector of questions.slice(0, WARM_UP)) model.nearest(vector, WANTED)
    const found = questions.map((vector) => timed(() => model.nearest(vector, WANTED).map(({ itemId }) => itemId)))
    const dataset = await floatsOf(join(bundle, 'items.f16'))
    const exactly = (vector: Float32Array) => exactSearch(dataset, vector, DIMENSIONS, WANTED, MetricKind.IP, ONE_THREAD)
    const exact = questions.map((vector) => timed(() => [...exactly(vector).keys].map((key) => itemIdOf(Number(key)))))
    const shares = found.map(({ result }, index) => {
      const best = new Set(exact[index].result)
      return result.filter((itemId) => best.has(itemId)).length / WANTED
    })
    const { size } = await stat(join(bundle, GROUPS_FILE))
    say(
      `\n### Recall among ${world.items} items for ${questions.length} users who are folded in (target: at least 0.95 of the best ${WANTED})\n`,
    )
    say(row(['search, one thread', 'recall', 'lowest recall of a user', 'P50 ms', 'P99 ms', 'MiB']))
    say(row(['---', '--:', '--:', '--:', '--:', '--:']))
    const recall = shares.reduce((sum, share) => sum + share, 0) / shares.length
    say(
      row([
        '8-bit numbers; MiB of those in groups',
        recall.toFixed(4),
        Math.min(...shares).toFixed(3),
        ...timesOf(found),
        Math.round(size / BYTES_PER_MIB),
      ]),
    )
    say(row(['exact search, 32-bit floats', 1, 1, ...timesOf(exact), Math.round(dataset.byteLength / BYTES_PER_MIB)]))
  } finally {
    model.close()
  }
}

function historyOf(world: World, random: () => number) {
  const user = world.anyUser(random)
  const length = Math.min(100, world.interactionsOf(user))
  return Array.from({ length }, () => ({ itemId: itemIdOf(world.chosenBy(user, random)), weight: 1 }))
}

interface Timed<T> {
  readonly result: T
  readonly ms: number
}

function timed<T>(work: () => T): Timed<T> {
  const begun = performance.now()
  const result = work()
  return { result, ms: performance.now() - begun }
}

function timesOf(all: readonly Pick<Timed<unknown>, 'ms'>[]): string[] {
  const sorted = all.map(({ ms }) => ms).toSorted((a, b) => a - b)
  return [0.5, 0.99].map((share) => quantile(sorted, share).toFixed(2))
}

async function floatsOf(path: string): Promise<Float32Array> {
  const bytes = await readFile(path)
  const halves = new Float16Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / Float16Array.BYTES_PER_ELEMENT)
  const floats = new Float32Array(halves.length)
  for (let at = 0; at < halves.length; at += VALUES_AT_ONCE) floats.set(halves.subarray(at, at + VALUES_AT_ONCE), at)
  return floats
}
