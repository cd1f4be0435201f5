import { invalidRequest } from './errors.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const OPEN_BRACE = 0x7b
const OPEN_BRACKET = 0x5b
/**
 * A route accepts one value per this many bytes of its maximum body size. No valid body has more values for its size
 * than a list of products, which has about 60 bytes per value.
 */
const BYTES_PER_VALUE = 48
/**
 * Number of values that a body may have on any route. Parsing and validating so few values takes less than a
 * millisecond.
 */
const ALWAYS_FEW = 1_000

/**
 * Refuses JSON that has too many values for its route, before it is parsed. A mebibyte can contain half a million
 * values. Parsing and validating them would block the process for more than a tenth of a second. Bytes that are not
 * JSON are accepted if they contain few commas, brackets and braces.
 * @param maxBytes the route's maximum body size
 * @throws ApiError `invalid_request`
 */
export function assertFewValues(bytes: Uint8Array, maxBytes: number): void {
  const most = Math.max(ALWAYS_FEW, Math.floor(maxBytes / BYTES_PER_VALUE))
  // Each value takes at least two bytes: a digit and a comma.
  if (bytes.byteLength > 2 * most && mostValuesIn(bytes) > most) throw invalidRequest('body', `has more than ${most} values`)
}

/**
 * Counts commas, opening brackets and opening braces outside of strings. The number of values in valid JSON exceeds
 * this count by at most one.
 */
function mostValuesIn(bytes: Uint8Array): number {
  let count = 0
  let isInString = false
  for (let at = 0; at < bytes.byteLength; at++) {
    const byte = bytes[at]
    if (byte === QUOTE) isInString = !isInString
    else if (isInString) {
      if (byte === BACKSLASH) at++
    } else if (byte === COMMA || byte === OPEN_BRACE || byte === OPEN_BRACKET) count++
  }
  return count
}
