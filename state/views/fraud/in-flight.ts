import { ENTITY_KINDS } from '../../../schemas/fraud/entity.ts'
import type { FraudEvent } from '../../../schemas/fraud/event.ts'
import type { CountedSecond } from '../../../schemas/fraud/profile/fold.ts'
import { PER_DEGREE } from '../../../schemas/fraud/profile/places.ts'
import { readUint48, writeUint48 } from '../../../schemas/fraud/profile/uint48.ts'

/**
 * Transactions of an entity that are being scored, or were scored, and that the entity's profile may not include yet.
 * They are rows of a string, in the order in which they were added. Numbers are big-endian:
 *
 * | bytes | content |
 * |---|---|
 * | 6 | hash of the transaction's id |
 * | 4 | time at which the row was added, seconds since 1970 |
 * | 6, 6 | time of the transaction in epoch ms, amount in 1/10,000 USD |
 * | 4, 4 | latitude and longitude in millionths of a degree |
 * | 4 each | hashes of user, device, IP, card and merchant |
 * | 1 | which of the optional parts are known: bits 0 to 4 the hashes, bit 5 the place |
 *
 * Rows are added at the end, and removed once the profile includes their transactions.
 *
 * An entity has at most MOST_IN_FLIGHT rows. Further transactions are added up in counters, which are the fields of a
 * hash. The name of a field is the transaction's time in whole seconds since 1970 or, in joined counters, in whole
 * minutes (`m<minutes>`). The value of a counter is `<transactions> <amount>`.
 */
export const FLIGHT_BYTES = 51
/** Offset, within a row, of the time at which the row was added. */
export const ADDED_AT = 6
export const MOST_IN_FLIGHT = 256
/** Once an entity has this many counters, its counters of seconds are joined into counters of minutes. */
export const MOST_COUNTERS = 512
/** How long a transaction is in flight if no profile includes it. */
export const IN_FLIGHT_MS = 86_400_000
/**
 * Age above which counters are dropped when counters are joined. A transaction is at most seven days old when it is
 * scored, and is in flight for a day.
 */
export const COUNTED_FOR_MS = 8 * IN_FLIGHT_MS

const SECOND_MS = 1_000
const MINUTE_MS = 60_000
const MINUTE_PREFIX = 'm'

const ID_BYTES = 6
const TIME_AT = 10
const UNITS_AT = 16
const LAT_AT = 22
const LNG_AT = 26
const HASHES_AT = 30
const HASH_BYTES = 4
const FLAGS_AT = 50
const HAS_PLACE = 1 << 5

/** A transaction in flight. The event's `user_id` is null, because only the pipeline needs the user's id. */
export interface InFlight {
  readonly event: FraudEvent
  /** Epoch ms, always a multiple of 1,000. */
  readonly addedAt: number
}

/**
 * Returns the first bytes of a transaction's row.
 * @param id hash of the transaction's id
 */
export function flightId(id: number): Buffer {
  const bytes = Buffer.allocUnsafe(ID_BYTES)
  writeUint48(bytes, id, 0)
  return bytes
}

/** @param addedAt epoch ms */
export function flightRow(event: FraudEvent, addedAt: number): Buffer {
  const row = Buffer.allocUnsafe(FLIGHT_BYTES)
  const { place } = event
  writeUint48(row, event.id, 0)
  row.writeUInt32BE(Math.floor(addedAt / SECOND_MS), ADDED_AT)
  writeUint48(row, event.at, TIME_AT)
  writeUint48(row, event.units, UNITS_AT)
  row.writeInt32BE(place === null ? 0 : Math.round(place.lat * PER_DEGREE), LAT_AT)
  row.writeInt32BE(place === null ? 0 : Math.round(place.lng * PER_DEGREE), LNG_AT)
  let flags = place === null ? 0 : HAS_PLACE
  for (let kind = 0; kind < ENTITY_KINDS.length; kind++) {
    const hash = event[ENTITY_KINDS[kind]]
    if (hash !== null) flags |= 1 << kind
    row.writeUInt32BE(hash ?? 0, HASHES_AT + kind * HASH_BYTES)
  }
  row[FLAGS_AT] = flags
  return row
}

/** @param at offset of a row */
export function inFlightAt(rows: Buffer, at: number): InFlight {
  const flags = rows[at + FLAGS_AT]
  const hash = (kind: number): number | null => ((flags & (1 << kind)) === 0 ? null : rows.readUInt32BE(at + HASHES_AT + kind * HASH_BYTES))
  const hasPlace = (flags & HAS_PLACE) !== 0
  const event: FraudEvent = {
    id: readUint48(rows, at),
    at: readUint48(rows, at + TIME_AT),
    units: readUint48(rows, at + UNITS_AT),
    place: hasPlace ? { lat: rows.readInt32BE(at + LAT_AT) / PER_DEGREE, lng: rows.readInt32BE(at + LNG_AT) / PER_DEGREE } : null,
    user: hash(0),
    device: hash(1),
    ip: hash(2),
    card: hash(3),
    merchant: hash(4),
    user_id: null,
  }
  return { event, addedAt: rows.readUInt32BE(at + ADDED_AT) * SECOND_MS }
}

/**
 * Returns the fields of the counters that may include a transaction with this time (epoch ms), the most likely one
 * first.
 */
export function counterFields(at: number): string[] {
  return [secondField(at), `${MINUTE_PREFIX}${Math.floor(at / MINUTE_MS)}`]
}

/** Returns the field of the counter to which a transaction with this time (epoch ms) is added. */
export function secondField(at: number): string {
  return String(Math.floor(at / SECOND_MS))
}

export function unpackCounter(field: string, value: string): CountedSecond {
  const [count, units] = value.split(' ').map(Number)
  const at = field.startsWith(MINUTE_PREFIX) ? Number(field.slice(MINUTE_PREFIX.length)) * MINUTE_MS : Number(field) * SECOND_MS
  return { at, count, units }
}
