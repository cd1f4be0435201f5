import { ApiError, errors, invalidRequest } from './errors.ts'
import { assertFewValues } from './json-size.ts'
import { assertCleanText, assertShallow, decodeUtf8 } from './text.ts'

/** Maximum size of a JSON body. A route with larger bodies sets `maxBodyBytes`. */
export const DEFAULT_BODY_BYTES = 1_048_576

/** A body smaller than this cannot be nested deeply enough for recursive code to overflow the stack. */
const SHALLOW_BYTES = 4_096
/** The content coding of a body that is not compressed (RFC 9110, 8.4.1). */
const IDENTITY = 'identity'
const JSON_MEDIA_TYPE = /^application\/(?:[a-z0-9!#$&^_.+-]+\+)?json$/i

/**
 * Reads a JSON body. Throws ApiError 415 for a different media type. Throws ApiError 400 if the body is not valid UTF-8
 * or JSON, has too many values, is nested too deeply, or contains NUL or lone surrogates. Also throws the errors of
 * `whole`.
 * @param whole reads the body
 * @param maxBytes the route's maximum body size, which also limits the number of values
 */
export async function readJsonBody(
  contentType: string | undefined,
  whole: () => Promise<Uint8Array>,
  maxBytes = DEFAULT_BODY_BYTES,
): Promise<unknown> {
  assertJsonType(contentType ?? null)
  const value = parsed(await whole(), maxBytes)
  assertCleanText(value)
  return value
}

/**
 * Parses a JSON body of at most DEFAULT_BODY_BYTES. Throws ApiError with 400 if the body is not valid UTF-8 or JSON,
 * has too many values, or is nested too deeply for recursive code. Unlike `readJsonBody`, accepts strings that contain
 * NUL or lone surrogates.
 */
export function parseJsonBody(bytes: Uint8Array): unknown {
  const value = parsed(bytes, DEFAULT_BODY_BYTES)
  if (bytes.byteLength >= SHALLOW_BYTES) assertShallow(value)
  return value
}

function parsed(bytes: Uint8Array, maxBytes: number): unknown {
  assertFewValues(bytes, maxBytes)
  const text = decodeUtf8(bytes)
  if (text.trim() === '') throw invalidBody('the body is empty; it must be JSON')
  try {
    return JSON.parse(text)
  } catch (error) {
    throw invalidBody(`the body is not valid JSON${positionIn((error as Error).message)}`)
  }
}

/**
 * Returns the position of a syntax error. V8's messages quote the body, and the body may contain secrets, so only the
 * position is safe to repeat.
 */
function positionIn(message: string): string {
  const position = /\((line \d+ column \d+)\)$/.exec(message)?.[1]
  return position === undefined ? '' : `: see ${position}`
}

function invalidBody(message: string): ApiError {
  return invalidRequest('body', message)
}

/**
 * Rejects a compressed body. No route decompresses bodies, because a small body could then become arbitrarily large.
 * Without this check, the error would be about invalid text, and would hide the cause from the caller.
 * @param contentEncoding the Content-Encoding header
 * @throws ApiError 415
 */
export function assertNotCompressed(contentEncoding: string | undefined): void {
  const coding = (contentEncoding ?? '').trim().toLowerCase()
  if (coding === '' || coding === IDENTITY) return
  throw new ApiError(errors.unsupported_media_type, {
    message: 'Send the body without compression, that is, without the header Content-Encoding.',
    headers: { 'Accept-Encoding': IDENTITY },
  })
}

/**
 * @param message message of the error, for an endpoint that also accepts other types
 * @throws ApiError 415 unless the Content-Type is JSON in UTF-8
 */
export function assertJsonType(contentType: string | null, message?: string): void {
  const [mediaType, ...parameters] = (contentType ?? '').split(';')
  const charset = parameters.map((parameter) => parameter.trim().toLowerCase()).find((parameter) => parameter.startsWith('charset='))
  const isUtf8Charset = charset === undefined || charset === 'charset=utf-8' || charset === 'charset="utf-8"'
  if (!JSON_MEDIA_TYPE.test(mediaType.trim()) || !isUtf8Charset) throw new ApiError(errors.unsupported_media_type, { message })
}
