import { Index, MetricKind, ScalarKind } from 'usearch'

/** A found row, and the product of its vector with the question's. */
export interface NearRow {
  readonly key: bigint
  readonly product: number
}

/** Finds the vectors with the greatest inner products. */
export interface VectorIndex {
  /** @param vector of length 1 at most */
  add(key: bigint, vector: Float32Array): void
  /**
   * Adds many vectors at once, with ascending keys.
   * @param vectors row by row, each of length 1 at most
   */
  addRows(firstKey: number, vectors: Float32Array, threads: number): void
  search(vector: Float32Array, count: number): NearRow[]
  readonly size: number
  save(path: string): void
}

/**
 * The dot product is not a metric, so a search in a sparse graph goes wrong among vectors of different lengths.
 * Therefore an item has half as many links again as usual: docs/services/recommendations.md#vectors
 */
const CONNECTIVITY = 24
const EXPANSION_ADD = 128
const EXPANSION_SEARCH = 512
const ONE_THREAD = 1

export function newVectorIndex(dimensions: number): VectorIndex {
  return over(emptyIndex(dimensions), dimensions)
}

/** Opens a saved index by mapping its file. It must not be added to. */
export function viewVectorIndex(path: string, dimensions: number): VectorIndex {
  const index = emptyIndex(dimensions)
  index.view(path)
  return over(index, dimensions)
}

function emptyIndex(dimensions: number): Index {
  return new Index({
    dimensions,
    metric: MetricKind.IP,
    quantization: ScalarKind.F16,
    connectivity: CONNECTIVITY,
    expansion_add: EXPANSION_ADD,
    expansion_search: EXPANSION_SEARCH,
    multi: false,
  })
}

function over(index: Index, dimensions: number): VectorIndex {
  return {
    add: (key, vector) => index.add(key, vector, ONE_THREAD),
    addRows(firstKey, vectors, threads) {
      const keys = BigUint64Array.from({ length: vectors.length / dimensions }, (_, row) => BigInt(firstKey + row))
      index.add(keys, vectors, threads)
    },
    search(vector, count) {
      const wanted = Math.min(count, index.size())
      if (wanted === 0) return []
      const { keys, distances } = index.search(vector, wanted, ONE_THREAD)
      return Array.from(keys, (key, at) => ({ key, product: 1 - distances[at] }))
    },
    get size() {
      return index.size()
    },
    save: (path) => index.save(path),
  }
}
