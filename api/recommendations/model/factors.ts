import { closeSync, openSync, read as readFile, readSync } from 'node:fs'
import { promisify } from 'node:util'

/** The factors of all items in a file of halves, row by row. */
export interface Factors {
  /** Writes the factors of a row into `out` from `at` on. */
  copy(row: number, out: Float32Array, at: number): void
  /** Returns the product of a row with a vector. */
  productWith(row: number, vector: Float32Array): number
  close(): void
}

/** Factors, and the length of each row. Few need the lengths for as long as the factors. */
export interface OpenFactors {
  readonly factors: Factors
  readonly lengths: Float32Array
}

/** Rows that a process keeps: 8 MB. The file itself is in the system's cache, once per host. A power of two. */
const CACHED_ROWS = 16_384
const NOTHING = -1
const BYTES_PER_HALF = 2
/** Requests are answered between two pieces. One takes a few milliseconds. */
export const CHECKED_ROWS = 4_096

/** Thrown for factors that must not be used. */
class FactorsError extends Error {
  override readonly name = 'FactorsError'
}

/**
 * @param dimensions a multiple of 4
 * @throws FactorsError if the file is too short, or holds infinities or NaN
 */
export async function openFactors(path: string, rows: number, dimensions: number): Promise<OpenFactors> {
  const file = openSync(path, 'r')
  const rowBytes = dimensions * BYTES_PER_HALF
  let lengths: Float32Array
  try {
    lengths = await checkedLengths(file, rows, dimensions)
  } catch (error) {
    closeSync(file)
    throw error
  }
  // Each row has one place, which it shares with few others, so that a look-up costs neither objects nor a Map.
  const places = Math.min(CACHED_ROWS, powerOfTwoFrom(rows))
  const held = new Int32Array(places).fill(NOTHING)
  const halves = new Float16Array(places * dimensions)
  const bytes = new Uint8Array(halves.buffer)

  /** Returns where the row begins in `halves`. */
  function startOf(row: number): number {
    const place = row & (places - 1)
    if (held[place] !== row) {
      held[place] = NOTHING
      readSync(file, bytes, place * rowBytes, rowBytes, row * rowBytes)
      held[place] = row
    }
    return place * dimensions
  }

  const factors: Factors = {
    copy(row, out, at) {
      const start = startOf(row)
      for (let column = 0; column < dimensions; column++) out[at + column] = halves[start + column]
    },
    productWith(row, vector) {
      const start = startOf(row)
      // Four sums side by side, because a processor waits for each addition to one.
      let [first, second, third, fourth] = [0, 0, 0, 0]
      for (let at = 0; at < dimensions; at += 4) {
        first += halves[start + at] * vector[at]
        second += halves[start + at + 1] * vector[at + 1]
        third += halves[start + at + 2] * vector[at + 2]
        fourth += halves[start + at + 3] * vector[at + 3]
      }
      return first + second + (third + fourth)
    },
    close() {
      held.fill(NOTHING)
      closeSync(file)
    },
  }
  return { factors, lengths }
}

const readPiece = promisify(readFile)

/** Checks all numbers, and returns the lengths of the rows, which are read on the way. */
async function checkedLengths(file: number, rows: number, dimensions: number): Promise<Float32Array> {
  const halves = new Float16Array(CHECKED_ROWS * dimensions)
  const bytes = new Uint8Array(halves.buffer)
  const lengths = new Float32Array(rows)
  for (let row = 0; row < rows; row += CHECKED_ROWS) {
    const count = Math.min(CHECKED_ROWS, rows - row)
    const length = count * dimensions * BYTES_PER_HALF
    const { bytesRead } = await readPiece(file, bytes, 0, length, row * dimensions * BYTES_PER_HALF)
    if (bytesRead !== length) throw new FactorsError('the factors are too short')
    for (let at = 0; at < count; at++) {
      let squares = 0
      for (let column = at * dimensions; column < (at + 1) * dimensions; column++) squares += halves[column] * halves[column]
      if (!Number.isFinite(squares)) throw new FactorsError(`the factors of row ${row + at} are not numbers`)
      lengths[row + at] = Math.sqrt(squares)
    }
  }
  return lengths
}

function powerOfTwoFrom(least: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(1, least)))
}
