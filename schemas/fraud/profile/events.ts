import type { FraudEvent } from '../event.ts'
import { readUint48, writeUint48 } from './uint48.ts'

/**
 * The column of a profile's newest transactions. It has rows of 18 bytes, sorted by time and then by id. A row contains
 * the time in epoch ms, the hash of the id, and the amount in 1/10,000 USD, each as 6 bytes, big-endian.
 */
export const EVENT_BYTES = 18

const ID_AT = 6
const UNITS_AT = 12

export type EventRow = Pick<FraudEvent, 'id' | 'at' | 'units'>

export function eventCount(rows: Uint8Array): number {
  return rows.length / EVENT_BYTES
}

export function eventTime(rows: Buffer, row: number): number {
  return readUint48(rows, row * EVENT_BYTES)
}

export function eventId(rows: Buffer, row: number): number {
  return readUint48(rows, row * EVENT_BYTES + ID_AT)
}

export function eventUnits(rows: Buffer, row: number): number {
  return readUint48(rows, row * EVENT_BYTES + UNITS_AT)
}

/** Packs transactions into rows in the given order. */
export function packEvents(events: readonly EventRow[]): Buffer {
  const rows = Buffer.allocUnsafe(events.length * EVENT_BYTES)
  for (const [row, event] of events.entries()) writeEvent(rows, row * EVENT_BYTES, event)
  return rows
}

export function unpackEvents(rows: Buffer): EventRow[] {
  return Array.from({ length: eventCount(rows) }, (_, row) => ({
    at: eventTime(rows, row),
    id: eventId(rows, row),
    units: eventUnits(rows, row),
  }))
}

/** Returns whether a transaction is among the rows in a range of the bytes. */
export function hasEventWithin(bytes: Buffer, from: number, to: number, time: number, id: number): boolean {
  for (let at = eventsFrom(bytes, from, to, time); at < to && readUint48(bytes, at) === time; at += EVENT_BYTES)
    if (readUint48(bytes, at + ID_AT) === id) return true
  return false
}

/** Returns the position, in a range of the bytes, of the first row at or after a time. */
export function eventsFrom(bytes: Buffer, from: number, to: number, time: number): number {
  let low = 0
  let high = (to - from) / EVENT_BYTES
  while (low < high) {
    const middle = (low + high) >>> 1
    if (readUint48(bytes, from + middle * EVENT_BYTES) < time) low = middle + 1
    else high = middle
  }
  return from + low * EVENT_BYTES
}

/** Returns whether a transaction is among the rows. */
export function hasEvent(rows: Buffer, { at, id }: EventRow): boolean {
  return hasEventWithin(rows, 0, rows.length, at, id)
}

/** Returns the number of rows before a time. */
export function firstRowFrom(rows: Buffer, at: number): number {
  return eventsFrom(rows, 0, rows.length, at) / EVENT_BYTES
}

/**
 * Returns the rows with `added` inserted in order.
 * @param added sorted like `rows`, without transactions that `rows` contains
 */
export function withEvents(rows: Buffer, added: readonly EventRow[]): Buffer {
  const merged = Buffer.allocUnsafe(rows.length + added.length * EVENT_BYTES)
  let from = 0
  let to = 0
  for (const event of added) {
    const place = placeOf(rows, event) * EVENT_BYTES
    to += rows.copy(merged, to, from, place)
    from = place
    writeEvent(merged, to, event)
    to += EVENT_BYTES
  }
  rows.copy(merged, to, from)
  return merged
}

/** Writes a row at a byte position of the buffer. */
export function writeEvent(rows: Buffer, at: number, event: EventRow): void {
  writeUint48(rows, event.at, at)
  writeUint48(rows, event.id, at + ID_AT)
  writeUint48(rows, event.units, at + UNITS_AT)
}

function placeOf(rows: Buffer, { at, id }: EventRow): number {
  const count = eventCount(rows)
  if (count === 0 || eventTime(rows, count - 1) < at) return count
  let row = firstRowFrom(rows, at)
  while (row < count && eventTime(rows, row) === at && eventId(rows, row) < id) row++
  return row
}

export function byTime(a: EventRow, b: EventRow): number {
  return a.at - b.at || a.id - b.id
}
