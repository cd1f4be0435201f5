import { readSync } from 'node:fs'
import { exactSearch, MetricKind } from 'usearch'

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
/** Number of rows that are read and assigned at a time. As floats, these rows take 8 MB. */
const ROWS_AT_ONCE = 8_192
const BYTES_PER_HALF = 2

/**
 * Returns all rows in an order in which vectors with similar directions are close together. If vectors are inserted
 * into an index in this order, successive insertions visit the same part of the graph, so this part is in the CPU's
 * caches; see docs/adr/0063-vectors-are-indexed-in-groups.md.
 */
export function insertionOrder(factors: FactorFile, threads: number): Uint32Array {
  const all = Uint32Array.from({ length: factors.rows }, (_, row) => row)
  const order = new Uint32Array(factors.rows)
  let placed = 0
  for (const group of groupsOf(factors, all, threads)) {
    for (const part of groupsOf(factors, group, threads)) {
      order.set(part, placed)
      placed += part.length
    }
  }
  return order
}

/**
 * Divides rows into groups. Evenly spaced rows are the centres, and each row joins the group whose centre has the
 * highest cosine similarity to the row.
 */
function groupsOf(factors: FactorFile, rows: Uint32Array, threads: number): Uint32Array[] {
  if (rows.length <= GROUPS) return [rows]
  const { dimensions } = factors
  const spaced = Uint32Array.from({ length: GROUPS }, (_, group) => rows[Math.floor((group * rows.length) / GROUPS)])
  const centres = units(readRows(factors, spaced), dimensions)
  const groupOf = new Uint8Array(rows.length)
  const sizes = new Uint32Array(GROUPS)
  for (let start = 0; start < rows.length; start += ROWS_AT_ONCE) {
    const vectors = readRows(factors, rows.subarray(start, start + ROWS_AT_ONCE))
    const { keys } = exactSearch(centres, vectors, dimensions, 1, MetricKind.IP, threads)
    keys.forEach((key, at) => {
      groupOf[start + at] = Number(key)
      sizes[Number(key)]++
    })
  }
  const groups = Array.from(sizes, (size) => new Uint32Array(size))
  const filled = new Uint32Array(GROUPS)
  rows.forEach((row, at) => {
    const group = groupOf[at]
    groups[group][filled[group]++] = row
  })
  return groups
}

/** Reads rows, and returns them as floats, one row after another. */
export function readRows({ file, dimensions }: FactorFile, rows: Uint32Array): Float32Array {
  const halves = new Float16Array(rows.length * dimensions)
  const bytes = new Uint8Array(halves.buffer)
  const rowBytes = dimensions * BYTES_PER_HALF
  for (let first = 0; first < rows.length; ) {
    // Rows that follow one another in the file are read with a single call.
    let last = first + 1
    while (last < rows.length && rows[last] === rows[last - 1] + 1) last++
    readSync(file, bytes, first * rowBytes, (last - first) * rowBytes, rows[first] * rowBytes)
    first = last
  }
  return new Float32Array(halves)
}

function units(vectors: Float32Array, dimensions: number): Float32Array {
  for (let start = 0; start < vectors.length; start += dimensions) {
    let squares = 0
    for (let at = start; at < start + dimensions; at++) squares += vectors[at] * vectors[at]
    const length = Math.sqrt(squares) || 1
    for (let at = start; at < start + dimensions; at++) vectors[at] /= length
  }
  return vectors
}
