import { ENTITY_KINDS } from '../entity.ts'
import type { CountedFacts } from '../events.ts'
import { hash32 } from '../hash.ts'
import { EVENT_BYTES, writeEvent } from './events.ts'
import { PER_DEGREE } from './places.ts'
import { readUint48 } from './uint48.ts'

/**
 * Transactions between the stages of the pipeline, in rows of 48 bytes. The first 18 bytes have the same format as the
 * rows of a profile's newest transactions (events.ts), so that they can be copied unchanged. The other bytes contain
 * latitude and longitude in millionths of a degree (4 bytes each), the hashes of user, device, IP, card and merchant (4
 * bytes each, 0 for an absent entity), flags, and the kinds of those entities whose profiles change. Numbers are
 * big-endian.
 */
export const ROW_BYTES = 48

const ID_AT = 6
const UNITS_AT = 12
export const PLACE_AT = EVENT_BYTES
const LNG_AT = PLACE_AT + 4
const HASHES_AT = 26
const HASH_BYTES = 4
const FLAGS_AT = 46
const KINDS_AT = 47

/** The flags above bits 0 to 4. Each bit `i` from 0 to 4 is set if the transaction names an entity of kind `i`. */
const HAS_PLACE = 1 << 5
const IS_REPEATED = 1 << 6

/**
 * Writes a row. The kinds of the entities whose profiles change are left empty; `writeKinds` sets them.
 * @param isRepeated true if the transaction was counted before
 */
export function writeRow(rows: Buffer, at: number, facts: CountedFacts, isRepeated: boolean): void {
  writeEvent(rows, at, facts)
  const { place, ids } = facts
  let flags = isRepeated ? IS_REPEATED : 0
  if (place !== null) flags |= HAS_PLACE
  writeUint32(rows, place === null ? 0 : Math.round(place.lat * PER_DEGREE), at + PLACE_AT)
  writeUint32(rows, place === null ? 0 : Math.round(place.lng * PER_DEGREE), at + LNG_AT)
  for (let kind = 0; kind < ENTITY_KINDS.length; kind++) {
    const entity = ids[ENTITY_KINDS[kind]]
    if (entity !== null) flags |= 1 << kind
    writeUint32(rows, entity === null ? 0 : hash32(entity), at + HASHES_AT + kind * HASH_BYTES)
  }
  rows[at + FLAGS_AT] = flags
  rows[at + KINDS_AT] = 0
}

/**
 * Writes the kinds of the entities whose profiles change.
 * @param kinds bit `i` stands for the entity of kind `i`
 */
export function writeKinds(rows: Buffer, at: number, kinds: number): void {
  rows[at + KINDS_AT] = kinds
}

export function kindsAt(rows: Buffer, at: number): number {
  return rows[at + KINDS_AT]
}

export function isRepeatedAt(rows: Buffer, at: number): boolean {
  return (rows[at + FLAGS_AT] & IS_REPEATED) !== 0
}

export function hasPlaceAt(rows: Buffer, at: number): boolean {
  return (rows[at + FLAGS_AT] & HAS_PLACE) !== 0
}

export function timeAt(rows: Buffer, at: number): number {
  return readUint48(rows, at)
}

export function idAt(rows: Buffer, at: number): number {
  return readUint48(rows, at + ID_AT)
}

export function unitsAt(rows: Buffer, at: number): number {
  return readUint48(rows, at + UNITS_AT)
}

/** Returns the hash of the entity that the transaction names; -1 if the transaction names no entity of this kind. */
export function hashAt(rows: Buffer, at: number, kind: number): number {
  if ((rows[at + FLAGS_AT] & (1 << kind)) === 0) return -1
  const from = at + HASHES_AT + kind * HASH_BYTES
  return ((rows[from] << 24) | (rows[from + 1] << 16) | (rows[from + 2] << 8) | rows[from + 3]) >>> 0
}

function writeUint32(rows: Buffer, value: number, at: number): void {
  rows[at] = value >>> 24
  rows[at + 1] = value >>> 16
  rows[at + 2] = value >>> 8
  rows[at + 3] = value
}
