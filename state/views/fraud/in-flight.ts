import type { EntityKind } from '../../../schemas/fraud/entity.ts'
import type { FraudEvent } from '../../../schemas/fraud/event.ts'
import type { CountedSecond } from '../../../schemas/fraud/profile/fold.ts'
import { PER_DEGREE } from '../../../schemas/fraud/profile/places.ts'

/**
 * Transactions of an entity that were scored and that its profile may not include yet. Each is a field of a hash: the
 * hash of the transaction's id in hexadecimal digits. Its value is bytes:
 *
 * | bytes | content |
 * |---|---|
 * | 1 | which of the optional parts follow: bit 0 place, then user, device, IP, card, merchant |
 * | 4 | when it was added, seconds since 1970 |
 * | 6, 6 | time of the transaction in epoch ms, amount in 1/10,000 USD |
 * | 4, 4 | latitude and longitude in millionths of a degree |
 * | 4 each | hashes of user, device, IP, card and merchant |
 *
 * They take at most 45 bytes. Redis stores a hash of such small values without pointers.
 *
 * An entity has at most MOST_IN_FLIGHT of them. Further transactions are added up in counters, which are the fields of
 * another hash. The field is the second of the transaction's time or, from MOST_COUNTERS counters on, its minute
 * (`m<minute>`), both since 1970. The value of a counter is `<transactions> <amount>`.
 */
export const MOST_IN_FLIGHT = 256
/** Number of counters above which seconds are joined into minutes. */
export const MOST_COUNTERS = 512
/** How long a transaction is in flight if no profile includes it. */
export const IN_FLIGHT_MS = 86_400_000
/** Age above which counters are dropped when counters are joined, because no window includes them. */
export const COUNTED_FOR_MS = 8 * IN_FLIGHT_MS

const HEX = 16
const SECOND_MS = 1_000
const MINUTE_MS = 60_000
const MINUTE_PREFIX = 'm'

const ADDED_AT = 1
const TIME_AT = 5
const UNITS_AT = 11
const OPTIONAL_AT = 17
const LONG_BYTES = 6
const HASH_BYTES = 4
const PLACE_BYTES = 8
const HASHED: readonly EntityKind[] = ['user', 'device', 'ip', 'card', 'merchant']

/** A transaction in flight. It lacks the user's id, which only the pipeline needs. */
export interface InFlight {
  readonly event: FraudEvent
  /** Epoch ms, in whole seconds. */
  readonly addedAt: number
}

export function flightField(id: number): string {
  return id.toString(HEX)
}

/** @param addedAt epoch ms */
export function packFlight(event: FraudEvent, addedAt: number): Buffer {
  const { place } = event
  const hashes = HASHED.filter((kind) => event[kind] !== null)
  const bytes = Buffer.allocUnsafe(OPTIONAL_AT + (place === null ? 0 : PLACE_BYTES) + hashes.length * HASH_BYTES)
  bytes[0] = HASHED.reduce((flags, kind, index) => flags | (event[kind] === null ? 0 : 2 << index), place === null ? 0 : 1)
  bytes.writeUInt32BE(Math.floor(addedAt / SECOND_MS), ADDED_AT)
  bytes.writeUIntBE(event.at, TIME_AT, LONG_BYTES)
  bytes.writeUIntBE(event.units, UNITS_AT, LONG_BYTES)
  let at = OPTIONAL_AT
  if (place !== null) {
    at = bytes.writeInt32BE(Math.round(place.lat * PER_DEGREE), at)
    at = bytes.writeInt32BE(Math.round(place.lng * PER_DEGREE), at)
  }
  for (const kind of hashes) at = bytes.writeUInt32BE(event[kind] as number, at)
  return bytes
}

export function unpackFlight(field: string, bytes: Buffer): InFlight {
  const flags = bytes[0]
  let at = OPTIONAL_AT
  let place: FraudEvent['place'] = null
  if ((flags & 1) !== 0) {
    place = { lat: bytes.readInt32BE(at) / PER_DEGREE, lng: bytes.readInt32BE(at + HASH_BYTES) / PER_DEGREE }
    at += PLACE_BYTES
  }
  const hash = (flag: number): number | null => {
    if ((flags & flag) === 0) return null
    at += HASH_BYTES
    return bytes.readUInt32BE(at - HASH_BYTES)
  }
  const event: FraudEvent = {
    id: Number.parseInt(field, HEX),
    at: bytes.readUIntBE(TIME_AT, LONG_BYTES),
    units: bytes.readUIntBE(UNITS_AT, LONG_BYTES),
    place,
    user: hash(2),
    device: hash(4),
    ip: hash(8),
    card: hash(16),
    merchant: hash(32),
    user_id: null,
  }
  return { event, addedAt: bytes.readUInt32BE(ADDED_AT) * SECOND_MS }
}

/** Returns the counters that may contain a transaction with this time (epoch ms), the most likely one first. */
export function counterFields(at: number): string[] {
  return [secondField(at), `${MINUTE_PREFIX}${Math.floor(at / MINUTE_MS)}`]
}

/** Returns the counter to which a transaction with this time (epoch ms) is added. */
export function secondField(at: number): string {
  return String(Math.floor(at / SECOND_MS))
}

export function unpackCounter(field: string, value: string): CountedSecond {
  const [count, units] = value.split(' ').map(Number)
  const at = field.startsWith(MINUTE_PREFIX) ? Number(field.slice(MINUTE_PREFIX.length)) * MINUTE_MS : Number(field) * SECOND_MS
  return { at, count, units }
}
