import type { ByteWriter } from '../codec.ts'
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
 * Functions that write Avro's primitives, for generated encoders. Each function returns the position after the value.
 * If the value is invalid, the function returns -1 and stores the reason in the cursor.
 */

const LONE_SURROGATE = 'the string has a lone surrogate, which UTF-8 cannot represent'
const LOW_28_BITS = 2 ** 28 - 1
const MIN_INT64 = -(2n ** 63n)
const MAX_INT64 = 2n ** 63n - 1n
/** Maximum number of characters for which a loop is faster than the native string functions. */
const SHORT_STRING = 20
/**
 * Number of UTF-16 code units above which the writer counts the bytes of a string first. For shorter strings, it is
 * cheaper to reserve room for the maximum number of bytes.
 */
const COUNTED_LENGTH = 1024
const MAX_BYTES_PER_UNIT = 3
const MAX_VARINT = 10

/**
 * Writes a safe integer as a varint. There must be room for 10 bytes.
 * @returns the position after the varint
 */
export function writeLong(buffer: Buffer, at: number, value: number): number {
  if (value >= -0x40000000 && value < 0x40000000) {
    let bits = (value << 1) ^ (value >> 31)
    while (bits >= CONTINUES) {
      buffer[at++] = (bits & LOW_7_BITS) | CONTINUES
      bits >>>= 7
    }
    buffer[at++] = bits
    return at
  }
  const negative = value < 0
  const half = negative ? -(value + 1) : value
  const high = Math.floor(half / TWO_TO_27)
  return writeGroups(buffer, at, (half - high * TWO_TO_27) * 2 + (negative ? 1 : 0), high)
}

/**
 * Writes the seven-bit groups of a varint.
 * @param low the lowest 28 bits
 * @param high the bits above the lowest 28
 */
function writeGroups(buffer: Buffer, at: number, low: number, high: number): number {
  if (high === 0) {
    while (low >= CONTINUES) {
      buffer[at++] = (low & LOW_7_BITS) | CONTINUES
      low >>>= 7
    }
    buffer[at++] = low
    return at
  }
  buffer[at] = (low & LOW_7_BITS) | CONTINUES
  buffer[at + 1] = ((low >>> 7) & LOW_7_BITS) | CONTINUES
  buffer[at + 2] = ((low >>> 14) & LOW_7_BITS) | CONTINUES
  buffer[at + 3] = (low >>> 21) | CONTINUES
  at += 4
  while (high >= CONTINUES) {
    buffer[at++] = (high % CONTINUES) | CONTINUES
    high = Math.floor(high / CONTINUES)
  }
  buffer[at++] = high
  return at
}

/**
 * Writes a 64-bit integer as a varint. There must be room for 10 bytes.
 * @returns the position after the varint; -1 when the value does not fit into 64 bits
 */
export function writeInt64(buffer: Buffer, at: number, value: bigint): number {
  if (value < MIN_INT64 || value > MAX_INT64) {
    cursor.why = `${value} does not fit into 64 bits`
    return -1
  }
  int64[0] = value
  const low = halves[LOW_HALF]
  const high = halves[HIGH_HALF]
  const sign = (high | 0) >> 31
  const zigzagLow = ((low << 1) ^ sign) >>> 0
  const zigzagHigh = (((high << 1) | (low >>> 31)) ^ sign) >>> 0
  return writeGroups(buffer, at, zigzagLow & LOW_28_BITS, zigzagHigh * 16 + (zigzagLow >>> LOW_GROUPS_BITS))
}

/** Writes a 32-bit float in little-endian order. */
export function writeFloat(buffer: Buffer, at: number, value: number): number {
  float32[0] = value
  const bits = float32Bits[0]
  buffer[at] = bits
  buffer[at + 1] = bits >>> 8
  buffer[at + 2] = bits >>> 16
  buffer[at + 3] = bits >>> 24
  return at + 4
}

/** Writes a 64-bit float in little-endian order. */
export function writeDouble(buffer: Buffer, at: number, value: number): number {
  float64[0] = value
  const low = float64Bits[LOW_HALF]
  const high = float64Bits[HIGH_HALF]
  buffer[at] = low
  buffer[at + 1] = low >>> 8
  buffer[at + 2] = low >>> 16
  buffer[at + 3] = low >>> 24
  buffer[at + 4] = high
  buffer[at + 5] = high >>> 8
  buffer[at + 6] = high >>> 16
  buffer[at + 7] = high >>> 24
  return at + 8
}

/**
 * Reserves room for the length and the UTF-8 bytes of a string, and writes them.
 * @returns the position after the string; -1 if the string is malformed
 */
export function writeString(out: ByteWriter, at: number, text: string): number {
  const units = text.length
  const most = units > COUNTED_LENGTH ? Buffer.byteLength(text) : units * MAX_BYTES_PER_UNIT
  if (at + most + MAX_VARINT > out.buffer.length) makeRoom(out, at, most + MAX_VARINT)
  const buffer = out.buffer
  if (units <= SHORT_STRING) {
    let unit = 0
    while (unit < units) {
      const code = text.charCodeAt(unit)
      if (code >= ASCII_END) break
      buffer[at + ++unit] = code
    }
    if (unit === units) {
      buffer[at] = units << 1
      return at + 1 + units
    }
  }
  const bytes = Buffer.byteLength(text)
  if (bytes !== units && !text.isWellFormed()) {
    cursor.why = LONE_SURROGATE
    return -1
  }
  const start = writeLong(buffer, at, bytes)
  return start + (bytes === units ? buffer.write(text, start, 'latin1') : buffer.write(text, start, 'utf8'))
}

/**
 * Reserves room for a length and bytes, and writes them.
 * @returns the position after the bytes
 */
export function writeBytes(out: ByteWriter, at: number, bytes: Uint8Array): number {
  if (at + bytes.length + MAX_VARINT > out.buffer.length) makeRoom(out, at, bytes.length + MAX_VARINT)
  const start = writeLong(out.buffer, at, bytes.length)
  out.buffer.set(bytes, start)
  return start + bytes.length
}

/** Reserves room for `bytes` bytes after `at`, and keeps everything before `at`. */
export function makeRoom(out: ByteWriter, at: number, bytes: number): void {
  out.length = at
  out.reserve(bytes)
}
