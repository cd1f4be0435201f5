/**
 * Items with times as bytes, newest first. Each item has 8 bytes of id and 4 bytes of epoch seconds. State, topics and
 * Redis contain the same bytes, so that a list is never converted.
 */

const ID_BYTES = 8
const ENTRY_BYTES = 12
const MS_PER_SECOND = 1_000
const NOTHING = Buffer.alloc(0)

export const NO_ITEMS: Buffer = NOTHING

function packedCount(packed: Uint8Array): number {
  return packed.length / ENTRY_BYTES
}

/** Returns the ids of the items, newest first. */
export function unpackIds(packed: Uint8Array): bigint[] {
  const bytes = asBuffer(packed)
  return Array.from({ length: packedCount(bytes) }, (_, index) => idAt(bytes, index))
}

/** Returns the time of the newest item, in epoch ms (always a multiple of 1,000); undefined if there are no items. */
export function newestTime(packed: Uint8Array): number | undefined {
  return packed.length === 0 ? undefined : timeAt(asBuffer(packed), 0)
}

/** Returns the index of the newest occurrence of an item; -1 if the list does not contain the item. */
export function placeOf(packed: Uint8Array, itemId: bigint): number {
  const bytes = asBuffer(packed)
  const count = packedCount(bytes)
  for (let index = 0; index < count; index++) if (idAt(bytes, index) === itemId) return index
  return -1
}

/**
 * Inserts an item by its time, before others of the same second. If there are then more than `limit` items, the oldest
 * ones are dropped. The list may contain the same item several times.
 */
export function insertItem(packed: Uint8Array, itemId: bigint, at: number, limit: number): Buffer {
  const bytes = asBuffer(packed)
  const seconds = Math.floor(at / MS_PER_SECOND)
  const count = packedCount(bytes)
  let place = 0
  while (place < count && bytes.readUInt32LE(place * ENTRY_BYTES + ID_BYTES) > seconds) place++
  if (place >= limit) return bytes
  const kept = Math.min(count, limit - 1)
  const out = Buffer.allocUnsafe((kept + 1) * ENTRY_BYTES)
  bytes.copy(out, 0, 0, place * ENTRY_BYTES)
  out.writeBigInt64LE(itemId, place * ENTRY_BYTES)
  out.writeUInt32LE(seconds, place * ENTRY_BYTES + ID_BYTES)
  bytes.copy(out, (place + 1) * ENTRY_BYTES, place * ENTRY_BYTES, kept * ENTRY_BYTES)
  return out
}

/** Inserts an item like `insertItem`, but keeps only the newest occurrence of the item. */
export function moveItem(packed: Uint8Array, itemId: bigint, at: number, limit: number): Buffer {
  const bytes = asBuffer(packed)
  const place = placeOf(bytes, itemId)
  if (place < 0) return insertItem(bytes, itemId, at, limit)
  if (timeAt(bytes, place) > at) return bytes
  return insertItem(removeAt(bytes, place), itemId, at, limit)
}

/** Removes every occurrence of an item. */
export function removeItem(packed: Uint8Array, itemId: bigint): Buffer {
  let bytes = asBuffer(packed)
  for (let place = placeOf(bytes, itemId); place >= 0; place = placeOf(bytes, itemId)) bytes = removeAt(bytes, place)
  return bytes
}

/** Returns the items with this time (epoch ms) or an earlier time. */
export function itemsUntil(packed: Uint8Array, at: number): Buffer {
  const bytes = asBuffer(packed)
  const count = packedCount(bytes)
  let place = 0
  while (place < count && timeAt(bytes, place) > at) place++
  return bytes.subarray(place * ENTRY_BYTES)
}

function removeAt(bytes: Buffer, place: number): Buffer {
  return Buffer.concat([bytes.subarray(0, place * ENTRY_BYTES), bytes.subarray((place + 1) * ENTRY_BYTES)])
}

function idAt(bytes: Buffer, index: number): bigint {
  return bytes.readBigInt64LE(index * ENTRY_BYTES)
}

function timeAt(bytes: Buffer, index: number): number {
  return bytes.readUInt32LE(index * ENTRY_BYTES + ID_BYTES) * MS_PER_SECOND
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
