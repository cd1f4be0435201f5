import { closeSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { dampingOf, greatestOf, MOST_NUMBER, writeNumbers } from '../../../api/recommendations/model/eight-bits.ts'
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
      const measures = measured(factors, greatestLength)
      const groups = vectorGroups(factors, shorterThan(measures.lengths, longest))
      writeFile(out, factors, groups, measures)
    } finally {
      closeSync(out)
    }
  } finally {
    closeSync(file)
  }
}

interface Measures extends Pick<GroupsOptions, 'greatestLength'> {
  /** The lengths of all vectors, divided by the maximum length. */
  readonly lengths: Float32Array
  /** The greatest absolute value of each vector after damping. */
  readonly peaks: Float32Array
}

function writeFile(out: number, factors: FactorFile, groups: readonly Uint32Array[], measures: Measures): void {
  const { lengths, peaks, greatestLength } = measures
  for (const group of groups) group.sort((one, other) => lengths[other] - lengths[one] || one - other)
  const rows = new Uint32Array(groups.reduce((sum, { length }) => sum + length, 0))
  const starts = new Uint32Array(groups.length + 1)
  groups.forEach((group, at) => {
    rows.set(group, starts[at])
    starts[at + 1] = starts[at] + group.length
  })
  const scale = MOST_NUMBER / (rows.reduce((most, row) => Math.max(most, peaks[row]), 0) || 1)
  const middles = centresOf(factors, groups)
  const centreScale = MOST_NUMBER / (greatestOf(middles) || 1)
  const centres = new Int8Array(middles.length)
  writeNumbers(middles, centreScale, centres, 0)
  for (const part of groupFileStart({ groups: groups.length, starts, rows, centres, centreScale, scale })) writeFileSync(out, part)
  for (let start = 0; start < rows.length; start += ROWS_AT_ONCE) {
    const part = rows.subarray(start, start + ROWS_AT_ONCE)
    const vectors = readRows(factors, part)
    const numbers = new Int8Array(vectors.length)
    part.forEach((row, at) => {
      const vector = vectors.subarray(at * DIMENSIONS, (at + 1) * DIMENSIONS)
      writeNumbers(vector, (scale * dampingOf(lengths[row])) / greatestLength, numbers, at * DIMENSIONS)
    })
    writeFileSync(out, numbers)
  }
}

function measured(factors: FactorFile, greatestLength: number): Measures {
  const [lengths, peaks] = [new Float32Array(factors.rows), new Float32Array(factors.rows)]
  for (let start = 0; start < factors.rows; start += ROWS_AT_ONCE) {
    const rows = Uint32Array.from({ length: Math.min(ROWS_AT_ONCE, factors.rows - start) }, (_, at) => start + at)
    const vectors = readRows(factors, rows)
    rows.forEach((row, at) => {
      const vector = vectors.subarray(at * DIMENSIONS, (at + 1) * DIMENSIONS)
      let squares = 0
      for (const value of vector) squares += value * value
      lengths[row] = Math.sqrt(squares) / greatestLength
      peaks[row] = (greatestOf(vector) * dampingOf(lengths[row])) / greatestLength
    })
  }
  return { lengths, peaks, greatestLength }
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
