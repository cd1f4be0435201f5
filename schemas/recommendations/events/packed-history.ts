import type { InteractionType } from '../types.ts'

/**
 * A user's last interactions as bytes, newest first. Each interaction has 8 bytes of item id, 4 bytes of epoch
 * seconds, 4 bytes of weight and 1 byte of type.
 */

const AT_OFFSET = 8
const WEIGHT_OFFSET = 12
const TYPE_OFFSET = 16
const ENTRY_BYTES = 17
const MS_PER_SECOND = 1_000

/** How many interactions are kept per user. */
const MAX_HISTORY = 100

/** The interaction types. The bytes contain the indexes of these types, so never change the order. */
const TYPES: readonly InteractionType[] = ['VIEW', 'CLICK', 'PURCHASE', 'RATE', 'SKIP', 'DWELL', 'NOT_INTERESTED']

export interface PackedInteraction {
  readonly itemId: bigint
  /** Epoch ms. Rounded down to whole seconds when it is packed. */
  readonly at: number
  /** Weight of the interaction; see weights.ts. */
  readonly weight: number
  readonly type: InteractionType
}

export const NO_HISTORY: Buffer = Buffer.alloc(0)

/**
 * Inserts an interaction by its time, before others of the same second. If there are then more than `MAX_HISTORY`
 * interactions, the oldest one is dropped.
 */
export function insertInteraction(packed: Uint8Array, { itemId, at, weight, type }: PackedInteraction): Buffer {
  const bytes = asBuffer(packed)
  const seconds = Math.floor(at / MS_PER_SECOND)
  const count = bytes.length / ENTRY_BYTES
  let place = 0
  while (place < count && bytes.readUInt32LE(place * ENTRY_BYTES + AT_OFFSET) > seconds) place++
  if (place >= MAX_HISTORY) return bytes
  const kept = Math.min(count, MAX_HISTORY - 1)
  const out = Buffer.allocUnsafe((kept + 1) * ENTRY_BYTES)
  const start = place * ENTRY_BYTES
  bytes.copy(out, 0, 0, start)
  out.writeBigInt64LE(itemId, start)
  out.writeUInt32LE(seconds, start + AT_OFFSET)
  out.writeFloatLE(weight, start + WEIGHT_OFFSET)
  out.writeUInt8(TYPES.indexOf(type), start + TYPE_OFFSET)
  bytes.copy(out, start + ENTRY_BYTES, start, kept * ENTRY_BYTES)
  return out
}

export function unpackHistory(packed: Uint8Array): PackedInteraction[] {
  const bytes = asBuffer(packed)
  return Array.from({ length: bytes.length / ENTRY_BYTES }, (_, index) => {
    const start = index * ENTRY_BYTES
    return {
      itemId: bytes.readBigInt64LE(start),
      at: bytes.readUInt32LE(start + AT_OFFSET) * MS_PER_SECOND,
      weight: bytes.readFloatLE(start + WEIGHT_OFFSET),
      type: TYPES[bytes.readUInt8(start + TYPE_OFFSET)],
    }
  })
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
