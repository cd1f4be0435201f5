import { closeSync, openSync, read as readFile } from 'node:fs'
import { promisify } from 'node:util'
import { BundleError } from './manifest.ts'
import { readWhole } from './read-whole.ts'

/** The factors of all items. They are in a file of 16-bit floats, row by row. */
export interface Factors {
  /**
   * Writes the factors of a row into `out`, starting at `at`.
   * @throws Error if the file has become shorter
   */
  copy(row: number, out: Float32Array, at: number): void
  /**
   * Returns the dot product of a row and a vector.
   * @throws Error if the file has become shorter
   */
  productWith(row: number, vector: Float32Array): number
  close(): void
}

/** Factors, and the length of each row. */
export interface OpenFactors {
  readonly factors: Factors
  readonly lengths: Float32Array
}

/**
 * Maximum number of rows that are cached for each open file. These rows take 12 MB. In addition, the operating system
 * caches the file once per host.
 */
const CACHED_ROWS = 24_576
const NOTHING = -1
const BYTES_PER_HALF = 2
/**
 * Number of rows checked between two pauses. Checking them takes a few milliseconds. The process serves requests during
 * the pauses.
 */
export const CHECKED_ROWS = 4_096

/** Error for factors that must not be used. */
class FactorsError extends BundleError {
  override readonly name = 'FactorsError'
}

/**
 * Opens and checks a file of factors.
 * @param dimensions a multiple of 4
 * @throws FactorsError if the file is too short, or contains infinities or NaN
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
  // The cache is direct-mapped: each row has a fixed place, which it shares with other rows. A lookup therefore needs
  // neither objects nor a Map.
  const places = Math.max(1, Math.min(CACHED_ROWS, rows))
  const held = new Int32Array(places).fill(NOTHING)
  const halves = new Float16Array(places * dimensions)
  const bytes = new Uint8Array(halves.buffer)

  /** Returns where the row begins in `halves`. */
  function startOf(row: number): number {
    const place = row % places
    if (held[place] !== row) {
      held[place] = NOTHING
      readWhole(file, bytes.subarray(place * rowBytes, (place + 1) * rowBytes), row * rowBytes)
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
      // Computes four separate sums, because additions to the same sum would have to wait for each other.
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
      // Later calls must fail, even for rows that are in the cache.
      held.fill(NOTHING)
      closeSync(file)
    },
  }
  return { factors, lengths }
}

const readPiece = promisify(readFile)

/** Checks all numbers, and computes the lengths of the rows in the same pass. */
async function checkedLengths(file: number, rows: number, dimensions: number): Promise<Float32Array> {
  const halves = new Float16Array(CHECKED_ROWS * dimensions)
  const bytes = new Uint8Array(halves.buffer)
  const lengths = new Float32Array(rows)
  for (let row = 0; row < rows; row += CHECKED_ROWS) {
    const count = Math.min(CHECKED_ROWS, rows - row)
    const length = count * dimensions * BYTES_PER_HALF
    const { bytesRead } = await readPiece(file, bytes, 0, length, row * dimensions * BYTES_PER_HALF)
    if (bytesRead !== length) throw new FactorsError('the file of the factors is too short')
    for (let at = 0; at < count; at++) {
      let squares = 0
      for (let column = at * dimensions; column < (at + 1) * dimensions; column++) squares += halves[column] * halves[column]
      if (!Number.isFinite(squares)) throw new FactorsError(`the factors of row ${row + at} are not finite numbers`)
      lengths[row + at] = Math.sqrt(squares)
    }
  }
  return lengths
}
