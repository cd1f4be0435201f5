import { setImmediate as otherWork } from 'node:timers/promises'
import { byteProducts } from './byte-products.ts'
import { writeNumbers } from './eight-bits.ts'
import type { Factors } from './factors.ts'
import { groupChoice, READ_ROWS } from './group-choice.ts'
import type { GroupFile } from './group-file.ts'
import { type NearRow, nearRows } from './near-rows.ts'
import type { NearBy } from './vector-index.ts'

/** Finds the vectors with the largest products or cosines. Compares the query with vectors as 8-bit numbers. */
export interface VectorSearch {
  /**
   * Returns the best vectors, best first. With 256 dimensions, the values are usually within 0.002 of the exact ones.
   * The error is larger for a vector whose length comes mostly from a single dimension.
   * @param vector a vector of length 1, or a vector of zeros
   */
  search(vector: Float32Array, count: number, by: NearBy): NearRow[]
}

export interface VectorSearchOptions {
  readonly factors: Factors
  readonly dimensions: number
  /** The lengths of the vectors, divided by the maximum length. */
  readonly lengths: Float32Array
  /** The maximum length of a vector. */
  readonly greatest: number
  /** The groups of vectors that are not kept in memory; undefined if the bundle has no file of groups. */
  readonly groups: GroupFile | undefined
}

/**
 * Number of rows converted between two pauses. Converting them takes a millisecond or two. The process serves requests
 * during the pauses.
 */
export const ROWS_AT_ONCE = 512

/**
 * Creates a search that compares the query with the longest vectors, which are kept in memory, and with the vectors of
 * the groups that are most likely to contain the best ones, which are read from a file:
 * docs/adr/0091-vectors-are-searched-in-groups.md
 */
export async function vectorSearch({ factors, dimensions, lengths, greatest, groups }: VectorSearchOptions): Promise<VectorSearch> {
  const longest = await longestRows(lengths, groups?.rows)
  const centres = groups?.groups ?? 0
  const most = longest.length + (centres === 0 ? 0 : READ_ROWS)
  // The vectors in memory follow the centres of the groups. The vectors that a search reads come last.
  const products = byteProducts(centres + most, dimensions)
  const rows = new Uint32Array(most)
  const steps = new Float32Array(most)
  const values = new Float64Array(most)
  rows.set(longest)
  await convert()
  const chosen = chooseGroups()

  /** Converts the vectors in memory to 8-bit numbers. */
  async function convert(): Promise<void> {
    const vector = new Float32Array(dimensions)
    for (let place = 0; place < longest.length; place++) {
      factors.copy(longest[place], vector, 0)
      steps[place] = writeNumbers(vector, products.numbers, (centres + place) * dimensions) / greatest
      if (place % ROWS_AT_ONCE === ROWS_AT_ONCE - 1) await otherWork()
    }
  }

  function chooseGroups() {
    if (groups === undefined || centres === 0) return undefined
    products.numbers.set(groups.centres)
    const numbers = products.numbers.subarray((centres + longest.length) * dimensions)
    const room = { numbers, rows: rows.subarray(longest.length), steps: steps.subarray(longest.length) }
    return groupChoice({ groups, dimensions, lengths, products, room })
  }

  return {
    search(vector, count, by) {
      const queryStep = products.ask(vector)
      const compared = longest.length + (chosen?.read(queryStep, by) ?? 0)
      const dots = products.of(centres, compared)
      for (let at = 0; at < compared; at++) {
        const product = dots[at] * steps[at] * queryStep
        values[at] = by === 'product' ? product : cosineOf(product, rows[at])
      }
      return nearRows(values.subarray(0, compared), count, (at) => rows[at])
    },
  }

  /** Returns the cosine of the query and a vector; 0 if the vector is zero. */
  function cosineOf(product: number, row: number): number {
    return lengths[row] === 0 ? 0 : product / lengths[row]
  }
}

/** Returns the rows that are in no group, in ascending order. */
async function longestRows(lengths: Float32Array, grouped: Uint32Array = new Uint32Array()): Promise<Uint32Array> {
  const isGrouped = new Uint8Array(lengths.length)
  for (const row of grouped) isGrouped[row] = 1
  await otherWork()
  const rows = new Uint32Array(lengths.length - grouped.length)
  let count = 0
  for (let row = 0; row < lengths.length; row++) if (isGrouped[row] === 0) rows[count++] = row
  await otherWork()
  return rows
}
