import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { DIMENSIONS } from '../../../api/recommendations/model/manifest.ts'
import { newVectorIndex } from '../../../api/recommendations/model/vector-index.ts'

export interface IndexBuild {
  /** The folder of the bundle. It contains the factors and receives the index. */
  readonly folder: string
  readonly items: number
  /** The greatest length of an item's factors. */
  readonly greatestLength: number
  readonly threads: number
  /** Called after each piece. */
  onRows?(added: number): void
}

/** Number of rows that are read and added at a time, 8 MB of floats. */
const ROWS_AT_ONCE = 8_192
const BYTES_PER_HALF = 2

/** Builds the index of a bundle from its factors, which are read in parts. */
export async function buildIndex({ folder, items, greatestLength, threads, onRows }: IndexBuild): Promise<void> {
  const index = newVectorIndex(DIMENSIONS)
  const file = await open(join(folder, 'items.f16'), 'r')
  try {
    for (let row = 0; row < items; row += ROWS_AT_ONCE) {
      const count = Math.min(ROWS_AT_ONCE, items - row)
      const halves = new Float16Array(count * DIMENSIONS)
      await file.read(new Uint8Array(halves.buffer), 0, halves.byteLength, row * DIMENSIONS * BYTES_PER_HALF)
      const vectors = new Float32Array(halves.length)
      for (let at = 0; at < vectors.length; at++) vectors[at] = halves[at] / greatestLength
      index.addRows(row, vectors, threads)
      onRows?.(row + count)
    }
  } finally {
    await file.close()
  }
  index.save(join(folder, 'items.usearch'))
}
