import { exactSearch, MetricKind } from 'usearch'
import { readWhole } from '../../../api/recommendations/model/read-whole.ts'

/** A file that contains rows of half-precision floats. */
export interface FactorFile {
  /** Descriptor of the open file. */
  readonly file: number
  readonly rows: number
  readonly dimensions: number
}

/**
 * Number of groups, and number of parts into which each group is divided. With these two levels, a row is compared with
 * 128 centres. With a single level of as many parts, it would be compared with 4,096 centres.
 */
const GROUPS = 64
/**
 * Mean number of rows in a group below which there are fewer groups. A search reads each group with a system call, so
 * very small groups would cost more to read than they would save.
 */
const LEAST_MEAN_ROWS = 64
/** Number of times that the centres move to the middle of the rows that are nearest to them. */
const MOVES = 2
/** Number of evenly spaced rows that determine the middles. */
const SAMPLED_ROWS = 8_192
/** Number of rows that are read at a time. As floats, these rows take 8 MB. */
export const ROWS_AT_ONCE = 8_192
const BYTES_PER_HALF = 2
const ONE_THREAD = 1

/** Divides rows into up to 4,096 groups of vectors with similar directions. No group is empty. */
export function vectorGroups(factors: FactorFile, rows: Uint32Array): Uint32Array[] {
  return divided(factors, rows).flatMap((group) => divided(factors, group))
}

/** Divides rows into up to 64 groups. Each row joins the group whose centre has the highest cosine similarity to it. */
function divided(factors: FactorFile, rows: Uint32Array): Uint32Array[] {
  const count = Math.min(GROUPS, Math.floor(rows.length / LEAST_MEAN_ROWS))
  if (count <= 1) return rows.length === 0 ? [] : [rows]
  const centres = movedCentres(factors, rows, count)
  const groupOf = new Uint8Array(rows.length)
  const sizes = new Uint32Array(count)
  for (let start = 0; start < rows.length; start += ROWS_AT_ONCE) {
    nearestOf(centres, readRows(factors, rows.subarray(start, start + ROWS_AT_ONCE)), factors.dimensions).forEach((group, at) => {
      groupOf[start + at] = group
      sizes[group]++
    })
  }
  const groups = Array.from(sizes, (size) => new Uint32Array(size))
  const filled = new Uint32Array(count)
  rows.forEach((row, at) => {
    const group = groupOf[at]
    groups[group][filled[group]++] = row
  })
  return groups.filter(({ length }) => length > 0)
}

/** Returns centres, each of length 1. They begin as evenly spaced rows, and move like those of k-means. */
function movedCentres(factors: FactorFile, rows: Uint32Array, count: number): Float32Array {
  const { dimensions } = factors
  let centres = units(readRows(factors, spaced(rows, count)), dimensions)
  const sample = units(readRows(factors, spaced(rows, SAMPLED_ROWS)), dimensions)
  for (let move = 0; move < MOVES; move++) {
    const sums = new Float32Array(centres.length)
    const sizes = new Uint32Array(count)
    nearestOf(centres, sample, dimensions).forEach((group, at) => {
      sizes[group]++
      for (let column = 0; column < dimensions; column++) sums[group * dimensions + column] += sample[at * dimensions + column]
    })
    // A centre without rows stays where it is.
    sizes.forEach((size, group) => {
      if (size === 0) sums.set(centres.subarray(group * dimensions, (group + 1) * dimensions), group * dimensions)
    })
    centres = units(sums, dimensions)
  }
  return centres
}

/** Returns the group with the nearest centre for each vector. */
function nearestOf(centres: Float32Array, vectors: Float32Array, dimensions: number): Uint32Array {
  const { keys } = exactSearch(centres, vectors, dimensions, 1, MetricKind.IP, ONE_THREAD)
  return Uint32Array.from(keys, Number)
}

function spaced(rows: Uint32Array, most: number): Uint32Array {
  const count = Math.min(most, rows.length)
  return Uint32Array.from({ length: count }, (_, at) => rows[Math.floor((at * rows.length) / count)])
}

/** Reads rows, and returns them as floats, one row after another. */
export function readRows({ file, dimensions }: FactorFile, rows: Uint32Array): Float32Array<ArrayBuffer> {
  const halves = new Float16Array(rows.length * dimensions)
  const bytes = new Uint8Array(halves.buffer)
  const rowBytes = dimensions * BYTES_PER_HALF
  for (let first = 0; first < rows.length; ) {
    // Rows that follow one another in the file are read with a single call.
    let last = first + 1
    while (last < rows.length && rows[last] === rows[last - 1] + 1) last++
    readWhole(file, bytes.subarray(first * rowBytes, last * rowBytes), rows[first] * rowBytes)
    first = last
  }
  return new Float32Array(halves)
}

/** Scales vectors to the length 1, in place. Vectors of zeros stay zeros. */
export function units(vectors: Float32Array<ArrayBuffer>, dimensions: number): Float32Array<ArrayBuffer> {
  for (let start = 0; start < vectors.length; start += dimensions) {
    let squares = 0
    for (let at = start; at < start + dimensions; at++) squares += vectors[at] * vectors[at]
    const length = Math.sqrt(squares) || 1
    for (let at = start; at < start + dimensions; at++) vectors[at] /= length
  }
  return vectors
}
