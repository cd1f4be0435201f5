import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { DIMENSIONS } from '../../../api/recommendations/model/manifest.ts'
import { viewVectorIndex } from '../../../api/recommendations/model/vector-index.ts'
import { seededRandom } from '../../../tools/random/random.ts'
import { buildIndex } from '../../../tools/recommendations/train/build-index.ts'
import { insertionOrder } from '../../../tools/recommendations/train/insertion-order.ts'

const ROWS = 1_200
const CLUSTERS = 40
const LENGTH = 4
const folder = mkdtempSync(join(tmpdir(), 'millrace-build-index-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Vectors in clusters around a few centres. Successive vectors always belong to different clusters. */
const halves = clustered()
writeFileSync(join(folder, 'items.f16'), halves)
const vectorOf = (row: number) => Float32Array.from(halves.subarray(row * DIMENSIONS, (row + 1) * DIMENSIONS))

test('vectors with similar directions are mostly inserted one after another, and none is missing or repeated', () => {
  const file = openSync(join(folder, 'items.f16'), 'r')
  const order = insertionOrder({ file, rows: ROWS, dimensions: DIMENSIONS }, 1)
  closeSync(file)
  expect(order.toSorted()).toEqual(Uint32Array.from({ length: ROWS }, (_, row) => row))
  let changes = 0
  for (let at = 1; at < ROWS; at++) if (order[at] % CLUSTERS !== order[at - 1] % CLUSTERS) changes++
  // In the input, successive rows always belong to different clusters.
  expect(changes).toBeLessThan(ROWS / 2)
})

test('an index that is built in insertion order finds vectors under their own rows', async () => {
  await buildIndex({ folder, items: ROWS, greatestLength: LENGTH, threads: 1 })
  const lengths = Float32Array.from({ length: ROWS }, (_, row) => Math.hypot(...vectorOf(row)) / LENGTH)
  const index = viewVectorIndex(join(folder, 'items.usearch'), DIMENSIONS, lengths.map(Math.sqrt))
  expect(index.size).toBe(ROWS)
  for (let row = 0; row < ROWS; row += 7) {
    const unit = vectorOf(row).map((value) => value / (lengths[row] * LENGTH))
    expect(index.search(unit, 1, 'cosine')[0].key).toBe(row)
  }
})

function clustered(): Float16Array {
  const random = seededRandom(3)
  const centres = Array.from({ length: CLUSTERS }, () => Array.from({ length: DIMENSIONS }, () => random() - 0.5))
  const all = new Float16Array(ROWS * DIMENSIONS)
  for (let row = 0; row < ROWS; row++) {
    const scale = 0.2 + 0.15 * random()
    for (let at = 0; at < DIMENSIONS; at++) all[row * DIMENSIONS + at] = scale * (centres[row % CLUSTERS][at] + 0.2 * (random() - 0.5))
  }
  return all
}
