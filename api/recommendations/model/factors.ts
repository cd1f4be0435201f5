import { closeSync, openSync, readSync } from 'node:fs'
import { isNoNumber, toFloats } from './half-floats.ts'

/** The factors of all items in a file of halves, row by row. */
export interface Factors {
  readonly rows: number
  readonly dimensions: number
  /** Returns the factors of a row. The array belongs to the cache: do not change it. */
  row(row: number): Float32Array
  close(): void
}

/** Decoded rows that a process keeps, 1 KB each. The file itself lies in the system's cache, once per host. */
const CACHED_ROWS = 20_000
const BYTES_PER_HALF = 2
const CHECKED_ROWS = 4_096

class FactorsError extends Error {
  override readonly name = 'FactorsError'
}

/** @throws FactorsError if the file holds infinities or NaN */
export function openFactors(path: string, rows: number, dimensions: number): Factors {
  const file = openSync(path, 'r')
  const halves = new Uint16Array(dimensions)
  // Two generations bound the cache: the older one goes when the newer one is full.
  let newer = new Map<number, Float32Array>()
  let older = new Map<number, Float32Array>()
  try {
    checkNumbers(file, rows, dimensions)
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
    rows,
    dimensions,
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

function checkNumbers(file: number, rows: number, dimensions: number): void {
  const halves = new Uint16Array(CHECKED_ROWS * dimensions)
  for (let row = 0; row < rows; row += CHECKED_ROWS) {
    const count = Math.min(CHECKED_ROWS, rows - row) * dimensions
    const bytes = count * BYTES_PER_HALF
    if (readSync(file, halves, 0, bytes, row * dimensions * BYTES_PER_HALF) !== bytes) throw new FactorsError('the factors are too short')
    for (let at = 0; at < count; at++) {
      if (isNoNumber(halves[at])) throw new FactorsError(`the factors of row ${row + Math.floor(at / dimensions)} are no numbers`)
    }
  }
}
