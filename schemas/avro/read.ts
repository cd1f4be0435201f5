import { isUtf8 } from 'node:buffer'
import {
  ASCII_END,
  CONTINUES,
  cursor,
  float32,
  float32Bits,
  float64,
  float64Bits,
  HIGH_HALF,
  halves,
  int64,
  LOW_7_BITS,
  LOW_GROUPS_BITS,
  LOW_HALF,
  TWO_TO_27,
} from './cursor.ts'

/**
 * Functions that read Avro's primitives, for generated decoders. The functions store the position after the value in
 * the cursor, except for those that read floats, which have a fixed size. If the value is malformed, they store -1 and
 * the reason.
 */

export const TRUNCATED = 'the bytes end inside the value'
const TOO_LONG = 'a variable-length integer has more bytes than its type allows'
const NOT_SAFE = 'a long is outside ±(2^53-1); declare it with logicalType int64'

const TWO_TO_32 = 2 ** 32
/**
 * Maximum number of items that take no bytes. Each of these items costs the reader memory and the sender nothing, so
 * the number must be limited. No legitimate value has this many.
 */
const MAX_EMPTY_ITEMS = 65_536
/** Maximum number of bytes for which a loop is faster than the native string functions (about 50 ns per call). */
const SHORT_STRING = 3

function refuse(why: string): 0 {
  cursor.at = -1
  cursor.why = why
  return 0
}

/** Reads a 32-bit zigzag varint. */
export function readInt(buffer: Buffer, at: number, end: number): number {
  let bits = 0
  for (let shift = 0; shift < 35; shift += 7) {
    if (at >= end) return refuse(TRUNCATED)
    const byte = buffer[at++]
    if (shift === LOW_GROUPS_BITS && byte > 0x0f) return refuse(TOO_LONG)
    bits |= (byte & LOW_7_BITS) << shift
    if (byte < CONTINUES) {
      cursor.at = at
      return (bits >>> 1) ^ -(bits & 1)
    }
  }
  return refuse(TOO_LONG)
}

/** Zigzag bits from the last call of `readBits`, in three parts: the seven-bit groups 1-4, 5-8 and 9-10. */
let lowBits = 0
let middleBits = 0
let highBits = 0

function readBits(buffer: Buffer, at: number, end: number): boolean {
  lowBits = 0
  middleBits = 0
  highBits = 0
  for (let shift = 0; shift < LOW_GROUPS_BITS; shift += 7) {
    if (at >= end) return fails(TRUNCATED)
    const byte = buffer[at++]
    lowBits |= (byte & LOW_7_BITS) << shift
    if (byte < CONTINUES) return ends(at)
  }
  for (let shift = 0; shift < LOW_GROUPS_BITS; shift += 7) {
    if (at >= end) return fails(TRUNCATED)
    const byte = buffer[at++]
    middleBits |= (byte & LOW_7_BITS) << shift
    if (byte < CONTINUES) return ends(at)
  }
  if (at >= end) return fails(TRUNCATED)
  const ninth = buffer[at++]
  highBits = ninth & LOW_7_BITS
  if (ninth < CONTINUES) return ends(at)
  if (at >= end) return fails(TRUNCATED)
  const tenth = buffer[at++]
  if (tenth > 1) return fails(TOO_LONG)
  highBits |= tenth << 7
  return ends(at)
}

function ends(at: number): true {
  cursor.at = at
  return true
}

function fails(why: string): false {
  refuse(why)
  return false
}

/** Reads a 64-bit zigzag varint whose value must be a safe integer. */
export function readLong(buffer: Buffer, at: number, end: number): number {
  // Most counts, sizes and small numbers take up to four bytes. They are read here, because a call of `readBits` would
  // cost more.
  if (end - at >= 4) {
    let bits = buffer[at]
    if (bits < CONTINUES) {
      cursor.at = at + 1
      return (bits >>> 1) ^ -(bits & 1)
    }
    let byte = buffer[at + 1]
    bits = (bits & LOW_7_BITS) | ((byte & LOW_7_BITS) << 7)
    if (byte < CONTINUES) {
      cursor.at = at + 2
      return (bits >>> 1) ^ -(bits & 1)
    }
    byte = buffer[at + 2]
    bits |= (byte & LOW_7_BITS) << 14
    if (byte < CONTINUES) {
      cursor.at = at + 3
      return (bits >>> 1) ^ -(bits & 1)
    }
    byte = buffer[at + 3]
    if (byte < CONTINUES) {
      bits |= byte << 21
      cursor.at = at + 4
      return (bits >>> 1) ^ -(bits & 1)
    }
  }
  return readLongLong(buffer, at, end)
}

function readLongLong(buffer: Buffer, at: number, end: number): number {
  if (!readBits(buffer, at, end)) return 0
  const half = middleBits * TWO_TO_27 + (lowBits >>> 1)
  const value = lowBits & 1 ? -half - 1 : half
  if (highBits !== 0 || !Number.isSafeInteger(value)) return refuse(NOT_SAFE)
  return value
}

/** Reads a 64-bit zigzag varint exactly. */
export function readInt64(buffer: Buffer, at: number, end: number): bigint {
  if (!readBits(buffer, at, end)) return 0n
  bitsToInt64()
  return int64[0]
}

/** Moves past a 64-bit zigzag varint. */
export function skipLong(buffer: Buffer, at: number, end: number): void {
  readBits(buffer, at, end)
}

/** Reads a 64-bit zigzag varint as the nearest double, to promote a long to float or double. */
export function readLongAsDouble(buffer: Buffer, at: number, end: number): number {
  if (!readBits(buffer, at, end)) return 0
  bitsToInt64()
  return (halves[HIGH_HALF] | 0) * TWO_TO_32 + halves[LOW_HALF]
}

function bitsToInt64(): void {
  const low = lowBits | (middleBits << LOW_GROUPS_BITS)
  const high = (middleBits >>> 4) | (highBits << 24)
  const sign = -(low & 1)
  halves[LOW_HALF] = ((low >>> 1) | (high << 31)) ^ sign
  halves[HIGH_HALF] = (high >>> 1) ^ sign
}

/** Reads a 32-bit float in little-endian order. */
export function readFloat(buffer: Buffer, at: number): number {
  float32Bits[0] = buffer[at] | (buffer[at + 1] << 8) | (buffer[at + 2] << 16) | (buffer[at + 3] << 24)
  return float32[0]
}

/** Reads a 64-bit float in little-endian order. */
export function readDouble(buffer: Buffer, at: number): number {
  float64Bits[LOW_HALF] = buffer[at] | (buffer[at + 1] << 8) | (buffer[at + 2] << 16) | (buffer[at + 3] << 24)
  float64Bits[HIGH_HALF] = buffer[at + 4] | (buffer[at + 5] << 8) | (buffer[at + 6] << 16) | (buffer[at + 7] << 24)
  return float64[0]
}

/** Reads a string: its length, then strict UTF-8. */
export function readString(buffer: Buffer, at: number, end: number): string {
  const length = readLength(buffer, at, end)
  const start = cursor.at
  if (start < 0) return ''
  cursor.at = start + length
  if (length <= SHORT_STRING) {
    let text = ''
    let next = start
    for (; next < cursor.at; next++) {
      const byte = buffer[next]
      if (byte >= ASCII_END) break
      text += String.fromCharCode(byte)
    }
    if (next === cursor.at) return text
  }
  return decodeUtf8(buffer, start, cursor.at)
}

function decodeUtf8(buffer: Buffer, start: number, end: number): string {
  const text = buffer.toString('utf8', start, end)
  // A replacement character was either sent or results from malformed input. The bytes are therefore checked only if
  // the text contains a replacement character.
  if (text.includes('\ufffd') && !isUtf8(buffer.subarray(start, end))) {
    refuse('the string is not valid UTF-8')
    return ''
  }
  return text
}

/**
 * All empty values share this buffer, because allocating a buffer costs more than reading the rest of a small record.
 */
const NO_BYTES = Buffer.alloc(0)

/** Reads a length and bytes. Returns a copy, because a view would keep the whole fetch response in memory. */
export function readBytes(buffer: Buffer, at: number, end: number): Buffer {
  const length = readLength(buffer, at, end)
  const start = cursor.at
  if (start < 0) return buffer
  cursor.at = start + length
  return start === cursor.at ? NO_BYTES : Buffer.from(buffer.subarray(start, cursor.at))
}

/** Reads the length of a string or of bytes. The content must not extend beyond `end`. */
export function readLength(buffer: Buffer, at: number, end: number): number {
  const length = readLong(buffer, at, end)
  if (cursor.at < 0) return 0
  if (length < 0) return refuse('a length is negative')
  if (length > end - cursor.at) return refuse(TRUNCATED)
  return length
}

/**
 * Reads the item count of the next block of an array or map; 0 ends the array or map. A count that is too large for the
 * remaining bytes is rejected before anything is allocated.
 * @param itemBytes minimum number of bytes of an item
 */
export function readBlockCount(buffer: Buffer, at: number, end: number, itemBytes: number): number {
  let count = readLong(buffer, at, end)
  if (cursor.at < 0) return 0
  blockEnd = -1
  if (count < 0) {
    count = -count
    const size = readLong(buffer, cursor.at, end)
    if (cursor.at < 0) return 0
    if (size < 0 || size > end - cursor.at) return refuse('a block is larger than the remaining bytes')
    blockEnd = cursor.at + size
  }
  if (itemBytes === 0) {
    cursor.emptyItems += count
    if (cursor.emptyItems > MAX_EMPTY_ITEMS) return refuse(`more than ${MAX_EMPTY_ITEMS} items without bytes`)
  } else if (count * itemBytes > end - cursor.at) return refuse('a block declares more items than the remaining bytes can hold')
  return count
}

let blockEnd = -1

/**
 * Returns the position at which the block of the last `readBlockCount` call must end; -1 when the block does not
 * declare its size.
 */
export function lastBlockEnd(): number {
  return blockEnd
}
