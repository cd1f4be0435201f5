import { Index, MetricKind, ScalarKind } from 'usearch'
import { type NearRow, nearRows } from './near-rows.ts'

/**
 * How results are ranked: by the inner product with the query, or by the cosine. The cosine requires a query of length
 * 1.
 */
export type NearBy = 'product' | 'cosine'

/**
 * Approximately finds the vectors with the largest inner products or cosines with a query, while vectors are added and
 * removed. Keys are counted from 0.
 */
export interface VectorIndex {
  /** @param vector a vector whose length is at most 1 */
  add(key: number, vector: Float32Array): void
  /** Removes a vector. Its key can be used again, and a later vector reuses its memory. */
  remove(key: number): void
  search(vector: Float32Array, count: number, by?: NearBy): NearRow[]
}

/**
 * Number of links per vector in the HNSW graph. It is larger than usual, because the product is not a metric:
 * docs/adr/0040-vectors-of-recommendations.md
 */
const CONNECTIVITY = 24
const EXPANSION_ADD = 128
/**
 * Minimum number of vectors that a search takes from the index. The search then ranks them by the product or the cosine
 * of the vectors with their original lengths. Searches by cosine find similar items. They take fewer vectors, because
 * their results only become candidates, and because one list may need five of these searches.
 */
const LOOKED_AT: Readonly<Record<NearBy, number>> = { product: 1_024, cosine: 512 }
/** Minimum number of vectors that a search expands. A search also expands at least as many vectors as it returns. */
const LEAST_EXPANSION = 64
const ONE_THREAD = 1
const FIRST_ROOTS = 1_024

/** Scratch memory that all searches share. They are synchronous, so no two searches use it at the same time. */
let values = new Float64Array(LOOKED_AT.product)

/**
 * Creates an index whose vectors are damped: see `dampingOf`. With the original lengths, search paths would lead only
 * to the longest vectors.
 */
export function newVectorIndex(dimensions: number): VectorIndex {
  const index = new Index({
    dimensions,
    metric: MetricKind.IP,
    quantization: ScalarKind.BF16,
    connectivity: CONNECTIVITY,
    expansion_add: EXPANSION_ADD,
    expansion_search: LEAST_EXPANSION,
    multi: false,
  })
  /** Square roots of the lengths of the vectors, indexed by key. */
  let roots: Float32Array = new Float32Array(FIRST_ROOTS)

  return {
    add(key, vector) {
      if (key >= roots.length) roots = grown(roots, key + 1)
      const damping = dampingOf(lengthOf(vector))
      roots[key] = damping === 0 ? 0 : 1 / damping
      index.add(
        BigInt(key),
        vector.map((value) => value * damping),
        ONE_THREAD,
      )
    },
    remove: (key) => void index.remove(BigInt(key)),
    search(vector, count, by = 'product') {
      const looked = Math.min(Math.max(count, LOOKED_AT[by]), index.size())
      if (looked === 0) return []
      if (looked > values.length) values = new Float64Array(looked)
      const { keys, distances } = index.search(vector, looked, ONE_THREAD)
      // Reads only the lower halves of the keys, because all keys are below 2^32. Reading 1,024 bigints would take far
      // longer.
      const halves = new Uint32Array(keys.buffer, keys.byteOffset, 2 * keys.length)
      for (let at = 0; at < distances.length; at++) {
        const root = roots[halves[2 * at]]
        const product = 1 - distances[at]
        values[at] = by === 'product' ? product * root : root === 0 ? 0 : product / root
      }
      return nearRows(values.subarray(0, distances.length), count, (at) => halves[2 * at])
    },
  }
}

function lengthOf(vector: Float32Array): number {
  let squares = 0
  for (const value of vector) squares += value * value
  return Math.sqrt(squares)
}

function grown(before: Float32Array, least: number): Float32Array {
  const after = new Float32Array(Math.max(least, 2 * before.length))
  after.set(before)
  return after
}

/**
 * Returns the factor that damps a vector. The length of a damped vector is the square root of its original length. With
 * equal lengths, search paths would lead only to vectors with similar directions.
 * @param length the length of the vector
 */
function dampingOf(length: number): number {
  return length === 0 ? 0 : 1 / Math.sqrt(length)
}
