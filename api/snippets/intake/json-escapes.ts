import { ApiError, errors, invalidRequest } from '../../kit/errors.ts'

/** Decodes the inside of a JSON string that arrives in chunks. */
export interface JsonEscapes {
  /**
   * Decodes a chunk. Throws ApiError.
   * @param out receives the decoded bytes
   * @returns the position after the closing quote; undefined if the string continues in the next chunk
   */
  decode(bytes: Uint8Array, from: number, out: Uint8Array[]): number | undefined
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const LETTER_U = 0x75
const FIRST_PRINTABLE = 0x20
const HEX_DIGITS = 4
const OUTSIDE = -2
const AFTER_BACKSLASH = -1
const NO_DIGIT = 255
/** Maps the byte after a backslash to the character that the escape stands for. 0 marks an invalid escape. */
const ESCAPES = new Uint8Array(256)
for (const [index, letter] of [...'"\\/bfnrt'].entries()) ESCAPES[letter.charCodeAt(0)] = '"\\/\b\f\n\r\t'.charCodeAt(index)
const HEX = new Uint8Array(256).fill(NO_DIGIT)
for (const digit of '0123456789abcdefABCDEF') HEX[digit.charCodeAt(0)] = Number.parseInt(digit, 16)
/**
 * Size of the buffer for decoded escapes. It is small, because most texts have few escapes, and longer text between
 * escapes is passed on without copying.
 */
const ESCAPED_BYTES = 4_096

export function jsonEscapes(): JsonEscapes {
  /** The number of hex digits of an escape that have been read, or OUTSIDE or AFTER_BACKSLASH. */
  let digits = OUTSIDE
  let unit = 0
  /** The first half of a surrogate pair. */
  let high: number | undefined
  /**
   * Collects decoded escapes and the short texts between them, because a separate buffer for each escape would be
   * costly.
   */
  let gathered = Buffer.alloc(0)
  let length = 0

  function put(code: number): void {
    if (code === 0) throw new ApiError(errors.invalid_encoding, { message: 'Text must not contain NUL.' })
    if (code < 0x80) gathered[length++] = code
    else length += gathered.write(String.fromCodePoint(code), length)
  }

  function putUnit(code: number): void {
    const isLow = code >= 0xdc00 && code <= 0xdfff
    if (high !== undefined) {
      if (!isLow) throw loneSurrogate()
      put((high - 0xd800) * 0x400 + (code - 0xdc00) + 0x10000)
      high = undefined
    } else if (isLow) throw loneSurrogate()
    else if (code >= 0xd800 && code <= 0xdbff) high = code
    else put(code)
  }

  function escaped(byte: number): void {
    if (digits === AFTER_BACKSLASH) {
      if (byte === LETTER_U) {
        digits = 0
        unit = 0
        return
      }
      const code = ESCAPES[byte]
      if (code === 0) throw invalidJson('an invalid escape in content')
      if (high !== undefined) throw loneSurrogate()
      put(code)
      digits = OUTSIDE
      return
    }
    const digit = HEX[byte]
    if (digit === NO_DIGIT) throw invalidJson('an invalid escape in content')
    unit = unit * 16 + digit
    if (++digits < HEX_DIGITS) return
    putUnit(unit)
    digits = OUTSIDE
  }

  function decode(bytes: Uint8Array, from: number, out: Uint8Array[]): number | undefined {
    gathered = Buffer.alloc(ESCAPED_BYTES)
    length = 0
    let run = from
    let at = from

    function pass(): void {
      if (length > 0) out.push(gathered.subarray(0, length))
      gathered = gathered.subarray(length)
      if (gathered.length < 2 * HEX_DIGITS) gathered = Buffer.alloc(ESCAPED_BYTES)
      length = 0
    }

    /**
     * Passes on the plain text before `end`. Short texts are copied to the buffer, because that is cheaper than a
     * separate chunk.
     */
    function passRun(end: number): void {
      if (end === run) return
      if (high !== undefined) throw loneSurrogate()
      if (length + (end - run) + HEX_DIGITS <= gathered.length && end - run < 64) {
        gathered.set(bytes.subarray(run, end), length)
        length += end - run
        return
      }
      pass()
      out.push(bytes.subarray(run, end))
    }

    for (; at < bytes.byteLength; at++) {
      const byte = bytes[at]
      if (digits !== OUTSIDE) {
        escaped(byte)
        run = at + 1
        if (length + HEX_DIGITS > gathered.length) pass()
      } else if (byte === BACKSLASH) {
        passRun(at)
        digits = AFTER_BACKSLASH
      } else if (byte === QUOTE) {
        passRun(at)
        pass()
        if (high !== undefined) throw loneSurrogate()
        return at + 1
      } else if (byte < FIRST_PRINTABLE) throw invalidJson('an unescaped control character in content')
    }
    if (digits === OUTSIDE) passRun(at)
    pass()
    return undefined
  }

  return { decode }
}

function loneSurrogate(): ApiError {
  return new ApiError(errors.invalid_encoding, { message: 'Text must not contain lone surrogates.' })
}

export function invalidJson(reason: string): ApiError {
  return invalidRequest('body', `the JSON body cannot be read: ${reason}`)
}
