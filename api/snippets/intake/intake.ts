import type { BlobStore } from '../../../state/blobs/blob-store.ts'
import type { BlobDraft } from '../../../state/blobs/draft.ts'
import { ApiError, errors, invalidRequest } from '../../kit/errors.ts'
import { boundaryOf, type MultipartHandler, readMultipart } from '../../kit/multipart.ts'
import { decodeUtf8 } from '../../kit/text.ts'
import { snippetErrors } from '../errors.ts'
import { WHOLE_BYTES } from '../stored-content.ts'
import type { Slot, Streams } from '../streams.ts'
import { type ContentSink, contentSink } from './content.ts'
import { jsonContentReader } from './json-content.ts'
import { refuseNul, utf8Check } from './utf8.ts'

/** A complete body with valid content. The content is a draft, which the caller must keep or discard. */
export interface TakenBody {
  readonly draft: BlobDraft
  readonly content: ContentSink
  /** The fields of the body, apart from the content. The fields of a form are all strings. */
  readonly fields: Readonly<Record<string, unknown>>
}

export interface SnippetBody {
  readonly contentType: string | undefined
  readonly pieces: AsyncIterable<Uint8Array>
  /** The sender's address. It identifies the sender when slots are assigned. */
  readonly address: string
}

export interface IntakeDeps {
  readonly blobs: BlobStore
  /** Limits concurrent uploads of long content. */
  readonly incoming: Streams
}

/** Maximum size of a form field other than the content. It is small, because all options are short. */
const MAX_FIELD_BYTES = 4_096
/** Maximum number of parts of a form. No form needs this many, because no field may be given twice. */
const MAX_PARTS = 32
const JSON_TYPE = /^application\/(?:[a-z0-9!#$&^_.+-]+\+)?json$/
/** Media types of bodies that consist only of the content. The second type is the default of `curl --data-binary`. */
const TEXT_TYPES = new Set(['text/plain', 'application/x-www-form-urlencoded'])
const BODY_TYPES = ['application/json', 'text/plain', 'multipart/form-data'] as const

/**
 * Reads a snippet from a body, which may be JSON, plain text or a form. Writes the content to the draft as it arrives,
 * so the memory use does not depend on the size of the content. On failure, discards the draft and throws ApiError:
 * `unsupported_media_type`, `content_too_large`, `invalid_encoding`, `invalid_content`, `invalid_request`,
 * `request_timeout`, `unavailable`.
 */
export async function takeBody(body: SnippetBody, { blobs, incoming }: IntakeDeps): Promise<TakenBody> {
  const draft = inPlace(blobs.draft(), body.address, incoming)
  try {
    const content = contentSink(draft)
    const fields = await readFields(body, content)
    if (content.bytes === 0) throw new ApiError(snippetErrors.invalid_content)
    return { draft, content, fields }
  } catch (error) {
    await draft.discard()
    throw error
  }
}

/**
 * Returns a draft that accepts up to WHOLE_BYTES of content immediately, and waits for a slot before it accepts more.
 * If the draft loses its slot to another request, it is deleted at once, and the sender gets `request_timeout`.
 */
function inPlace(draft: BlobDraft, address: string, incoming: Streams): BlobDraft {
  let slot: Slot | undefined
  let isCut = false

  function giveWay(): void {
    isCut = true
    // Ignores an error here, because it is reported when the draft is discarded again after the end of the body.
    draft.discard().catch(() => undefined)
  }

  function assertNotCut(): void {
    if (isCut) throw new ApiError(errors.request_timeout)
  }

  return {
    async write(piece) {
      slot?.moved(piece.byteLength)
      if (draft.bytes + piece.byteLength > WHOLE_BYTES) slot ??= await incoming.take(address, giveWay)
      assertNotCut()
      try {
        await draft.write(piece)
      } finally {
        assertNotCut()
      }
      slot?.awaitClient()
    },
    get bytes() {
      return draft.bytes
    },
    async finish() {
      slot?.moved(0)
      assertNotCut()
      return await draft.finish()
    },
    packed: draft.packed,
    async discard() {
      try {
        await draft.discard()
      } finally {
        slot?.giveBack()
      }
    },
  }
}

function readFields({ contentType, pieces }: SnippetBody, content: ContentSink): Promise<Record<string, unknown>> {
  const type = mediaType(contentType)
  if (JSON_TYPE.test(type)) return fromJson(pieces, content)
  if (TEXT_TYPES.has(type)) return fromText(pieces, content)
  if (type === 'multipart/form-data') return fromForm(pieces, contentType!, content)
  throw new ApiError(errors.unsupported_media_type, { message: `Send one of ${BODY_TYPES.join(', ')} in UTF-8.` })
}

/** Returns the media type of a body; empty if its charset is not UTF-8. */
function mediaType(contentType: string | undefined): string {
  const [type, ...parameters] = (contentType ?? '').toLowerCase().split(';')
  const charset = parameters.map((parameter) => parameter.trim()).find((parameter) => parameter.startsWith('charset='))
  return charset === undefined || /^charset="?utf-?8"?$/.test(charset) ? type.trim() : ''
}

async function fromText(pieces: AsyncIterable<Uint8Array>, content: ContentSink): Promise<Record<string, unknown>> {
  const check = utf8Check()
  for await (const piece of pieces) {
    check.piece(piece)
    await content.write(piece)
  }
  check.end()
  return {}
}

async function fromJson(pieces: AsyncIterable<Uint8Array>, content: ContentSink): Promise<Record<string, unknown>> {
  const check = utf8Check()
  const reader = jsonContentReader()
  for await (const piece of pieces) {
    check.piece(piece)
    for (const bytes of reader.piece(piece)) await content.write(bytes)
  }
  check.end()
  const { fields, hasContent } = reader.end()
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) throw invalidRequest('body', 'must be an object')
  const { content: placeholder, ...others } = fields as Record<string, unknown>
  if (!hasContent || placeholder !== '') throw contentMissing()
  return others
}

async function fromForm(pieces: AsyncIterable<Uint8Array>, contentType: string, content: ContentSink): Promise<Record<string, unknown>> {
  const check = utf8Check()
  const fields = new Map<string, Buffer[]>()
  let current = ''
  let hasContent = false
  const handler: MultipartHandler = {
    part({ name }) {
      current = name
      const isSecond = name === 'content' ? hasContent : fields.has(name)
      if (isSecond) throw invalidRequest(`body.${name}`, 'is given twice')
      if (name === 'content') hasContent = true
      else fields.set(name, [])
    },
    async data(bytes) {
      if (current !== 'content') return takeField(fields, current, bytes)
      check.piece(bytes)
      await content.write(bytes)
    },
  }
  await readMultipart(pieces, { boundary: boundaryOf(contentType), maxParts: MAX_PARTS }, handler)
  check.end()
  if (!hasContent) throw contentMissing()
  const texts = [...fields].map(([name, value]) => [name, decodeUtf8(Buffer.concat(value))] as const)
  // Leaves out empty fields, because browsers also send the fields that the user has not filled in.
  return Object.fromEntries(texts.filter(([, text]) => text !== ''))
}

function takeField(fields: Map<string, Buffer[]>, name: string, bytes: Uint8Array): void {
  refuseNul(bytes)
  const field = fields.get(name)!
  field.push(Buffer.from(bytes))
  if (field.reduce((sum, piece) => sum + piece.byteLength, 0) > MAX_FIELD_BYTES)
    throw invalidRequest(`body.${name}`, `must not be longer than ${MAX_FIELD_BYTES} bytes`)
}

function contentMissing(): ApiError {
  return invalidRequest('body.content', 'is missing, or is not a string')
}
