import { closeSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { writeNumbers } from '../../../api/recommendations/model/eight-bits.ts'
import { groupFileStart } from '../../../api/recommendations/model/group-file.ts'
import { DIMENSIONS, GROUPS_FILE, MOST_WHOLE } from '../../../api/recommendations/model/manifest.ts'
import { type FactorFile, ROWS_AT_ONCE, readRows, units, vectorGroups } from './vector-groups.ts'

export interface GroupsOptions {
  /** The folder of the bundle. It contains the factors and receives the file of the groups. */
  readonly folder: string
  readonly items: number
  /** The maximum Euclidean length of an item's vector of factors. */
  readonly greatestLength: number
  /** Maximum number of items of a catalogue without groups. */
  readonly mostWhole?: number
  /** Number of the longest vectors of a larger catalogue. These vectors are in no group. */
  readonly longest?: number
}

/**
 * Number of the longest vectors of a large catalogue. The API keeps these vectors in memory. They take 4 MiB, and
 * include about half of a user's best vectors.
 */
export const LONGEST = 16_384

/** Writes the vectors of a large catalogue in groups. The file of a small catalogue has no groups. */
export function writeGroups({ folder, items, greatestLength, mostWhole = MOST_WHOLE, longest = LONGEST }: GroupsOptions): void {
  const file = openSync(join(folder, 'items.f16'), 'r')
  try {
    const out = openSync(join(folder, GROUPS_FILE), 'w')
    try {
      // No vector of a small catalogue is in a group, so none is read.
      const factors = { file, rows: items <= mostWhole ? 0 : items, dimensions: DIMENSIONS }
      const lengths = lengthsOf(factors)
      writeFile(out, factors, { groups: vectorGroups(factors, shorterThan(lengths, longest)), lengths, greatestLength })
    } finally {
      closeSync(out)
    }
  } finally {
    closeSync(file)
  }
}

interface Grouped extends Pick<GroupsOptions, 'greatestLength'> {
  /** The rows of each group. */
  readonly groups: readonly Uint32Array[]
  /** The lengths of all vectors. */
  readonly lengths: Float32Array
}

function writeFile(out: number, factors: FactorFile, { groups, lengths, greatestLength }: Grouped): void {
  for (const group of groups) group.sort((one, other) => lengths[other] - lengths[one] || one - other)
  const rows = new Uint32Array(groups.reduce((sum, { length }) => sum + length, 0))
  const starts = new Uint32Array(groups.length + 1)
  groups.forEach((group, at) => {
    rows.set(group, starts[at])
    starts[at + 1] = starts[at] + group.length
  })
  const { numbers: centres, steps: centreSteps } = numbersOf(centresOf(factors, groups))
  const steps = new Float32Array(rows.length)
  const start = groupFileStart({ groups: groups.length, starts, rows, steps, centreSteps, centres })
  let position = start.reduce((sum, { length }) => sum + length, 0)
  for (let first = 0; first < rows.length; first += ROWS_AT_ONCE) {
    const part = numbersOf(readRows(factors, rows.subarray(first, first + ROWS_AT_ONCE)))
    steps.set(
      part.steps.map((step) => step / greatestLength),
      first,
    )
    writeWhole(out, part.numbers, position)
    position += part.numbers.length
  }
  // The start of the file is written last, because it contains the steps. Its parts are views of the arrays above.
  writeWhole(out, Buffer.concat(start), 0)
}

/** Converts vectors, one after another, to 8-bit numbers. */
function numbersOf(vectors: Float32Array): { readonly numbers: Int8Array; readonly steps: Float32Array } {
  const numbers = new Int8Array(vectors.length)
  const steps = Float32Array.from({ length: vectors.length / DIMENSIONS }, (_, at) =>
    writeNumbers(vectors.subarray(at * DIMENSIONS, (at + 1) * DIMENSIONS), numbers, at * DIMENSIONS),
  )
  return { numbers, steps }
}

/** Writes all bytes at a position of a file. A single system call may write fewer. */
function writeWhole(file: number, bytes: Uint8Array | Int8Array, position: number): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at, bytes.length - at, position + at)
}

function lengthsOf(factors: FactorFile): Float32Array {
  const lengths = new Float32Array(factors.rows)
  for (let start = 0; start < factors.rows; start += ROWS_AT_ONCE) {
    const rows = Uint32Array.from({ length: Math.min(ROWS_AT_ONCE, factors.rows - start) }, (_, at) => start + at)
    const vectors = readRows(factors, rows)
    for (let at = 0; at < vectors.length; at++) lengths[start + Math.floor(at / DIMENSIONS)] += vectors[at] ** 2
  }
  return lengths.map(Math.sqrt)
}

/** Returns all rows except those of the longest vectors, in ascending order. */
function shorterThan(lengths: Float32Array, longest: number): Uint32Array {
  const rows = Uint32Array.from(lengths.keys()).sort((one, other) => lengths[other] - lengths[one] || one - other)
  return rows.subarray(longest).sort()
}

/** Returns the middle of the directions in each group, as a vector of length 1. */
function centresOf(factors: FactorFile, groups: readonly Uint32Array[]): Float32Array {
  const centres = new Float32Array(groups.length * DIMENSIONS)
  groups.forEach((group, at) => {
    for (let start = 0; start < group.length; start += ROWS_AT_ONCE) {
      const vectors = units(readRows(factors, group.subarray(start, start + ROWS_AT_ONCE)), DIMENSIONS)
      for (let place = 0; place < vectors.length; place++) centres[at * DIMENSIONS + (place % DIMENSIONS)] += vectors[place]
    }
  })
  return units(centres, DIMENSIONS)
}
