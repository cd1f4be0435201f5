import { hashItem } from '../../../state/stores/seen-set/item-hash.ts'

/**
 * The format of the `request_id`s of the last lists that were served to a user, newest last. Each is a hash of 8 bytes.
 */
const HALF_HASH_BYTES = 4
const ENTRY_BYTES = 8
/**
 * Maximum number of lists that are remembered per user. Shown items are limited too: only the last 100 are remembered.
 */
const MAX_LISTS = 20

/**
 * Adds the id of a list to the user's last lists.
 * @returns undefined if the list is already known; all pages of a list have the same id
 */
export function withList(known: Uint8Array | undefined, requestId: string): Buffer | undefined {
  if (isOwnList(known, requestId)) return undefined
  const bytes = known ?? Buffer.alloc(0)
  const kept = bytes.subarray(Math.max(0, bytes.length - (MAX_LISTS - 1) * ENTRY_BYTES))
  const { place, mark } = hashItem(Buffer.from(requestId))
  const entry = Buffer.allocUnsafe(ENTRY_BYTES)
  entry.writeUInt32LE(place)
  entry.writeUInt32LE(mark, HALF_HASH_BYTES)
  return Buffer.concat([kept, entry])
}

/** Returns whether one of the user's last lists has this id. */
export function isOwnList(known: Uint8Array | undefined, requestId: string): boolean {
  if (known === undefined) return false
  const bytes = Buffer.from(known.buffer, known.byteOffset, known.byteLength)
  const { place, mark } = hashItem(Buffer.from(requestId))
  for (let at = 0; at < bytes.length; at += ENTRY_BYTES) {
    if (bytes.readUInt32LE(at) === place && bytes.readUInt32LE(at + HALF_HASH_BYTES) === mark) return true
  }
  return false
}
