import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { Index, MetricKind, ScalarKind } from 'usearch'

/** A row that a search has found, with the value by which it is ranked. */
export interface NearRow {
  readonly key: number
  readonly value: number
}

/**
 * How results are ranked: by the inner product with the query, or by the cosine. The cosine requires a query of length
 * 1.
 */
export type NearBy = 'product' | 'cosine'

/** Approximately finds the vectors with the largest inner product or cosine with a query. Keys are counted from 0. */
export interface VectorIndex {
  /** @param vector a vector whose length is at most 1 */
  add(key: number, vector: Float32Array): void
  /**
   * Adds many vectors at once.
   * @param vectors the vectors one after another, in the order of `keys`, each with a length of at most 1
   */
  addRows(keys: ArrayLike<number>, vectors: Float32Array, threads: number): void
  /** Removes a vector. Its key can be used again, and a later vector reuses its memory. */
  remove(key: number): void
  search(vector: Float32Array, count: number, by?: NearBy): NearRow[]
  readonly size: number
  save(path: string): void
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
let sorted = new Float64Array(LOOKED_AT.product)

export function newVectorIndex(dimensions: number): VectorIndex {
  return over(emptyIndex(dimensions), dimensions, new Float32Array(FIRST_ROOTS))
}

/**
 * Opens a saved index by mapping its file into memory. No vectors may be added to this index.
 * @param roots square roots of the lengths of the vectors in the index, indexed by key
 * @throws Error if the file is missing, or is not an index of vectors with these dimensions
 */
export function viewVectorIndex(path: string, dimensions: number, roots: Float32Array): VectorIndex {
  checkIndexFile(path, dimensions)
  const index = emptyIndex(dimensions)
  index.view(path)
  return over(index, dimensions, roots)
}

/** A saved index begins with the numbers of rows and of bytes per row. The rows and the name of the format follow. */
const ROWS_START = 8
const FORMAT = 'usearch'

/**
 * Checks the beginning of a saved index, because the library must not open a file that is not an index. If the file is
 * missing or empty, the library closes descriptor 0, which may be the descriptor of a socket or of another file. If the
 * file states too many rows, the library ends the process.
 */
function checkIndexFile(path: string, dimensions: number): void {
  const file = openSync(path, 'r')
  try {
    const [start, name] = [Buffer.alloc(ROWS_START), Buffer.alloc(FORMAT.length)]
    readSync(file, start, 0, ROWS_START, 0)
    const rowBytes = start.readUInt32LE(4)
    const end = ROWS_START + start.readUInt32LE(0) * rowBytes
    if (end < fstatSync(file).size) readSync(file, name, 0, FORMAT.length, end)
    if (name.toString('latin1') !== FORMAT) throw new Error(`${path} is not a saved index`)
    if (rowBytes !== dimensions * BYTES_PER_NUMBER) throw new Error(`the vectors in ${path} do not have ${dimensions} dimensions`)
  } finally {
    closeSync(file)
  }
}

/**
 * Type of the numbers in the index: bfloat16, which has as many exponent bits as a 32-bit float. A search takes three
 * quarters of the time that it takes with half floats, and finds just as many of the best items. A saved index names
 * its type of numbers, so indexes that were saved with half floats can still be opened.
 */
const NUMBERS = ScalarKind.BF16
/** Size of a bfloat16 and of a half float, in bytes. */
const BYTES_PER_NUMBER = 2

function emptyIndex(dimensions: number): Index {
  return new Index({
    dimensions,
    metric: MetricKind.IP,
    quantization: NUMBERS,
    connectivity: CONNECTIVITY,
    expansion_add: EXPANSION_ADD,
    expansion_search: LEAST_EXPANSION,
    multi: false,
  })
}

/**
 * Creates an index whose vectors are scaled, so that the length of each is the square root of its original length. With
 * the original lengths, search paths would lead only to the longest vectors. With equal lengths, a search would rank
 * only by angle.
 * @param known square roots of the lengths of the vectors, indexed by key
 */
function over(index: Index, dimensions: number, known: Float32Array): VectorIndex {
  let roots = known

  /** Scales the vectors to the square roots of their lengths, and keeps these roots. */
  function damped(keys: ArrayLike<number>, vectors: Float32Array): Float32Array {
    const out = new Float32Array(vectors.length)
    for (let row = 0, start = 0; row < keys.length; row++, start += dimensions) {
      const key = keys[row]
      if (key >= roots.length) roots = grown(roots, key + 1)
      let squares = 0
      for (let at = start; at < start + dimensions; at++) squares += vectors[at] * vectors[at]
      const root = squares ** 0.25
      roots[key] = root
      if (root > 0) for (let at = start; at < start + dimensions; at++) out[at] = vectors[at] / root
    }
    return out
  }

  function addRows(keys: ArrayLike<number>, vectors: Float32Array, threads: number): void {
    index.add(BigUint64Array.from(keys, BigInt), damped(keys, vectors), threads)
  }

  return {
    add: (key, vector) => addRows([key], vector, ONE_THREAD),
    addRows,
    remove: (key) => void index.remove(BigInt(key)),
    search(vector, count, by = 'product') {
      const looked = Math.min(Math.max(count, LOOKED_AT[by]), index.size())
      if (looked === 0) return []
      if (looked > values.length) [values, sorted] = [new Float64Array(looked), new Float64Array(looked)]
      const { keys, distances } = index.search(vector, looked, ONE_THREAD)
      // Reads only the lower halves of the keys, because all keys are below 2^32. Reading 1,024 bigints would take far
      // longer.
      const halves = new Uint32Array(keys.buffer, keys.byteOffset, 2 * keys.length)
      for (let at = 0; at < distances.length; at++) {
        const root = roots[halves[2 * at]]
        const product = 1 - distances[at]
        values[at] = by === 'product' ? product * root : root === 0 ? 0 : product / root
      }
      return greatest(distances.length, count, halves)
    },
    get size() {
      return index.size()
    },
    save: (path) => index.save(path),
  }
}

/** Returns the `count` highest of the first `length` values, best first. Equal values stay in their order. */
function greatest(length: number, count: number, halves: Uint32Array): NearRow[] {
  let least = Number.NEGATIVE_INFINITY
  if (length > count) {
    const copy = sorted.subarray(0, length)
    copy.set(values.subarray(0, length))
    least = copy.sort()[length - count]
  }
  const found: NearRow[] = []
  for (let at = 0; at < length; at++) if (values[at] >= least) found.push({ key: halves[2 * at], value: values[at] })
  found.sort((one, other) => other.value - one.value)
  if (found.length > count) found.length = count
  return found
}

function grown(before: Float32Array, least: number): Float32Array {
  const after = new Float32Array(Math.max(least, 2 * before.length))
  after.set(before)
  return after
}
