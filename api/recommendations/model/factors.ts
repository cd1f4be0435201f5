import { closeSync, openSync, read as readFile, readSync } from 'node:fs'
import { promisify } from 'node:util'
import { toFloats } from './half-floats.ts'

/** The factors of all items in a file of halves, row by row. */
export interface Factors {
  /** Returns the factors of a row. The array belongs to the cache: do not change it. */
  row(row: number): Float32Array
  /** The length of each row. */
  readonly lengths: Float32Array
  close(): void
}

/** Decoded rows that a process keeps, 1 KB each. The file itself is in the system's cache, once per host. */
const CACHED_ROWS = 20_000
const BYTES_PER_HALF = 2
/** Requests are answered between two pieces. One takes a few milliseconds. */
export const CHECKED_ROWS = 4_096

/** Thrown for factors that must not be used. */
class FactorsError extends Error {
  override readonly name = 'FactorsError'
}

/** @throws FactorsError if the file is too short, or holds infinities or NaN */
export async function openFactors(path: string, rows: number, dimensions: number): Promise<Factors> {
  const file = openSync(path, 'r')
  const halves = new Uint16Array(dimensions)
  // Two generations bound the cache: the older one goes when the newer one is full.
  let newer = new Map<number, Float32Array>()
  let older = new Map<number, Float32Array>()
  let lengths: Float32Array
  try {
    lengths = await checkedLengths(file, rows, dimensions)
  } catch (error) {
    closeSync(file)
    throw error
  }

  function read(row: number): Float32Array {
    const decoded = new Float32Array(dimensions)
    readSync(file, halves, 0, halves.byteLength, row * halves.byteLength)
    toFloats(halves, 0, decoded)
    return decoded
  }

  return {
    row(row) {
      let found = newer.get(row)
      if (found !== undefined) return found
      found = older.get(row) ?? read(row)
      if (newer.size >= CACHED_ROWS / 2) {
        older = newer
        newer = new Map()
      }
      newer.set(row, found)
      return found
    },
    lengths,
    close: () => closeSync(file),
  }
}

const readPiece = promisify(readFile)

/** Checks all numbers, and returns the lengths of the rows, which are read on the way. */
async function checkedLengths(file: number, rows: number, dimensions: number): Promise<Float32Array> {
  const halves = new Uint16Array(CHECKED_ROWS * dimensions)
  const decoded = new Float32Array(dimensions)
  const lengths = new Float32Array(rows)
  for (let row = 0; row < rows; row += CHECKED_ROWS) {
    const count = Math.min(CHECKED_ROWS, rows - row)
    const bytes = count * dimensions * BYTES_PER_HALF
    const { bytesRead } = await readPiece(file, halves, 0, bytes, row * dimensions * BYTES_PER_HALF)
    if (bytesRead !== bytes) throw new FactorsError('the factors are too short')
    for (let at = 0; at < count; at++) {
      toFloats(halves, at * dimensions, decoded)
      let squares = 0
      for (const value of decoded) squares += value * value
      if (!Number.isFinite(squares)) throw new FactorsError(`the factors of row ${row + at} are not numbers`)
      lengths[row + at] = Math.sqrt(squares)
    }
  }
  return lengths
}
