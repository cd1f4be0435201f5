import type { SeenLimit } from './shape.ts'
import { readUint48, writeUint48 } from './uint48.ts'

/**
 * Size of a row in a column of the entities that were seen with the profile's entity. Rows are not sorted. A row
 * contains the hash of the entity (4 bytes), and the times when it was first and last seen in epoch ms (6 bytes each).
 */
export const SEEN_BYTES = 16

const FIRST_AT = 4
const LAST_AT = 10
const LOW_BYTE = 0xff

export interface Sighting {
  readonly hash: number
  /** Epoch ms. */
  readonly at: number
}

/** Number of sightings above which an index of the rows costs less than a search through the rows for each sighting. */
const MOST_SEARCHES = 4

/** Returns when each entity of the rows was first and last seen, keyed by the hash of the entity. */
export function sightingsIn(rows: Buffer): Map<number, readonly [first: number, last: number]> {
  const seen = new Map<number, readonly [number, number]>()
  for (let row = 0; row < rows.length; row += SEEN_BYTES) seen.set(rows.readUInt32BE(row), [firstOf(rows, row), lastOf(rows, row)])
  return seen
}

/**
 * Returns the rows with sightings added, and without rows that are too old or in excess of the limit.
 * @param newest time of the profile's latest transaction, from which ages are counted
 */
export function withSightings(rows: Buffer, sightings: readonly Sighting[], limit: SeenLimit, newest: number): Buffer {
  const next = Buffer.allocUnsafe(rows.length + sightings.length * SEEN_BYTES)
  const kept = addSightings(next, rows.copy(next), sightings, limit, newest)
  return kept === next.length ? next : next.subarray(0, kept)
}

/**
 * Adds sightings to the rows before `end`, and then removes rows as `forgetOld` does, in place. There must be room for
 * all sightings.
 * @param newest time of the profile's latest transaction, from which ages are counted
 * @returns the new end of the rows
 */
export function addSightings(rows: Buffer, end: number, sightings: readonly Sighting[], limit: SeenLimit, newest: number): number {
  const index = sightings.length > MOST_SEARCHES ? rowsByHash(rows, end) : undefined
  let next = end
  for (const { hash, at } of sightings) next = addSighting(rows, next, hash, at, index)
  return forgetOld(rows, next, limit, newest)
}

/**
 * Adds a sighting to the rows before `end`, in place.
 * @param index positions of the rows by hash; if it is undefined, the rows are searched
 * @returns the new end of the rows
 */
export function addSighting(rows: Buffer, end: number, hash: number, at: number, index?: Map<number, number>): number {
  const row = index === undefined ? rowOf(rows, end, hash) : (index.get(hash) ?? -1)
  if (row >= 0) {
    if (at < firstOf(rows, row)) writeUint48(rows, at, row + FIRST_AT)
    if (at > lastOf(rows, row)) writeUint48(rows, at, row + LAST_AT)
    return end
  }
  index?.set(hash, end)
  rows.writeUInt32BE(hash, end)
  writeUint48(rows, at, end + FIRST_AT)
  writeUint48(rows, at, end + LAST_AT)
  return end + SEEN_BYTES
}

/**
 * Removes, in place, the rows before `end` that are too old. If more than `most` rows remain, also removes those that
 * were last seen the longest ago.
 * @returns the new end of the rows
 */
export function forgetOld(rows: Buffer, end: number, { keptMs, most }: SeenLimit, newest: number): number {
  return withoutOld(rows, end, newest - keptMs, most)
}

/** Returns the rows without the row of an entity, provided that the entity was seen only at the given time. */
export function withoutSighting(rows: Buffer, hash: number, at: number): Buffer {
  const row = rowOf(rows, rows.length, hash)
  if (row < 0 || firstOf(rows, row) !== at || lastOf(rows, row) !== at) return rows
  return Buffer.concat([rows.subarray(0, row), rows.subarray(row + SEEN_BYTES)])
}

/**
 * Counts the entities that were seen in (t − windowMs, t]. For a late transaction, the count may include entities that
 * were seen only before and after the window.
 */
export function countSeen(rows: Buffer, t: number, windowMs: number): number {
  let count = 0
  for (let row = 0; row < rows.length; row += SEEN_BYTES) if (firstOf(rows, row) <= t && lastOf(rows, row) > t - windowMs) count++
  return count
}

/**
 * Returns whether an entity was seen in (t − windowMs, t]. For a late transaction, the result is as inexact as the
 * result of `countSeen`.
 */
export function wasSeen(rows: Buffer, hash: number, t: number, windowMs: number): boolean {
  const row = rowOf(rows, rows.length, hash)
  return row >= 0 && firstOf(rows, row) <= t && lastOf(rows, row) > t - windowMs
}

/**
 * Returns the position of the row with this hash; -1 if there is none. Compares a single byte first, because nearly all
 * other rows differ in this byte.
 */
function rowOf(rows: Buffer, end: number, hash: number): number {
  const lowest = hash & LOW_BYTE
  for (let row = 0; row < end; row += SEEN_BYTES) if (rows[row + FIRST_AT - 1] === lowest && rows.readUInt32BE(row) === hash) return row
  return -1
}

function rowsByHash(rows: Buffer, end: number): Map<number, number> {
  const index = new Map<number, number>()
  for (let row = 0; row < end; row += SEEN_BYTES) index.set(rows.readUInt32BE(row), row)
  return index
}

function firstOf(rows: Buffer, row: number): number {
  return readUint48(rows, row + FIRST_AT)
}

function lastOf(rows: Buffer, row: number): number {
  return readUint48(rows, row + LAST_AT)
}

/**
 * Removes the rows of entities that were last seen at `horizon` or earlier. If there are still too many rows, also
 * removes those of the entities that were seen longest ago. Modifies the rows in place and returns their new end.
 */
function withoutOld(rows: Buffer, end: number, horizon: number, most: number): number {
  const excess = end / SEEN_BYTES - most
  const upTo = excess > 0 ? Math.max(horizon, timeWithout(rows, end, excess)) : horizon
  let kept = 0
  for (let row = 0; row < end; row += SEEN_BYTES) {
    const last = lastOf(rows, row)
    if (last < upTo || last <= horizon) continue
    if (kept !== row) rows.copy(rows, kept, row, row + SEEN_BYTES)
    kept += SEEN_BYTES
  }
  return kept > most * SEEN_BYTES ? withoutTies(rows, kept, upTo, most) : kept
}

/** Returns the last-seen time of the oldest row that remains once the `excess` oldest rows have been removed. */
function timeWithout(rows: Buffer, end: number, excess: number): number {
  // Nearly always only one row must be removed. Finding that row takes a fraction of the time of sorting all rows.
  if (excess === 1) return secondOldest(rows, end)
  const times = new Float64Array(end / SEEN_BYTES)
  for (let index = 0; index < times.length; index++) times[index] = lastOf(rows, index * SEEN_BYTES)
  return times.sort()[excess]
}

function secondOldest(rows: Buffer, end: number): number {
  let oldest = Number.POSITIVE_INFINITY
  let second = Number.POSITIVE_INFINITY
  for (let row = 0; row < end; row += SEEN_BYTES) {
    const last = lastOf(rows, row)
    if (last >= second) continue
    second = Math.max(oldest, last)
    oldest = Math.min(oldest, last)
  }
  return second
}

/**
 * Removes rows of entities that were last seen at the time `at`, until no more than `most` rows are left. Of several
 * such rows, those with the highest hashes are removed.
 */
function withoutTies(rows: Buffer, end: number, at: number, most: number): number {
  const hashes: number[] = []
  for (let row = 0; row < end; row += SEEN_BYTES) if (lastOf(rows, row) === at) hashes.push(rows.readUInt32BE(row))
  const removed = new Set(hashes.sort((a, b) => b - a).slice(0, end / SEEN_BYTES - most))
  let kept = 0
  for (let row = 0; row < end; row += SEEN_BYTES) {
    if (lastOf(rows, row) === at && removed.has(rows.readUInt32BE(row))) continue
    rows.copy(rows, kept, row, row + SEEN_BYTES)
    kept += SEEN_BYTES
  }
  return kept
}
