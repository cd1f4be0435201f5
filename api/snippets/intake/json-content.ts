import { ApiError, errors, invalidRequest } from '../../kit/errors.ts'
import { assertCleanText, decodeUtf8 } from '../../kit/text.ts'
import { invalidJson, type JsonEscapes, jsonEscapes } from './json-escapes.ts'

/** Reads a JSON body whose field `content` may be too long for memory. Decodes the content as it arrives. */
export interface JsonContentReader {
  /**
   * Reads a chunk of the body. Throws ApiError.
   * @returns the decoded bytes of the content in this chunk
   */
  piece(bytes: Uint8Array): Uint8Array[]
  /**
   * Ends the body and returns its fields, with `""` in place of the content. Throws ApiError if the body is invalid.
   */
  end(): { readonly fields: unknown; readonly hasContent: boolean }
}

/** Maximum size of the body without the content. */
const MAX_REST_BYTES = 65_536
const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const COMMA = 0x2c
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const SPACE = 0x20
const EMPTY_STRING = Buffer.from('""')
const CONTENT = 'content'

/** Position of the reader: between strings, in a string, or in the content. */
const places = { between: 0, string: 1, content: 2 } as const
type Place = (typeof places)[keyof typeof places]

/**
 * Finds the value of `content` in the outermost object by looking only at brackets, quotes, colons and commas, and
 * replaces it with `""`. JSON.parse validates the rest of the body only at the end. If the body is invalid, the caller
 * must therefore discard the content that it has already received.
 */
export function jsonContentReader(): JsonContentReader {
  const rest: Buffer[] = []
  let restBytes = 0
  let place: Place = places.between
  let depth = 0
  let isObject = false
  /**
   * Whether the next string at depth 1 is a field name. A string before a colon is a field name, and a string after a
   * colon is a value.
   */
  let isName = true
  let isFirstOfValue = false
  let name: Buffer[] = []
  let isEscaped = false
  let content: JsonEscapes | undefined
  let hasContent = false

  function keep(bytes: Uint8Array): void {
    restBytes += bytes.byteLength
    if (restBytes > MAX_REST_BYTES)
      throw new ApiError(errors.content_too_large, { message: `The body without content is larger than ${MAX_REST_BYTES} bytes.` })
    const copy = Buffer.from(bytes)
    rest.push(copy)
    if (place === places.string && depth === 1 && isName) name.push(copy)
  }

  function piece(bytes: Uint8Array): Uint8Array[] {
    const found: Uint8Array[] = []
    let at = 0
    while (at < bytes.byteLength) {
      if (place === places.content) at = inContent(bytes, at, found)
      else if (place === places.string) at = inString(bytes, at)
      else at = between(bytes, at)
    }
    return found
  }

  /** Reads a string that is not the content. Returns the position after its end, or the end of the chunk. */
  function inString(bytes: Uint8Array, from: number): number {
    for (let at = from; at < bytes.byteLength; at++) {
      if (isEscaped) isEscaped = false
      else if (bytes[at] === BACKSLASH) isEscaped = true
      else if (bytes[at] === QUOTE) {
        keep(bytes.subarray(from, at + 1))
        place = places.between
        return at + 1
      }
    }
    keep(bytes.subarray(from))
    return bytes.byteLength
  }

  function inContent(bytes: Uint8Array, from: number, found: Uint8Array[]): number {
    const end = content!.decode(bytes, from, found)
    if (end === undefined) return bytes.byteLength
    place = places.between
    return end
  }

  /** Reads the bytes between strings, up to and including the next quote. */
  function between(bytes: Uint8Array, from: number): number {
    for (let at = from; at < bytes.byteLength; at++) {
      const byte = bytes[at]
      if (byte !== QUOTE) {
        structure(byte)
        continue
      }
      const isContent = isObject && depth === 1 && !isName && isFirstOfValue && nameText() === CONTENT
      isFirstOfValue = false
      if (!isContent) {
        keep(bytes.subarray(from, at))
        if (depth === 1 && isName) name = []
        place = places.string
        keep(bytes.subarray(at, at + 1))
        return at + 1
      }
      if (hasContent) throw invalidRequest('body.content', 'is given twice')
      hasContent = true
      keep(bytes.subarray(from, at))
      keep(EMPTY_STRING)
      content = jsonEscapes()
      place = places.content
      return at + 1
    }
    keep(bytes.subarray(from))
    return bytes.byteLength
  }

  function structure(byte: number): void {
    if (byte <= SPACE) return
    if (depth === 1 && byte === COLON) {
      // Only the first colon after a name begins a value. If further colons counted, a long name would be parsed again
      // for each of them.
      isFirstOfValue = isName
      isName = false
      return
    }
    isFirstOfValue = false
    if (depth === 1 && byte === COMMA) {
      isName = true
      name = []
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      if (depth === 0) isObject = byte === OPEN_BRACE
      depth++
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) depth--
  }

  function nameText(): string | undefined {
    if (name.length === 0) return undefined
    try {
      return JSON.parse(Buffer.concat(name).toString()) as string
    } catch {
      return undefined
    }
  }

  return {
    piece,
    end() {
      if (place !== places.between) throw invalidJson('it ends within a string')
      const text = decodeUtf8(Buffer.concat(rest))
      if (text.trim() === '') throw invalidRequest('body', 'the body is empty')
      let fields: unknown
      try {
        fields = JSON.parse(text)
      } catch {
        // V8's own message is not used. It quotes the body, and its position does not match the body that the client
        // sent.
        throw invalidJson('a syntax error outside of content')
      }
      assertCleanText(fields)
      return { fields, hasContent }
    },
  }
}
