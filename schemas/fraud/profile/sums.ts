import type { SumLevel } from './shape.ts'

/**
 * The column of a profile's sums. Rows of 22 bytes: start in minutes since 1970 (4 bytes), length in minutes (2),
 * number of transactions (4), confirmed frauds, which may be negative after corrections (4), amount in 1/10,000 USD
 * (8). Buckets begin at multiples of their length, so that those of a level join into the next one, and the order in
 * which transactions arrive does not matter.
 */
const SUM_BYTES = 22

const MINUTE_MS = 60_000
const SPAN_AT = 4
const COUNT_AT = 6
const FRAUDS_AT = 10
const UNITS_AT = 14

/** What is added to the bucket at a time. */
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

interface Bucket {
  readonly start: number
  readonly span: number
  count: number
  frauds: number
  units: number
}

/**
 * Returns the sums with others added, and with buckets that became too old for their level joined into the next one. A
 * bucket that is too old for the last level is dropped.
 * @param newest greatest time of the profile's transactions, from which ages are counted
 */
export function withSums(rows: Buffer, added: readonly SumEntry[], levels: readonly SumLevel[], newest: number): Buffer {
  if (added.length === 0 && !hasOld(rows, levels, newest)) return rows
  const buckets = new Map<number, Bucket>()
  for (let at = 0; at < rows.length; at += SUM_BYTES) {
    const span = rows.readUInt16BE(at + SPAN_AT)
    add(startMs(rows, at), span, rows.readUInt32BE(at + COUNT_AT), rows.readInt32BE(at + FRAUDS_AT), rows.readDoubleBE(at + UNITS_AT))
  }
  for (const { at, count, frauds, units } of added) add(at, 0, count, frauds, units)

  function add(at: number, leastSpan: number, count: number, frauds: number, units: number): void {
    const level = levels.find(({ spanMinutes, keptMs }) => spanMinutes >= leastSpan && endOf(at, spanMinutes) > newest - keptMs)
    if (level === undefined) return
    const span = level.spanMinutes
    const start = Math.floor(at / (span * MINUTE_MS)) * span
    const key = start * levels.length + levels.indexOf(level)
    const known = buckets.get(key)
    if (known === undefined) buckets.set(key, { start, span, count, frauds, units })
    else {
      known.count += count
      known.frauds += frauds
      known.units += units
    }
  }

  return encoded([...buckets.values()].sort((a, b) => a.start - b.start || a.span - b.span))
}

/**
 * Adds up the buckets that share a time with (from, to]. A window therefore reaches back by up to one bucket more than
 * its length: it never counts too little.
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

function hasOld(rows: Buffer, levels: readonly SumLevel[], newest: number): boolean {
  for (let at = 0; at < rows.length; at += SUM_BYTES) {
    const span = rows.readUInt16BE(at + SPAN_AT)
    const keptMs = levels.find(({ spanMinutes }) => spanMinutes === span)?.keptMs ?? 0
    if (startMs(rows, at) + span * MINUTE_MS <= newest - keptMs) return true
  }
  return false
}

function startMs(rows: Buffer, at: number): number {
  return rows.readUInt32BE(at) * MINUTE_MS
}

/** Returns the end of the bucket of a level that contains a time, epoch ms. */
function endOf(at: number, spanMinutes: number): number {
  const spanMs = spanMinutes * MINUTE_MS
  return (Math.floor(at / spanMs) + 1) * spanMs
}

function encoded(buckets: readonly Bucket[]): Buffer {
  const rows = Buffer.allocUnsafe(buckets.length * SUM_BYTES)
  for (const [row, { start, span, count, frauds, units }] of buckets.entries()) {
    const at = row * SUM_BYTES
    rows.writeUInt32BE(start, at)
    rows.writeUInt16BE(span, at + SPAN_AT)
    rows.writeUInt32BE(count, at + COUNT_AT)
    rows.writeInt32BE(frauds, at + FRAUDS_AT)
    rows.writeDoubleBE(units, at + UNITS_AT)
  }
  return rows
}
