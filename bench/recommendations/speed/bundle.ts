import { existsSync } from 'node:fs'
import { mkdir, open, readFile, rm, writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { DIMENSIONS } from '../../../api/recommendations/model/manifest.ts'
import { seededRandom } from '../../../tools/random/random.ts'
import { buildIndex } from '../../../tools/recommendations/train/build-index.ts'
import { writeManifest } from '../../../tools/recommendations/train/bundle.ts'
import { generatedTrees } from './trees.ts'
import type { World } from './world.ts'

/** Regularization, the same as in training. */
const REGULARIZATION = 0.5
const GREATEST_LENGTH = 1
/** Number of items from which the Gram matrix is computed. The result is scaled up to all items. */
const GRAM_ROWS = 20_000
const ROWS_AT_ONCE = 8_192
const TREES_SEED = 5
const SEQUENCE = 1
const MS_PER_SECOND = 1_000
const PROGRESS_LINES = 10

export interface GeneratedBundle {
  readonly folder: string
  /** Time to build the index; undefined if the bundle already existed. */
  readonly indexSeconds: number | undefined
}

/**
 * Writes a bundle for a generated world into a folder, unless the folder already contains a bundle with this number of
 * items.
 */
export async function generateBundle(folder: string, world: World): Promise<GeneratedBundle> {
  const manifest = join(folder, 'manifest.json')
  if (existsSync(manifest) && JSON.parse(await readFile(manifest, 'utf8')).items === world.items) return { folder, indexSeconds: undefined }
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  const { items } = world
  await writeFile(
    join(folder, 'items.ids'),
    BigInt64Array.from({ length: items }, (_, row) => itemIdOf(row)),
  )
  const gram = await writeFactors(folder, world)
  await writeFile(join(folder, 'gram.f64'), gram)
  await writeFile(join(folder, 'tokens.json'), JSON.stringify(['none']))
  await writeFile(join(folder, 'tokens.f32'), new Float32Array(DIMENSIONS))
  await writeFile(join(folder, 'trees.txt'), generatedTrees(seededRandom(TREES_SEED)))
  const begun = performance.now()
  await buildIndex({ folder, items, greatestLength: GREATEST_LENGTH, threads: availableParallelism(), onRows: sayProgress(items) })
  const indexSeconds = (performance.now() - begun) / MS_PER_SECOND
  const factorised = { items, regularization: REGULARIZATION, greatestLength: GREATEST_LENGTH }
  await writeManifest(folder, factorised, SEQUENCE, Date.now())
  return { folder, indexSeconds }
}

/**
 * Returns a callback that prints the progress, because a million items take many minutes. Call it with the number of
 * items added so far.
 */
function sayProgress(items: number): (added: number) => void {
  const begun = performance.now()
  let next = items / PROGRESS_LINES
  return function say(added) {
    if (added < next) return
    next += items / PROGRESS_LINES
    const seconds = (performance.now() - begun) / MS_PER_SECOND
    process.stderr.write(`The index has ${added} of ${items} items after ${seconds.toFixed(0)} s.\n`)
  }
}

/** Returns the id of an item. Ids must be positive, so they begin at 1. */
export function itemIdOf(row: number): bigint {
  return BigInt(row + 1)
}

/** Writes the factors in half precision, and returns an estimate of their Gram matrix. */
async function writeFactors(folder: string, world: World): Promise<Float64Array> {
  const { items } = world
  const gram = new Float64Array(DIMENSIONS * DIMENSIONS)
  const vector = new Float32Array(DIMENSIONS)
  const file = await open(join(folder, 'items.f16'), 'w')
  try {
    for (let start = 0; start < items; start += ROWS_AT_ONCE) {
      const count = Math.min(ROWS_AT_ONCE, items - start)
      const halves = new Float16Array(count * DIMENSIONS)
      for (let row = 0; row < count; row++) {
        world.factorsOf(start + row, vector)
        halves.set(vector, row * DIMENSIONS)
        if (start + row < GRAM_ROWS) addOuter(gram, vector)
      }
      await file.write(new Uint8Array(halves.buffer))
    }
  } finally {
    await file.close()
  }
  return gram.map((value) => (value * items) / Math.min(items, GRAM_ROWS))
}

function addOuter(gram: Float64Array, vector: Float32Array): void {
  for (let row = 0, at = 0; row < DIMENSIONS; row++) {
    for (let column = 0; column < DIMENSIONS; column++) gram[at++] += vector[row] * vector[column]
  }
}
