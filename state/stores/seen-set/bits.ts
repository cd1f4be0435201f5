/** Thrown when the bytes of a page end too early or contain a value that the format does not allow. */
export class MalformedPageError extends Error {
  override readonly name = 'MalformedPageError'
}

/** A buffer, and the position at which the next bits are written. All bits from this position on must be zero. */
export interface BitWriter {
  /** Position in bits. */
  at: number
  readonly bytes: Buffer
}

/** Reads the output of a BitWriter. */
export interface BitReader {
  /** Position in bits. */
  at: number
  readonly bytes: Uint8Array
}

const BITS_PER_BYTE = 8
const WORD_BITS = 32
const MAX_VARINT_BYTES = 8
const VARINT_BITS = 7
const MORE = 0x80

export function alignToByte(cursor: { at: number }): void {
  cursor.at = (cursor.at + 7) & ~7
}

/** Writes the lowest `count` bits of the value. */
export function writeBits(writer: BitWriter, value: number, count: number): void {
  const { bytes } = writer
  let { at } = writer
  for (let left = count; left > 0; ) {
    const free = BITS_PER_BYTE - (at & 7)
    const taken = Math.min(free, left)
    bytes[at >>> 3] |= ((value >>> (left - taken)) & ((1 << taken) - 1)) << (free - taken)
    at += taken
    left -= taken
  }
  writer.at = at
}

/** Writes `count` ones and then a zero. */
export function writeUnary(writer: BitWriter, count: number): void {
  const { bytes } = writer
  const end = writer.at + count
  for (let at = writer.at; at < end; at++) bytes[at >>> 3] |= MORE >>> (at & 7)
  writer.at = end + 1
}

/**
 * Writes a number in a variable number of bytes, starting at the next whole byte. Each byte contains seven bits of the
 * number, the lowest bits first. Its eighth bit is set if another byte follows.
 */
export function writeVarint(writer: BitWriter, value: number): void {
  alignToByte(writer)
  let rest = value
  let at = writer.at >>> 3
  while (rest >= MORE) {
    writer.bytes[at++] = (rest % MORE) | MORE
    rest = Math.floor(rest / MORE)
  }
  writer.bytes[at++] = rest
  writer.at = at * BITS_PER_BYTE
}

export function readBits(reader: BitReader, count: number): number {
  if (count === 0) return 0
  const { bytes, at } = reader
  if (at + count > bytes.length * BITS_PER_BYTE) throw ended()
  reader.at = at + count
  return wordAt(bytes, at) >>> (WORD_BITS - count)
}

export function readUnary(reader: BitReader): number {
  const { bytes } = reader
  const end = bytes.length * BITS_PER_BYTE
  let { at } = reader
  let count = 0
  while (at < end) {
    const ones = Math.clz32(~wordAt(bytes, at))
    count += ones
    at += ones
    if (ones === WORD_BITS) continue
    // Bits after the end are zero.
    if (at >= end) break
    reader.at = at + 1
    return count
  }
  throw ended()
}

export function readVarint(reader: BitReader): number {
  alignToByte(reader)
  const { bytes } = reader
  let value = 0
  let at = reader.at >>> 3
  for (let i = 0; i < MAX_VARINT_BYTES; i++) {
    if (at >= bytes.length) throw ended()
    const byte = bytes[at++]
    value += (byte & (MORE - 1)) * 2 ** (VARINT_BITS * i)
    if (byte < MORE) {
      reader.at = at * BITS_PER_BYTE
      return value
    }
  }
  throw new MalformedPageError('a number in the page has too many bytes')
}

/** Returns the 32 bits that begin at a position. Bits after the end are zero. */
function wordAt(bytes: Uint8Array, at: number): number {
  const byte = at >>> 3
  const bit = at & 7
  const first =
    byte + 4 < bytes.length
      ? (bytes[byte] << 24) | (bytes[byte + 1] << 16) | (bytes[byte + 2] << 8) | bytes[byte + 3]
      : (orZero(bytes, byte) << 24) | (orZero(bytes, byte + 1) << 16) | (orZero(bytes, byte + 2) << 8) | orZero(bytes, byte + 3)
  return bit === 0 ? first : (first << bit) | (orZero(bytes, byte + 4) >>> (BITS_PER_BYTE - bit))
}

function orZero(bytes: Uint8Array, at: number): number {
  return at < bytes.length ? bytes[at] : 0
}

function ended(): MalformedPageError {
  return new MalformedPageError('the page ends too early')
}
