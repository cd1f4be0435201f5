import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { DIMENSIONS } from '../../../api/recommendations/model/manifest.ts'
import { newVectorIndex } from '../../../api/recommendations/model/vector-index.ts'
import { insertionOrder, readRows } from './insertion-order.ts'

export interface IndexBuild {
  /** The folder of the bundle. It contains the factors and receives the index. */
  readonly folder: string
  readonly items: number
  /** The maximum Euclidean length of an item's vector of factors. */
  readonly greatestLength: number
  readonly threads: number
  /** Called after each batch of rows, with the number of rows added so far. */
  onRows?(added: number): void
}

/** Number of rows that are read and added at a time. As floats, these rows take 8 MB. */
const ROWS_AT_ONCE = 8_192

/** Builds the index of a bundle from its factors. The factors are read in parts. */
export async function buildIndex({ folder, items, greatestLength, threads, onRows }: IndexBuild): Promise<void> {
  const index = newVectorIndex(DIMENSIONS)
  const file = openSync(join(folder, 'items.f16'), 'r')
  try {
    const factors = { file, rows: items, dimensions: DIMENSIONS }
    const order = insertionOrder(factors, threads)
    for (let start = 0; start < items; start += ROWS_AT_ONCE) {
      const rows = order.subarray(start, start + ROWS_AT_ONCE)
      const vectors = readRows(factors, rows)
      for (let at = 0; at < vectors.length; at++) vectors[at] /= greatestLength
      index.addRows(rows, vectors, threads)
      onRows?.(start + rows.length)
    }
  } finally {
    closeSync(file)
  }
  index.save(join(folder, 'items.usearch'))
}
