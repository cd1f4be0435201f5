import { type ApiError, invalidRequest } from './errors.ts'

/** Receives the parts of a multipart body, in order. */
export interface MultipartHandler {
  /** Begins the next part. */
  part(part: FormPart): void | Promise<void>
  /** Receives the next bytes of the current part. */
  data(bytes: Uint8Array): Promise<void>
}

/** What the headers of a part declare. The values are not trusted, because the sender can choose them freely. */
export interface FormPart {
  readonly name: string
  /** The declared file name; undefined for a part that is not a file. */
  readonly filename: string | undefined
}

export interface MultipartOptions {
  /** The boundary from the Content-Type, as returned by `boundaryOf`. */
  readonly boundary: string
  readonly maxParts: number
}

type Place = 'preamble' | 'mark' | 'headers' | 'body' | 'end'

/**
 * Maximum size of the headers of a part. Legitimate headers contain little more than the part's name, file name and
 * media type.
 */
const MAX_HEADER_BYTES = 8_192
/** Matches a boundary (RFC 2046, 5.1.1). */
const BOUNDARY = /^[0-9A-Za-z'()+_,./:=? -]{0,69}[0-9A-Za-z'()+_,./:=?-]$/
const CRLF = Buffer.from('\r\n')
const HEADER_END = Buffer.from('\r\n\r\n')
const DASHES = Buffer.from('--')
const MARK_BYTES = 2

/** Returns the boundary that a Content-Type names. Throws ApiError `invalid_request` if there is no valid boundary. */
export function boundaryOf(contentType: string): string {
  const found = /;\s*boundary=(?:"([^"]*)"|([^;\s]*))/i.exec(contentType)
  const boundary = found?.[1] ?? found?.[2] ?? ''
  if (!BOUNDARY.test(boundary)) throw invalidMultipart('its Content-Type names no valid boundary')
  return boundary
}

/**
 * Reads multipart/form-data as it arrives (RFC 7578). In addition to the current piece, buffers at most the headers of
 * a part. Throws ApiError `invalid_request` if the body is malformed or has too many parts.
 */
export async function readMultipart(
  pieces: AsyncIterable<Uint8Array>,
  { boundary, maxParts }: MultipartOptions,
  handler: MultipartHandler,
): Promise<void> {
  const delimiter = Buffer.from(`\r\n--${boundary}`)
  // Every boundary except the first follows a line break. The buffer starts with a line break, so that the first
  // boundary is found in the same way.
  let held: Buffer = CRLF
  let place: Place = 'preamble'
  let parts = 0

  /**
   * Parses the next piece of the buffer.
   * @returns false if more bytes are needed
   */
  async function step(): Promise<boolean> {
    switch (place) {
      case 'preamble':
      case 'body':
        return await content()
      case 'mark':
        return mark()
      case 'headers':
        return await headers()
      case 'end':
        held = held.subarray(held.length)
        return false
    }
  }

  async function content(): Promise<boolean> {
    const at = held.indexOf(delimiter)
    // The last bytes stay in the buffer, because they may be the beginning of a delimiter.
    const sure = at < 0 ? Math.max(0, held.length - delimiter.length + 1) : at
    if (place === 'body' && sure > 0) await handler.data(held.subarray(0, sure))
    held = held.subarray(at < 0 ? sure : at + delimiter.length)
    if (at >= 0) place = 'mark'
    return at >= 0
  }

  function mark(): boolean {
    if (held.length < MARK_BYTES) return false
    const two = held.subarray(0, MARK_BYTES)
    if (two.equals(DASHES)) place = 'end'
    else if (two.equals(CRLF)) place = 'headers'
    else throw invalidMultipart('a boundary is followed by other text')
    // The line break stays in the buffer, so that the end of the headers is found even if the part has no headers.
    if (place === 'end') held = held.subarray(MARK_BYTES)
    return true
  }

  async function headers(): Promise<boolean> {
    const end = held.indexOf(HEADER_END)
    if (end > MAX_HEADER_BYTES || (end < 0 && held.length > MAX_HEADER_BYTES)) throw invalidMultipart('the headers of a part are too long')
    if (end < 0) return false
    if (++parts > maxParts) throw invalidMultipart(`it has more than ${maxParts} parts`)
    await handler.part(partOf(held.subarray(0, end).toString()))
    held = held.subarray(end + HEADER_END.length)
    place = 'body'
    return true
  }

  for await (const piece of pieces) {
    held = held.length === 0 ? Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength) : Buffer.concat([held, piece])
    while (await step());
  }
  if ((place as Place) !== 'end') throw invalidMultipart('it ends before its last boundary')
}

function partOf(headers: string): FormPart {
  const disposition = /^content-disposition:[ \t]*form-data[ \t]*(;.*)$/im.exec(headers)?.[1] ?? ''
  const name = parameterOf(disposition, /;[ \t]*name=(?:"([^"]*)"|([^;"\s]+))/i)
  if (name === undefined) throw invalidMultipart('a part has no name')
  return { name, filename: parameterOf(disposition, /;[ \t]*filename=(?:"([^"]*)"|([^;"\s]+))/i) }
}

function parameterOf(disposition: string, pattern: RegExp): string | undefined {
  const found = pattern.exec(disposition)
  return found?.[1] ?? found?.[2]
}

function invalidMultipart(reason: string): ApiError {
  return invalidRequest('body', `the body is not valid multipart/form-data: ${reason}`)
}
