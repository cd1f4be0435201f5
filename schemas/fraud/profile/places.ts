import type { FraudEvent, FraudPlace } from '../event.ts'
import { readUint48, writeUint48 } from './uint48.ts'

/**
 * Size of a row in the column of a user's newest places. Rows are sorted by time. A row contains the time in epoch ms
 * (6 bytes), and the latitude and longitude in millionths of a degree (4 bytes each), a precision of 11 cm.
 */
export const PLACE_BYTES = 14

const LAT_AT = 6
const LNG_AT = 10
/** Number of units per degree. Latitudes and longitudes are stored in whole units. */
export const PER_DEGREE = 1e6

export interface PlaceAt extends FraudPlace {
  /** Epoch ms. */
  readonly at: number
}

export function withPlaces(rows: Buffer, events: readonly FraudEvent[], most: number): Buffer {
  const added: Buffer[] = []
  for (const { at, place } of events) if (place !== null) added.push(encoded({ ...place, at }))
  if (added.length === 0) return rows
  if (added.length === 1 && Buffer.compare(rows.subarray(-PLACE_BYTES), added[0]) < 0) {
    return Buffer.concat([rows.subarray(Math.max(0, rows.length - (most - 1) * PLACE_BYTES)), added[0]])
  }
  return newestRows(rows, added, most)
}

/** Returns the newest `most` rows of `rows` and `others`, sorted by time. */
export function newestRows(rows: Buffer, others: readonly Buffer[], most: number): Buffer {
  const all = [...rowsOf(rows), ...others]
  return Buffer.concat(all.sort(Buffer.compare).slice(-most))
}

/**
 * Returns the rows without the place at this time. If several transactions had this place at this time, only one of
 * their equal rows is removed.
 */
export function withoutPlace(rows: Buffer, at: number, place: FraudPlace): Buffer {
  const row = encoded({ ...place, at })
  const all = rowsOf(rows)
  const index = all.findIndex((one) => one.equals(row))
  return index === -1 ? rows : Buffer.concat(all.toSpliced(index, 1))
}

/** Returns the newest place at or before a time; undefined if there is none. */
export function placeBefore(rows: Buffer, t: number): PlaceAt | undefined {
  for (let row = rows.length - PLACE_BYTES; row >= 0; row -= PLACE_BYTES) {
    const at = readUint48(rows, row)
    if (at <= t) return { at, lat: rows.readInt32BE(row + LAT_AT) / PER_DEGREE, lng: rows.readInt32BE(row + LNG_AT) / PER_DEGREE }
  }
  return undefined
}

function encoded({ at, lat, lng }: PlaceAt): Buffer {
  const row = Buffer.allocUnsafe(PLACE_BYTES)
  writeUint48(row, at, 0)
  row.writeInt32BE(Math.round(lat * PER_DEGREE), LAT_AT)
  row.writeInt32BE(Math.round(lng * PER_DEGREE), LNG_AT)
  return row
}

function rowsOf(rows: Buffer): Buffer[] {
  return Array.from({ length: rows.length / PLACE_BYTES }, (_, row) => rows.subarray(row * PLACE_BYTES, (row + 1) * PLACE_BYTES))
}
