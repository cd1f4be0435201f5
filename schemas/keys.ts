import { isUtf8 } from 'node:buffer'
import { type ByteWriter, type Codec, CodecError } from './codec.ts'

/** Length of the longest 64-bit integer, including its sign: `-9223372036854775808`. */
const MAX_DECIMAL_BYTES = 20
const MIN_INT64 = -(2n ** 63n)
const MAX_INT64 = 2n ** 63n - 1n
const MIN_INT32 = -(2 ** 31)
const MAX_INT32 = 2 ** 31 - 1
/** A double exactly represents every integer with at most this many digits. */
const SAFE_DIGITS = 15
const MINUS = 0x2d
const ZERO = 0x30
/** Maximum number of UTF-8 bytes per UTF-16 code unit. */
const MAX_BYTES_PER_UNIT = 3

/** Maximum number of characters for which a loop is faster than the native string functions. */
const SHORT_TEXT = 40
const ASCII_END = 0x80

/**
 * Appends text if it is short and contains only ASCII characters, as most keys do.
 * @returns whether it appended the text
 */
function writeShortAscii(text: string, out: ByteWriter): boolean {
  const { length } = text
  if (length > SHORT_TEXT) return false
  out.reserve(length)
  const { buffer } = out
  const start = out.length
  for (let unit = 0; unit < length; unit++) {
    const code = text.charCodeAt(unit)
    if (code >= ASCII_END) return false
    buffer[start + unit] = code
  }
  out.length = start + length
  return true
}

/**
 * Returns the error for a value that must be text but is not. Such a value is often an undefined key that results from
 * a missing field.
 */
export function notText(value: unknown): CodecError {
  return new CodecError(`text was expected, not ${String(value)}`)
}

/** Encodes text as strict UTF-8. Rejects malformed bytes and lone surrogates instead of replacing them. */
export const utf8: Codec<string> = {
  encode(value, out) {
    if (typeof value !== 'string') throw notText(value)
    if (writeShortAscii(value, out)) return
    if (!value.isWellFormed()) throw new CodecError('text has a lone surrogate, which UTF-8 cannot represent')
    out.reserve(value.length * MAX_BYTES_PER_UNIT)
    out.length += out.buffer.write(value, out.length, 'utf8')
  },
  decode(buffer, start, end) {
    return keptText(buffer, start, end)
  },
}

/** Encodes a 64-bit id as decimal text, the key format of public topics with numeric keys. */
export const decimalId: Codec<bigint> = {
  encode(value, out) {
    if (value < MIN_INT64 || value > MAX_INT64) throw new CodecError(`id ${value} does not fit into 64 bits`)
    writeAscii(value.toString(), out)
  },
  decode(buffer, start, end) {
    const text = decimalText(buffer, start, end)
    if (text.length <= SAFE_DIGITS) return BigInt(Number(text))
    const value = BigInt(text)
    if (value < MIN_INT64 || value > MAX_INT64) throw new CodecError(`id ${text} does not fit into 64 bits`)
    return value
  },
}

/** Encodes a 32-bit integer, such as a woeid, as decimal text. */
export const decimalInt: Codec<number> = {
  encode(value, out) {
    if ((value | 0) !== value) throw new CodecError(`${value} is not a 32-bit integer`)
    writeAscii(String(value | 0), out)
  },
  decode(buffer, start, end) {
    const value = Number(decimalText(buffer, start, end))
    if (value < MIN_INT32 || value > MAX_INT32) throw new CodecError(`${value} does not fit into 32 bits`)
    return value
  },
}

function writeAscii(text: string, out: ByteWriter): void {
  out.reserve(text.length)
  out.length += out.buffer.write(text, out.length, 'latin1')
}

/**
 * Returns the text of a decimal integer. Accepts only the shortest form of each number (no plus sign, no leading zeros,
 * no `-0`), so that keys with equal ids also have equal bytes.
 */
function decimalText(buffer: Buffer, start: number, end: number): string {
  const digits = buffer[start] === MINUS ? start + 1 : start
  const length = end - digits
  const leadingZero = buffer[digits] === ZERO && (length > 1 || digits > start)
  if (length < 1 || end - start > MAX_DECIMAL_BYTES || leadingZero) throw notDecimal(buffer, start, end)
  for (let at = digits; at < end; at++) {
    const digit = buffer[at] - ZERO
    if (digit < 0 || digit > 9) throw notDecimal(buffer, start, end)
  }
  return buffer.toString('latin1', start, end)
}

function notDecimal(buffer: Buffer, start: number, end: number): CodecError {
  const shown = JSON.stringify(buffer.toString('latin1', start, Math.min(end, start + MAX_DECIMAL_BYTES)))
  return new CodecError(`key ${shown} is not a decimal integer in its shortest form`)
}

/** Maximum number of bytes of a text that is kept. Comparing longer texts costs as much as decoding them. */
const KEPT_BYTES = 24
/** Number of kept texts, a power of two. With at most 24 bytes each, they take about 400 KB. */
const KEPT_TEXTS = 8_192
/** The 32-bit FNV prime, for the FNV-1a hash. */
const HASH_FACTOR = 0x01000193
const HASH_SHIFT = 15
/** Recently decoded ASCII texts, each at the index that its hash determines. */
const kept: string[] = new Array(KEPT_TEXTS).fill('')

/**
 * Decodes text like `strictUtf8`. A short ASCII text that is still among the kept texts is not allocated again: the
 * result is the kept string object. Maps also find this object faster, because V8 has already computed its hash and
 * only compares addresses.
 */
function keptText(buffer: Buffer, start: number, end: number): string {
  const length = end - start
  if (length > KEPT_BYTES) return strictUtf8(buffer, start, end)
  let hash = length
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ buffer[at], HASH_FACTOR)
  const place = (hash ^ (hash >>> HASH_SHIFT)) & (KEPT_TEXTS - 1)
  const known = kept[place]
  if (known.length === length) {
    let unit = 0
    while (unit < length && known.charCodeAt(unit) === buffer[start + unit]) unit++
    if (unit === length) return known
  }
  const text = strictUtf8(buffer, start, end)
  // Only ASCII texts have as many characters as bytes. The characters of other texts cannot be compared with bytes.
  if (text.length === length) kept[place] = text
  return text
}

/**
 * Decodes exactly the bytes [start, end).
 * @throws CodecError when the bytes are not UTF-8
 */
function strictUtf8(buffer: Buffer, start: number, end: number): string {
  const text = buffer.toString('utf8', start, end)
  // A replacement character was either sent or results from malformed input. The bytes are therefore checked only if
  // the text contains a replacement character.
  if (text.includes('\ufffd') && !isUtf8(buffer.subarray(start, end))) throw new CodecError('text is not valid UTF-8')
  return text
}
