import { isUtf8 } from 'node:buffer'
import { type ByteWriter, type Codec, CodecError } from './codec.ts'
import { notText } from './keys.ts'

/**
 * A part of a composite key. Composite keys sort by their first part, then by their second part, and so on, so that
 * stores can be scanned by prefix. An encoded text ends with 0x00 0x00, and a NUL inside the text becomes 0x00 0xff, so
 * the end of the text is unambiguous.
 */
export interface KeyPart<T> {
  encode(value: T, out: ByteWriter): void
  /** Decodes the part that begins at `start`, and stores the position after the part in `nextPart`. */
  decode(buffer: Buffer, start: number, end: number): T
}

/** Position after the last decoded part. */
let nextPart = 0

const U64_BYTES = 8
const U32_BYTES = 4
const MAX_U32 = 2 ** 32 - 1
const MAX_U64 = 2n ** 64n - 1n
const TWO_TO_32 = 2 ** 32
const END = 0x00
const ESCAPED_NUL = 0xff
const MAX_BYTES_PER_UNIT = 3

/** Encodes text as UTF-8 bytes, which sort in code point order. */
export const textPart: KeyPart<string> = {
  encode(value, out) {
    if (typeof value !== 'string') throw notText(value)
    if (!value.isWellFormed()) throw new CodecError('text has a lone surrogate, which UTF-8 cannot represent')
    // Twice the maximum length is reserved, because every byte could be a NUL that needs escaping.
    out.reserve(value.length * MAX_BYTES_PER_UNIT * 2 + 2)
    const { buffer } = out
    if (!value.includes('\0')) out.length += buffer.write(value, out.length, 'utf8')
    else
      for (const byte of Buffer.from(value, 'utf8')) {
        buffer[out.length++] = byte
        if (byte === END) buffer[out.length++] = ESCAPED_NUL
      }
    buffer[out.length++] = END
    buffer[out.length++] = END
  },
  decode(buffer, start, end) {
    const bytes = unescaped(buffer, start, end)
    if (!isUtf8(bytes)) throw new CodecError('a text part of the key is not valid UTF-8')
    return bytes.toString('utf8')
  },
}

function unescaped(buffer: Buffer, start: number, end: number): Buffer {
  let nuls = 0
  let at = buffer.indexOf(END, start)
  for (; at >= 0 && at + 1 < end && buffer[at + 1] === ESCAPED_NUL; at = buffer.indexOf(END, at + 2)) nuls++
  if (at < 0 || at + 1 >= end || buffer[at + 1] !== END) throw new CodecError('a text part of the key is not terminated')
  nextPart = at + 2
  if (nuls === 0) return buffer.subarray(start, at)
  const bytes = Buffer.allocUnsafe(at - start - nuls)
  for (let from = start, to = 0; from < at; from++) {
    bytes[to++] = buffer[from]
    if (buffer[from] === END) from++
  }
  return bytes
}

/** Encodes an integer from 0 to 2^32-1 in big-endian order. */
export const u32Part: KeyPart<number> = {
  encode(value, out) {
    if (!Number.isInteger(value) || value < 0 || value > MAX_U32) throw new CodecError(`${value} is not an unsigned 32-bit integer`)
    out.reserve(U32_BYTES)
    out.length = out.buffer.writeUInt32BE(value, out.length)
  },
  decode(buffer, start, end) {
    nextPart = start + U32_BYTES
    if (nextPart > end) throw new CodecError('the key ends inside a number')
    return buffer.readUInt32BE(start)
  },
}

/** Encodes a non-negative safe integer (a time, offset or counter) as a big-endian u64. */
export const u64Part: KeyPart<number> = {
  encode(value, out) {
    if (!Number.isSafeInteger(value) || value < 0) throw new CodecError(`${value} is not an integer from 0 to 2^53-1`)
    out.reserve(U64_BYTES)
    const low = out.buffer.writeUInt32BE(Math.floor(value / TWO_TO_32), out.length)
    out.length = out.buffer.writeUInt32BE(value % TWO_TO_32, low)
  },
  decode(buffer, start, end) {
    nextPart = start + U64_BYTES
    if (nextPart > end) throw new CodecError('the key ends inside a number')
    const value = buffer.readUInt32BE(start) * TWO_TO_32 + buffer.readUInt32BE(start + U32_BYTES)
    if (!Number.isSafeInteger(value)) throw new CodecError('a number in the key is above 2^53-1')
    return value
  },
}

/** Encodes a 64-bit id exactly, as a big-endian u64. */
export const idPart: KeyPart<bigint> = {
  encode(value, out) {
    if (value < 0n || value > MAX_U64) throw new CodecError(`${value} is not an unsigned 64-bit integer`)
    out.reserve(U64_BYTES)
    out.length = out.buffer.writeBigUInt64BE(value, out.length)
  },
  decode(buffer, start, end) {
    nextPart = start + U64_BYTES
    if (nextPart > end) throw new CodecError('the key ends inside a number')
    return buffer.readBigUInt64BE(start)
  },
}

/**
 * Creates the codec of a key with several parts, in the order of the properties: `compositeKey({ woeid: u32Part, term:
 * textPart })`.
 */
export function compositeKey<T extends object>(parts: { readonly [Name in keyof T]: KeyPart<T[Name]> }): Codec<T> {
  const names = Object.keys(parts) as (keyof T)[]

  function encode(value: T, out: ByteWriter): void {
    const start = out.length
    try {
      for (const name of names) parts[name].encode(value[name], out)
    } catch (error) {
      out.length = start
      throw error
    }
  }

  function decode(buffer: Buffer, start: number, end: number): T {
    const value = {} as T
    nextPart = start
    for (const name of names) value[name] = parts[name].decode(buffer, nextPart, end)
    if (nextPart !== end) throw new CodecError('the key has bytes after its last part')
    return value
  }

  return { encode, decode }
}
