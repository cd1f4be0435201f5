import { isUtf8 } from 'node:buffer'
import { ApiError, errors } from '../../kit/errors.ts'

/** Checks that bytes which arrive in chunks are valid UTF-8. A character may span two chunks. */
export interface Utf8Check {
  /** Checks the next bytes. Throws ApiError `invalid_encoding`. */
  piece(bytes: Uint8Array): void
  /** Must be called after the last chunk. Throws ApiError `invalid_encoding` if the last character is incomplete. */
  end(): void
}

const NO_BYTES = new Uint8Array()
/** Maximum number of bytes that follow the first byte of a character. */
const MAX_FOLLOWING = 3

export function utf8Check(): Utf8Check {
  let held: Uint8Array = NO_BYTES

  return {
    piece(bytes) {
      const all = held.byteLength === 0 ? bytes : Buffer.concat([held, bytes])
      const whole = all.byteLength - cutOff(all)
      if (!isUtf8(all.subarray(0, whole))) throw invalidUtf8()
      held = Buffer.from(all.subarray(whole))
    },
    end() {
      if (held.byteLength > 0) throw invalidUtf8()
    },
  }
}

/** Returns the number of bytes at the end that form the beginning of an incomplete character. */
function cutOff(bytes: Uint8Array): number {
  const first = Math.max(0, bytes.byteLength - MAX_FOLLOWING)
  for (let at = bytes.byteLength - 1; at >= first; at--) {
    const byte = bytes[at]
    if (byte < 0x80) return 0
    if (byte < 0xc0) continue
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2
    const there = bytes.byteLength - at
    return there < length ? there : 0
  }
  return 0
}

function invalidUtf8(): ApiError {
  return new ApiError(errors.invalid_encoding, { message: 'The body is not valid UTF-8.' })
}

export function refuseNul(bytes: Uint8Array): void {
  if (bytes.includes(0)) throw new ApiError(errors.invalid_encoding, { message: 'Text must not contain NUL.' })
}
