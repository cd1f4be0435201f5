import { statSync } from 'node:fs'
import { join } from 'node:path'
import { GROUPS_FILE } from '../../../api/recommendations/model/manifest.ts'
import { partitionFor } from '../../../kafka/partitioner.ts'
import { interactions, itemNeighbours, items } from '../../../schemas/recommendations/topics.ts'
import { integer, seededRandom } from '../../../tools/random/random.ts'
import { startApiProcess, untilReady } from '../../harness/node-process.ts'
import { anonymousMib } from '../../harness/process-stats.ts'
import { row } from '../../harness/table.ts'
import { bytesIn } from '../../matches/disk.ts'
import { itemIdOf } from './bundle.ts'
import type { PartInput } from './part.ts'
import type { RecommendationsSystem } from './system.ts'

const SAMPLE = 1_000
const SEED = 71
const BYTES_PER_MIB = 2 ** 20

/**
 * Measures the memory of an API process, the memory that users and items take in Redis, and the size of the worker's
 * state on disk.
 */
export async function measureMemory({ world, bundle, say }: PartInput, system: RecommendationsSystem): Promise<void> {
  // The smallest possible API process is measured as well, to show how much memory recommendations add.
  const empty = await startApiProcess([], { ...system.env, API_SERVICES: 'limits' })
  let without: number
  try {
    await untilReady(empty.line.url as string)
    without = anonymousMib(empty.pid)
  } finally {
    await empty.stop()
  }
  const own = anonymousMib(system.api.pid)
  const perUser = await bytesOf(system, usersKeys(world.users))
  const perItem = await bytesOf(system, itemsKeys(world.items))
  const state = bytesIn(system.servers.home.state)
  say(`\n### Memory with ${world.items} items and ${world.users} users with 12 interactions on average\n`)
  say(row(['what', 'MiB', 'target']))
  say(row(['---', '--:', '---']))
  say(
    row([
      'groups of vectors, in the page cache once per host',
      (statSync(join(bundle, GROUPS_FILE)).size / BYTES_PER_MIB).toFixed(0),
      '700',
    ]),
  )
  say(row(['own memory of an API process', own.toFixed(0), '']))
  say(row(['of this, beyond the memory of an API process that runs only the smallest service', (own - without).toFixed(0), '150']))
  for (const [what, bytes] of perUser) say(row([`Redis: ${what} of 1,000 users`, mibPerThousand(bytes), 'reported']))
  for (const [what, bytes] of perItem) say(row([`Redis: ${what} of 1,000 items`, mibPerThousand(bytes), 'reported']))
  const stateBytes = state / (world.users / 1_000) / BYTES_PER_MIB
  say(row(['state of the worker on disk per 1,000 users, with all items', stateBytes.toFixed(2), 'reported']))
}

function mibPerThousand(bytes: number): string {
  return ((bytes * 1_000) / BYTES_PER_MIB).toFixed(2)
}

type KeysOf = (partition: number, id: string) => Readonly<Record<string, string>>

interface Sampled {
  readonly topics: readonly { readonly name: string; readonly partitions: number }[]
  ids(): Iterable<string>
  readonly keysOf: readonly KeysOf[]
}

function usersKeys(users: number): Sampled {
  return {
    topics: [interactions],
    ids: () => sampled(users, (number) => String(number + 1)),
    keysOf: [
      (partition, id) => ({
        features: `{user-features:${partition}}:self:${id}`,
        'watched items': `{user-features:${partition}}:seen:${id}`,
      }),
    ],
  }
}

function itemsKeys(count: number): Sampled {
  return {
    topics: [itemNeighbours, items],
    ids: () => sampled(count, (number) => String(itemIdOf(number))),
    keysOf: [
      (partition, id) => ({ 'neighbours (including items that have none)': `{item-neighbours:${partition}}:of:${id}` }),
      (partition, id) => ({ 'titles and images': `{recommendation-items:${partition}}:item:${id}` }),
    ],
  }
}

function* sampled(below: number, idOf: (number: number) => string): Generator<string> {
  const random = seededRandom(SEED)
  for (let draw = 0; draw < SAMPLE; draw++) yield idOf(integer(random, below))
}

/** Returns the mean number of bytes per key, grouped by kind of key. A missing key counts as 0. */
async function bytesOf({ redis }: RecommendationsSystem, { topics, ids, keysOf }: Sampled): Promise<Map<string, number>> {
  const sums = new Map<string, number>()
  for (const id of ids()) {
    for (const [index, keys] of keysOf.entries()) {
      const partition = partitionFor(Buffer.from(id), topics[index].partitions)
      for (const [kind, key] of Object.entries(keys(partition, id))) {
        sums.set(kind, (sums.get(kind) ?? 0) + ((await redis.memory('USAGE', key, 'SAMPLES', 0)) ?? 0) / SAMPLE)
      }
    }
  }
  return sums
}
