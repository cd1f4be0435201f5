import { cursor } from '../../avro/cursor.ts'
import { readLength, readLong, readString } from '../../avro/read.ts'
import { writeDouble, writeLong, writeString } from '../../avro/write.ts'
import { byteWriter } from '../../codec.ts'
import { ENTITY_KINDS, type EntityKind } from '../entity.ts'
import type { FraudKnownUser } from '../types.ts'
import { EVENT_BYTES, eventsFrom, hasEventWithin, withEvents } from './events.ts'
import { countAmounts, withUsers } from './fold.ts'
import {
  appendBytes,
  EVENTS,
  type PackedProfile,
  PLACES,
  type ProfileParts,
  packProfile,
  parseProfile,
  SEEN,
  SUMS,
  unpackProfile,
} from './packed.ts'
import { newestRows, PLACE_BYTES } from './places.ts'
import { hashAt, hasPlaceAt, idAt, PLACE_AT, timeAt, unitsAt } from './rows.ts'
import { addSighting, addSightings, forgetOld, SEEN_BYTES, type Sighting } from './seen.ts'
import { PROFILE_SHAPES, type ProfileShape } from './shape.ts'
import { type SumEntry, withSums } from './sums.ts'
import { readUint48, writeUint48 } from './uint48.ts'
import { type EntityVerdict, foldVerdict } from './verdicts.ts'

/** Transactions in rows (rows.ts). */
export interface EventRows {
  readonly bytes: Buffer
  /** Returns the user id of the transaction whose row begins at a position in `bytes`. */
  userOf(row: number): string
}

const MAX_VARINT = 10
/** Maximum size of the six numbers at the beginning of a profile. */
const NUMBERS_BYTES = 6 * MAX_VARINT
const SHAPES: readonly ProfileShape[] = ENTITY_KINDS.map((kind) => PROFILE_SHAPES[kind])

const out = byteWriter()
/** Buffer for the id of a user, encoded as in profiles. */
const userBytes = byteWriter()
/** Buffer for the rows of a column while they change. */
let scratch = Buffer.alloc(8_192)

/**
 * Adds transactions to a profile, exactly as `foldEvents` adds them to a decoded profile. The profile gets new bytes;
 * its earlier bytes do not change.
 * @param kind index of the entity's kind in ENTITY_KINDS
 * @param counted positions of the transactions in the bytes of `rows`
 * @param included positions of the transactions that the profile is to list as included
 */
export function foldRows(
  packed: PackedProfile,
  kind: number,
  rows: EventRows,
  counted: readonly number[],
  included: readonly number[],
): void {
  const old = packed.bytes
  const parts = parseProfile(packed)
  const added = newRows(old, parts.starts[EVENTS], parts.ends[EVENTS], rows.bytes, counted)
  out.length = 0
  if (added.length === 0) appendBytes(out, old, packed.start, parts.includedAt)
  else fold(packed, parts, SHAPES[kind], rows, added)
  writeIncluded(rows.bytes, included)
  replaceBytes(packed)
}

/** Applies a verdict to a profile. The profile's list of included transactions stays the same. */
export function foldPackedVerdict(packed: PackedProfile, kind: EntityKind, verdict: EntityVerdict): void {
  Object.assign(packed, packProfile(foldVerdict(unpackProfile(packed), kind, verdict)))
}

/**
 * Replaces the list of included transactions.
 * @param included positions of the transactions in `rows` that the profile is to list instead
 */
export function setIncluded(packed: PackedProfile, rows: Buffer, included: readonly number[]): void {
  const { includedAt } = parseProfile(packed)
  out.length = 0
  appendBytes(out, packed.bytes, packed.start, includedAt)
  writeIncluded(rows, included)
  replaceBytes(packed)
}

/**
 * Profiles are written one after another into larger buffers, because a separate buffer for each would cost as much as
 * the fold. As long as any profile in a buffer is cached, the whole buffer stays in memory. These buffers are therefore
 * smaller than those of Node's pool (64 KiB).
 */
const ARENA_BYTES = 16_384
let arena = Buffer.alloc(0)
let arenaEnd = 0

function replaceBytes(packed: PackedProfile): void {
  const { length } = out
  if (length > ARENA_BYTES / 4) {
    packed.bytes = Buffer.from(out.buffer.subarray(0, length))
    packed.start = 0
    packed.end = length
    return
  }
  if (arenaEnd + length > arena.length) {
    arena = Buffer.allocUnsafeSlow(ARENA_BYTES)
    arenaEnd = 0
  }
  packed.bytes = arena
  packed.start = arenaEnd
  packed.end = arenaEnd + length
  out.buffer.copy(arena, arenaEnd, 0, length)
  arenaEnd += length
}

function writeIncluded(rows: Buffer, included: readonly number[]): void {
  writeNumber(included.length * EVENT_BYTES)
  for (const at of included) appendBytes(out, rows, at, at + EVENT_BYTES)
}

/** Returns the positions of the transactions that the profile does not contain individually, each once and in order. */
function newRows(old: Buffer, from: number, to: number, rows: Buffer, counted: readonly number[]): readonly number[] {
  if (counted.length === 1 && (from === to || readUint48(old, to - EVENT_BYTES) < timeAt(rows, counted[0]))) return counted
  const newest = to > from ? readUint48(old, to - EVENT_BYTES) : -1
  const isNew = (at: number) => timeAt(rows, at) > newest || !hasEventWithin(old, from, to, timeAt(rows, at), idAt(rows, at))
  const byTime = (a: number, b: number) => timeAt(rows, a) - timeAt(rows, b) || idAt(rows, a) - idAt(rows, b)
  const added = counted.filter(isNew)
  if (added.length < 2) return added
  return added.sort(byTime).filter((at, index) => index === 0 || byTime(added[index - 1], at) !== 0)
}

/**
 * Adds transactions to a profile.
 * @param added positions of the transactions in order, without transactions that the profile contains individually
 */
function fold(packed: PackedProfile, parts: ProfileParts, shape: ProfileShape, rows: EventRows, added: readonly number[]): void {
  const { bytes } = rows
  const old = packed.bytes
  const oldest = timeAt(bytes, added[0])
  const newest = Math.max(parts.newest_at, timeAt(bytes, added[added.length - 1]))
  const firstSeen = parts.txn_count === 0 ? oldest : Math.min(parts.first_seen, oldest)
  for (const at of added) countAmounts(parts, 1, unitsAt(bytes, at))
  out.reserve(NUMBERS_BYTES)
  const { buffer } = out
  let to = writeLong(buffer, out.length, parts.txn_count)
  to = writeDouble(buffer, to, parts.txn_units)
  to = writeDouble(buffer, to, parts.mean_usd)
  to = writeDouble(buffer, to, parts.m2_usd)
  to = writeLong(buffer, to, firstSeen)
  out.length = writeLong(buffer, to, newest)
  const leaving = writeEvents(old, parts, shape, bytes, added, newest)
  writeSums(old, parts, shape, leaving, newest)
  writePlaces(old, parts, shape, bytes, added)
  for (let kind = 0; kind < ENTITY_KINDS.length; kind++) writeSeen(old, parts, shape, kind, bytes, added, newest)
  if (shape.userIds > 0) writeUsers(old, parts, shape, rows, added)
  else appendBytes(out, old, parts.usersAt, parts.tierAt)
  appendBytes(out, old, parts.tierAt, parts.includedAt)
}

const NO_ROWS: readonly number[] = []
const NONE_LEAVING: readonly SumEntry[] = []

/**
 * Writes the transactions that the profile keeps individually.
 * @returns the transactions that it does not keep
 */
function writeEvents(
  old: Buffer,
  { starts, ends }: ProfileParts,
  { exactMs, mostEvents }: ProfileShape,
  rows: Buffer,
  added: readonly number[],
  newest: number,
): readonly SumEntry[] {
  if (mostEvents === 0) {
    writeNumber(0)
    return added.map((at) => asSum(rows, at))
  }
  const from = starts[EVENTS]
  const to = ends[EVENTS]
  const follows = to === from || readUint48(old, to - EVENT_BYTES) < timeAt(rows, added[0])
  if (!follows)
    return writeMerged(
      withEvents(
        old.subarray(from, to),
        added.map((at) => eventAt(rows, at)),
      ),
      mostEvents,
      newest - exactMs,
    )
  const count = (to - from) / EVENT_BYTES
  let first = (eventsFrom(old, from, to, newest - exactMs + 1) - from) / EVENT_BYTES
  while (first >= count && first < count + added.length && timeAt(rows, added[first - count]) <= newest - exactMs) first++
  first = Math.max(first, count + added.length - mostEvents)
  const ofOld = Math.min(first, count)
  const ofAdded = first - ofOld
  writeNumber((count + added.length - first) * EVENT_BYTES)
  appendBytes(out, old, from + ofOld * EVENT_BYTES, to)
  for (let index = ofAdded; index < added.length; index++) appendBytes(out, rows, added[index], added[index] + EVENT_BYTES)
  if (first === 0) return NONE_LEAVING
  const leaving: SumEntry[] = []
  for (let row = 0; row < ofOld; row++) leaving.push(asSum(old, from + row * EVENT_BYTES))
  for (let index = 0; index < ofAdded; index++) leaving.push(asSum(rows, added[index]))
  return leaving
}

/**
 * Writes the newest events, at most `mostEvents`.
 * @param horizon epoch ms; events up to this time are not written
 * @returns the events that were not written
 */
function writeMerged(all: Buffer, mostEvents: number, horizon: number): readonly SumEntry[] {
  const first = Math.max(eventsFrom(all, 0, all.length, horizon + 1), all.length - mostEvents * EVENT_BYTES)
  writeColumn(all, first, all.length)
  const leaving: SumEntry[] = []
  for (let at = 0; at < first; at += EVENT_BYTES) leaving.push(asSum(all, at))
  return leaving
}

/**
 * Converts a transaction to an entry for the sums. `rows` may also be a column of events, because both formats begin
 * with the same fields.
 */
function asSum(rows: Buffer, at: number): SumEntry {
  return { at: timeAt(rows, at), count: 1, frauds: 0, units: unitsAt(rows, at) }
}

function eventAt(rows: Buffer, at: number) {
  return { at: timeAt(rows, at), id: idAt(rows, at), units: unitsAt(rows, at) }
}

function writeSums(old: Buffer, parts: ProfileParts, { levels }: ProfileShape, leaving: readonly SumEntry[], newest: number): void {
  const from = parts.starts[SUMS]
  const to = parts.ends[SUMS]
  if (from === to && leaving.length === 0) {
    writeNumber(0)
    return
  }
  const next = withSums(old.subarray(from, to), leaving, levels, newest)
  writeColumn(next, 0, next.length)
}

function writePlaces(old: Buffer, parts: ProfileParts, { places }: ProfileShape, rows: Buffer, added: readonly number[]): void {
  const from = parts.starts[PLACES]
  const to = parts.ends[PLACES]
  const located =
    places === 0 ? NO_ROWS : added.length === 1 && hasPlaceAt(rows, added[0]) ? added : added.filter((at) => hasPlaceAt(rows, at))
  if (located.length === 0) {
    writeColumn(old, from, to)
    return
  }
  const [only] = located
  if (located.length === 1 && (from === to || readUint48(old, to - PLACE_BYTES) < timeAt(rows, only))) {
    const kept = Math.max(from, to - (places - 1) * PLACE_BYTES)
    writeNumber(to - kept + PLACE_BYTES)
    appendBytes(out, old, kept, to)
    out.reserve(PLACE_BYTES)
    out.length = writePlace(rows, only, out.buffer, out.length)
    return
  }
  const others = located.map((at) => {
    const row = Buffer.allocUnsafe(PLACE_BYTES)
    writePlace(rows, at, row, 0)
    return row
  })
  const next = newestRows(old.subarray(from, to), others, places)
  writeColumn(next, 0, next.length)
}

/**
 * Writes the place of a transaction.
 * @returns the position after the place
 */
function writePlace(rows: Buffer, at: number, place: Buffer, to: number): number {
  writeUint48(place, timeAt(rows, at), to)
  rows.copy(place, to + 6, at + PLACE_AT, at + PLACE_AT + 8)
  return to + PLACE_BYTES
}

function writeSeen(
  old: Buffer,
  parts: ProfileParts,
  { seen }: ProfileShape,
  kind: number,
  rows: Buffer,
  added: readonly number[],
  newest: number,
): void {
  const from = parts.starts[SEEN + kind]
  const to = parts.ends[SEEN + kind]
  const limit = seen[ENTITY_KINDS[kind]]
  if (limit === undefined) {
    writeColumn(old, from, to)
    return
  }
  if (added.length === 1) {
    const hash = hashAt(rows, added[0], kind)
    if (hash < 0) {
      writeColumn(old, from, to)
      return
    }
    const copy = copyOf(old, from, to, SEEN_BYTES)
    const end = addSighting(copy, to - from, hash, timeAt(rows, added[0]))
    writeColumn(copy, 0, forgetOld(copy, end, limit, newest))
    return
  }
  const sightings: Sighting[] = []
  for (const at of added) {
    const hash = hashAt(rows, at, kind)
    if (hash >= 0) sightings.push({ hash, at: timeAt(rows, at) })
  }
  if (sightings.length === 0) {
    writeColumn(old, from, to)
    return
  }
  const copy = copyOf(old, from, to, sightings.length * SEEN_BYTES)
  writeColumn(copy, 0, addSightings(copy, to - from, sightings, limit, newest))
}

/** Copies a column to a buffer in which it can be changed, with room for more rows. */
function copyOf(old: Buffer, from: number, to: number, more: number): Buffer {
  const room = to - from + more
  if (scratch.length < room) scratch = Buffer.alloc(2 * room)
  if (to > from) old.copy(scratch, 0, from, to)
  return scratch
}

function writeUsers(
  old: Buffer,
  { usersAt, tierAt }: ProfileParts,
  { userIds }: ProfileShape,
  rows: EventRows,
  added: readonly number[],
): void {
  if (added.length === 1 && writeNewestUser(old, usersAt, tierAt, userIds, rows, added[0])) return
  const known = usersIn(old, usersAt, tierAt)
  const seen = added.map((at) => ({ user_id: rows.userOf(at), at: timeAt(rows.bytes, at) }))
  const users = withUsers(known, seen, userIds)
  writeNumber(users.length)
  for (const { user_id, last_at } of users) {
    out.length = writeString(out, out.length, user_id)
    writeNumber(last_at)
  }
  if (users.length > 0) writeNumber(0)
}

/**
 * Writes the list of users if the user of a transaction is now the newest. All other users then keep their order.
 * @returns false if the newest user was seen at the same time or later; the users are then not written
 */
function writeNewestUser(old: Buffer, usersAt: number, tierAt: number, most: number, rows: EventRows, row: number): boolean {
  const at = timeAt(rows.bytes, row)
  const count = readLong(old, usersAt, tierAt)
  const firstAt = cursor.at
  if (count > 0) {
    const idBytes = readLength(old, firstAt, tierAt)
    if (readLong(old, cursor.at + idBytes, tierAt) >= at) return false
  }
  userBytes.length = writeString(userBytes, 0, rows.userOf(row))
  // Finds the entry that the new entry replaces: the earlier entry of the same user, or the last entry if there is no
  // room for another.
  let sameAt = firstAt
  let index = 0
  let next = firstAt
  for (; index < count; index++) {
    sameAt = next
    const idBytes = readLength(old, sameAt, tierAt)
    const timeStart = cursor.at + idBytes
    readLong(old, timeStart, tierAt)
    next = cursor.at
    if (index === most - 1 || isSame(old, sameAt, timeStart, userBytes.buffer, userBytes.length)) break
  }
  const isReplaced = index < count
  writeNumber(isReplaced ? count : count + 1)
  appendBytes(out, userBytes.buffer, 0, userBytes.length)
  writeNumber(at)
  if (isReplaced) {
    appendBytes(out, old, firstAt, sameAt)
    appendBytes(out, old, next, tierAt)
  } else if (count > 0) appendBytes(out, old, firstAt, tierAt)
  else writeNumber(0)
  return true
}

function isSame(bytes: Buffer, start: number, end: number, other: Buffer, length: number): boolean {
  if (end - start !== length) return false
  for (let index = 0; index < length; index++) if (bytes[start + index] !== other[index]) return false
  return true
}

function usersIn(old: Buffer, usersAt: number, tierAt: number): FraudKnownUser[] {
  const users: FraudKnownUser[] = []
  cursor.at = usersAt
  for (let count = readLong(old, cursor.at, tierAt); count > 0; count = readLong(old, cursor.at, tierAt)) {
    for (; count > 0; count--) users.push({ user_id: readString(old, cursor.at, tierAt), last_at: readLong(old, cursor.at, tierAt) })
  }
  return users
}

function writeColumn(bytes: Buffer, start: number, end: number): void {
  writeNumber(end - start)
  appendBytes(out, bytes, start, end)
}

function writeNumber(value: number): void {
  if (out.length + MAX_VARINT > out.buffer.length) out.reserve(MAX_VARINT)
  out.length = writeLong(out.buffer, out.length, value)
}
