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

/** More links than usual, because the product is not a metric: docs/adr/0040-vectors-of-recommendations.md */
const CONNECTIVITY = 24
const EXPANSION_ADD = 128
/** Number of vectors that are found with damped lengths, and then ordered by their products. */
const EXPANSION_SEARCH = 1_024
/**
 * Vectors are stored with this power of their lengths. With whole lengths, paths lead to the longest ones only, and
 * with equal ones a search finds the nearest by angle.
 */
const LENGTH_POWER = 0.5
const ONE_THREAD = 1

export function newVectorIndex(dimensions: number): VectorIndex {
  const lengths = new Map<bigint, number>()
  return over(emptyIndex(dimensions), dimensions, (key) => lengths.get(key) as number, lengths)
}

/**
 * Opens a saved index by mapping its file. It must not be added to.
 * @param lengthOf returns the length of a vector that was added
 */
export function viewVectorIndex(path: string, dimensions: number, lengthOf: (key: bigint) => number): VectorIndex {
  const index = emptyIndex(dimensions)
  index.view(path)
  return over(index, dimensions, lengthOf, new Map())
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

function over(index: Index, dimensions: number, lengthOf: (key: bigint) => number, added: Map<bigint, number>): VectorIndex {
  /** Writes a vector with a damped length, and returns its whole length. */
  function damp(vector: Float32Array, out: Float32Array): number {
    let squares = 0
    for (const value of vector) squares += value * value
    const length = Math.sqrt(squares)
    const scale = length === 0 ? 0 : length ** (LENGTH_POWER - 1)
    for (let at = 0; at < vector.length; at++) out[at] = vector[at] * scale
    return length
  }

  function addRows(keys: BigUint64Array, vectors: Float32Array, threads: number): void {
    const damped = new Float32Array(vectors.length)
    keys.forEach((key, row) => {
      const [from, to] = [row * dimensions, (row + 1) * dimensions]
      added.set(key, damp(vectors.subarray(from, to), damped.subarray(from, to)))
    })
    index.add(keys, damped, threads)
  }

  return {
    add: (key, vector) => addRows(BigUint64Array.of(key), vector, ONE_THREAD),
    addRows(firstKey, vectors, threads) {
      const keys = BigUint64Array.from({ length: vectors.length / dimensions }, (_, row) => BigInt(firstKey + row))
      addRows(keys, vectors, threads)
    },
    search(vector, count) {
      const looked = Math.min(Math.max(count, EXPANSION_SEARCH), index.size())
      if (looked === 0) return []
      const { keys, distances } = index.search(vector, looked, ONE_THREAD)
      const found = Array.from(keys, (key, at) => ({ key, product: (1 - distances[at]) * lengthOf(key) ** (1 - LENGTH_POWER) }))
      return found.sort((one, other) => other.product - one.product).slice(0, count)
    },
    get size() {
      return index.size()
    },
    save: (path) => index.save(path),
  }
}
