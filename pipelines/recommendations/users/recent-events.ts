import { DAY_MS } from '../../../schemas/retention.ts'
import { hashItem } from '../../../state/stores/seen-set/item-hash.ts'

/**
 * The format of the events that a user sent within a day, oldest first. Each event has 8 bytes for its hash and 4 bytes
 * for the epoch seconds of its arrival. The probability that two given events of a user have the same hash is 2^-64.
 */

const HALF_HASH_BYTES = 4
const HASH_BYTES = 8
const ENTRY_BYTES = 12
const MS_PER_SECOND = 1_000
/**
 * Maximum number of events that are remembered per user. A row thus has at most 48 KB. No person sends more events in a
 * day. For a program that does, repetitions are recognised for less than a day.
 */
const MAX_EVENTS = 4_096

/**
 * Adds an event to the user's recent events.
 * @returns undefined if the event is already known
 */
export function withEvent(known: Uint8Array | undefined, eventId: string, arrivedAt: number): Buffer | undefined {
  const bytes = known === undefined ? Buffer.alloc(0) : Buffer.from(known.buffer, known.byteOffset, known.byteLength)
  const { place, mark } = hashItem(Buffer.from(eventId))
  const oldest = Math.floor((arrivedAt - DAY_MS) / MS_PER_SECOND)
  let start = 0
  for (let at = 0; at < bytes.length; at += ENTRY_BYTES) {
    if (bytes.readUInt32LE(at + HASH_BYTES) < oldest) start = at + ENTRY_BYTES
    else if (bytes.readUInt32LE(at) === place && bytes.readUInt32LE(at + HALF_HASH_BYTES) === mark) return undefined
  }
  start = Math.max(start, bytes.length - (MAX_EVENTS - 1) * ENTRY_BYTES)
  const out = Buffer.allocUnsafe(bytes.length - start + ENTRY_BYTES)
  bytes.copy(out, 0, start)
  const last = out.length - ENTRY_BYTES
  out.writeUInt32LE(place, last)
  out.writeUInt32LE(mark, last + HALF_HASH_BYTES)
  out.writeUInt32LE(Math.floor(arrivedAt / MS_PER_SECOND), last + HASH_BYTES)
  return out
}

/** Returns until when (epoch ms) a repetition of the newest event is recognised. `known` must contain an event. */
export function rememberedUntil(known: Uint8Array): number {
  const bytes = Buffer.from(known.buffer, known.byteOffset, known.byteLength)
  return (bytes.readUInt32LE(bytes.length - ENTRY_BYTES + HASH_BYTES) + 1) * MS_PER_SECOND + DAY_MS
}
