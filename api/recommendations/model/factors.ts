import { closeSync, openSync, read as readFile, readSync } from 'node:fs'
import { promisify } from 'node:util'
import { isNoNumber, toFloats } from './half-floats.ts'

/** The factors of all items in a file of halves, row by row. */
export interface Factors {
  /** Returns the factors of a row. The array belongs to the cache: do not change it. */
  row(row: number): Float32Array
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
  try {
    await checkNumbers(file, rows, dimensions)
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
    close: () => closeSync(file),
  }
}

const readPiece = promisify(readFile)

async function checkNumbers(file: number, rows: number, dimensions: number): Promise<void> {
  const halves = new Uint16Array(CHECKED_ROWS * dimensions)
  for (let row = 0; row < rows; row += CHECKED_ROWS) {
    const count = Math.min(CHECKED_ROWS, rows - row) * dimensions
    const bytes = count * BYTES_PER_HALF
    const { bytesRead } = await readPiece(file, halves, 0, bytes, row * dimensions * BYTES_PER_HALF)
    if (bytesRead !== bytes) throw new FactorsError('the factors are too short')
    for (let at = 0; at < count; at++) {
      if (isNoNumber(halves[at])) throw new FactorsError(`the factors of row ${row + Math.floor(at / dimensions)} are not numbers`)
    }
  }
}
