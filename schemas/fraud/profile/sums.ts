import type { SumLevel } from './shape.ts'

/**
 * Size of a row in the column of a profile's sums, in bytes. A row describes a bucket: start in minutes since 1970 (4
 * bytes), length in minutes (2), number of transactions (4), number of confirmed frauds (4), and amount in 1/10,000 USD
 * (8). After corrections, the number of frauds may be negative. Buckets begin at multiples of their length, so that
 * buckets of a level can be joined into a bucket of the next level, and the order in which transactions arrive does not
 * matter.
 */
const SUM_BYTES = 22

const MINUTE_MS = 60_000
const SPAN_AT = 4
const COUNT_AT = 6
const FRAUDS_AT = 10
const UNITS_AT = 14

/** Values to add to the bucket that contains the time `at`. */
export interface SumEntry {
  /** Epoch ms. */
  readonly at: number
  readonly count: number
  readonly frauds: number
  readonly units: number
}

export interface WindowSum {
  count: number
  units: number
  frauds: number
}

/**
 * Returns the sums with further values added. Buckets that became too old for their level are joined into buckets of
 * the next level. A bucket that is too old for the last level is dropped.
 * @param newest time of the profile's latest transaction, from which ages are counted
 */
export function withSums(rows: Buffer, added: readonly SumEntry[], levels: readonly SumLevel[], newest: number): Buffer {
  let next = hasOld(rows, levels, newest) ? joined(rows, levels, newest) : rows
  if (added.length === 0) return next
  if (next === rows) next = Buffer.from(rows)
  for (const { at, count, frauds, units } of added) {
    const level = levelAt(at, levels, 0, newest)
    if (level !== undefined) next = plus(next, startIn(level, at), level.spanMinutes, count, frauds, units)
  }
  return next
}

/** Joins old buckets into the next levels. */
function joined(rows: Buffer, levels: readonly SumLevel[], newest: number): Buffer {
  let next: Buffer = Buffer.alloc(0)
  for (let at = 0; at < rows.length; at += SUM_BYTES) {
    const time = startMs(rows, at)
    const level = levelAt(time, levels, rows.readUInt16BE(at + SPAN_AT), newest)
    if (level === undefined) continue
    const count = rows.readUInt32BE(at + COUNT_AT)
    const frauds = rows.readInt32BE(at + FRAUDS_AT)
    next = plus(next, startIn(level, time), level.spanMinutes, count, frauds, rows.readDoubleBE(at + UNITS_AT))
  }
  return next
}

/**
 * Returns the finest level that has at least the given span and still keeps the bucket of the given time; undefined if
 * no level does.
 */
function levelAt(time: number, levels: readonly SumLevel[], leastSpan: number, newest: number): SumLevel | undefined {
  return levels.find(
    (level) => level.spanMinutes >= leastSpan && (startIn(level, time) + level.spanMinutes) * MINUTE_MS > newest - level.keptMs,
  )
}

/** Returns the start of the bucket that contains a time, in minutes since 1970. */
function startIn({ spanMinutes }: SumLevel, time: number): number {
  return Math.floor(time / (spanMinutes * MINUTE_MS)) * spanMinutes
}

/**
 * Adds values to an existing bucket in place, or returns rows with an additional bucket. The search begins at the end,
 * because most additions concern the newest buckets.
 * @param start minutes since 1970; `span` is also in minutes
 */
function plus(rows: Buffer, start: number, span: number, count: number, frauds: number, units: number): Buffer {
  let at = rows.length
  for (; at > 0; at -= SUM_BYTES) {
    const row = at - SUM_BYTES
    const order = rows.readUInt32BE(row) - start || rows.readUInt16BE(row + SPAN_AT) - span
    if (order < 0) break
    if (order > 0) continue
    rows.writeUInt32BE(rows.readUInt32BE(row + COUNT_AT) + count, row + COUNT_AT)
    rows.writeInt32BE(rows.readInt32BE(row + FRAUDS_AT) + frauds, row + FRAUDS_AT)
    rows.writeDoubleBE(rows.readDoubleBE(row + UNITS_AT) + units, row + UNITS_AT)
    return rows
  }
  const longer = Buffer.allocUnsafe(rows.length + SUM_BYTES)
  rows.copy(longer, 0, 0, at)
  longer.writeUInt32BE(start, at)
  longer.writeUInt16BE(span, at + SPAN_AT)
  longer.writeUInt32BE(count, at + COUNT_AT)
  longer.writeInt32BE(frauds, at + FRAUDS_AT)
  longer.writeDoubleBE(units, at + UNITS_AT)
  rows.copy(longer, at + SUM_BYTES, at)
  return longer
}

/**
 * Adds the buckets that overlap (from, to] to `into`. The first bucket may begin before the window, and the last one
 * may end after it, so the sum may include transactions outside of the window. It never lacks a transaction of the
 * window.
 */
export function sumWithin(rows: Buffer, from: number, to: number, into: WindowSum): void {
  for (let at = 0; at < rows.length; at += SUM_BYTES) {
    const start = startMs(rows, at)
    if (start > to || start + rows.readUInt16BE(at + SPAN_AT) * MINUTE_MS <= from + 1) continue
    into.count += rows.readUInt32BE(at + COUNT_AT)
    into.frauds += rows.readInt32BE(at + FRAUDS_AT)
    into.units += rows.readDoubleBE(at + UNITS_AT)
  }
}

/**
 * Returns whether any bucket is too old for its level. The first row of each level is its oldest, so only this row is
 * checked.
 */
function hasOld(rows: Buffer, levels: readonly SumLevel[], newest: number): boolean {
  let left = levels.length
  for (let at = 0, spans = 0; at < rows.length && left > 0; at += SUM_BYTES) {
    const span = rows.readUInt16BE(at + SPAN_AT)
    const index = levels.findIndex(({ spanMinutes }) => spanMinutes === span)
    if ((spans & (1 << index)) !== 0) continue
    spans |= 1 << index
    left--
    if (startMs(rows, at) + span * MINUTE_MS <= newest - levels[index].keptMs) return true
  }
  return false
}

function startMs(rows: Buffer, at: number): number {
  return rows.readUInt32BE(at) * MINUTE_MS
}
