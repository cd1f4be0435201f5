import type { SeenLimit } from './shape.ts'

/**
 * A column of the entities that were seen with a profile's entity. Rows of 16 bytes, in no order: hash of the entity (4
 * bytes), when it was first and last seen in epoch ms (6 bytes each).
 */
const SEEN_BYTES = 16

const TIME_BYTES = 6
const FIRST_AT = 4
const LAST_AT = 10

export interface Sighting {
  readonly hash: number
  /** Epoch ms. */
  readonly at: number
}

/** @param newest greatest time of the profile's transactions, from which ages are counted */
export function withSightings(rows: Buffer, sightings: readonly Sighting[], { keptMs, most }: SeenLimit, newest: number): Buffer {
  const next = Buffer.allocUnsafe(rows.length + sightings.length * SEEN_BYTES)
  let end = rows.copy(next)
  for (const { hash, at } of sightings) {
    const row = rowOf(next, end, hash)
    if (row === undefined) {
      next.writeUInt32BE(hash, end)
      next.writeUIntBE(at, end + FIRST_AT, TIME_BYTES)
      next.writeUIntBE(at, end + LAST_AT, TIME_BYTES)
      end += SEEN_BYTES
    } else {
      if (at < firstOf(next, row)) next.writeUIntBE(at, row + FIRST_AT, TIME_BYTES)
      if (at > lastOf(next, row)) next.writeUIntBE(at, row + LAST_AT, TIME_BYTES)
    }
  }
  end = withoutOld(next, end, newest - keptMs)
  return end > most * SEEN_BYTES ? newestOf(next, end, most) : next.subarray(0, end)
}

/**
 * Counts the entities that were seen in (t − windowMs, t]. For a late transaction this may include some that were seen
 * only before and after the window.
 */
export function countSeen(rows: Buffer, t: number, windowMs: number): number {
  let count = 0
  for (let row = 0; row < rows.length; row += SEEN_BYTES) if (firstOf(rows, row) <= t && lastOf(rows, row) > t - windowMs) count++
  return count
}

/** Returns whether an entity was seen in (t − windowMs, t], with the same reservation. */
export function wasSeen(rows: Buffer, hash: number, t: number, windowMs: number): boolean {
  const row = rowOf(rows, rows.length, hash)
  return row !== undefined && firstOf(rows, row) <= t && lastOf(rows, row) > t - windowMs
}

function rowOf(rows: Buffer, end: number, hash: number): number | undefined {
  for (let row = 0; row < end; row += SEEN_BYTES) if (rows.readUInt32BE(row) === hash) return row
  return undefined
}

function firstOf(rows: Buffer, row: number): number {
  return rows.readUIntBE(row + FIRST_AT, TIME_BYTES)
}

function lastOf(rows: Buffer, row: number): number {
  return rows.readUIntBE(row + LAST_AT, TIME_BYTES)
}

/** Removes rows in place and returns the new end. */
function withoutOld(rows: Buffer, end: number, horizon: number): number {
  let kept = 0
  for (let row = 0; row < end; row += SEEN_BYTES) {
    if (lastOf(rows, row) <= horizon) continue
    if (kept !== row) rows.copy(rows, kept, row, row + SEEN_BYTES)
    kept += SEEN_BYTES
  }
  return kept
}

function newestOf(rows: Buffer, end: number, most: number): Buffer {
  const order = Array.from({ length: end / SEEN_BYTES }, (_, index) => index * SEEN_BYTES)
  order.sort((a, b) => lastOf(rows, b) - lastOf(rows, a) || rows.readUInt32BE(a) - rows.readUInt32BE(b))
  return Buffer.concat(order.slice(0, most).map((row) => rows.subarray(row, row + SEEN_BYTES)))
}
