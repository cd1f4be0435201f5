import { Readable } from 'node:stream'
import { type BlobStore, BlobsUnavailableError, type OpenBlob } from '../../state/blobs/blob-store.ts'
import type { SnippetRecord } from '../../state/views/snippets/snippets.ts'
import { ApiError, errors } from '../kit/errors.ts'
import type { Slot, Streams } from './streams.ts'

/**
 * Maximum size of content that is read completely before the response begins. If such content is damaged, the client
 * gets a 500. Longer content is streamed.
 */
export const WHOLE_BYTES = 65_536
/** How long a client may go without progress before it counts as disconnected and its slot is freed. */
const STALLED_MS = 60_000
const QUOTE = '"'

/** The content of a snippet. Small content is in memory, and longer content is a stream. */
export type StoredContent =
  | { readonly kind: 'whole'; readonly bytes: Buffer }
  | { readonly kind: 'streamed'; readonly pieces: AsyncIterable<Buffer> }

/** Turns a failure of the blob store into an ApiError with the code `unavailable`. */
export async function answeringBlobs<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    if (!(cause instanceof BlobsUnavailableError)) throw cause
    throw new ApiError(errors.unavailable, { message: 'The content store is not available. Try again shortly.', cause })
  }
}

/** Open content. Long content may lose its slot while it is being read. */
export interface OpenContent extends OpenBlob {
  /**
   * Aborted if the reader stalls, or if the reader is too slow while other requests wait; undefined for small content.
   */
  readonly cut?: AbortSignal
}

export interface Contents {
  readonly blobs: BlobStore
  /** Limits concurrent downloads of long content. */
  readonly outgoing: Streams
}

/**
 * Opens the content without reading it. For long content, first waits for a slot. The open content stays readable even
 * if it is deleted in the meantime. Throws ApiError `unavailable`. If the content is missing, throws another error,
 * because that is a bug.
 * @param address the reader's address. It identifies the reader when slots are assigned.
 */
export async function openContent(
  { blobs, outgoing }: Contents,
  { hash, id, bytes }: SnippetRecord,
  address: string,
): Promise<OpenContent> {
  const cut = new AbortController()
  const slot = bytes > WHOLE_BYTES ? await outgoing.take(address, () => cut.abort(cutOff('the reader was too slow'))) : undefined
  try {
    const blob = await answeringBlobs(() => blobs.open(hash))
    if (blob === undefined) throw new Error(`the content ${hash} of snippet ${id} is missing from the blob store`)
    return slot === undefined ? blob : inPlace(blob, slot, cut)
  } catch (error) {
    slot?.giveBack()
    throw error
  }
}

/**
 * Opens the content and checks it by reading it completely, so that damaged content does not use up a read. Long
 * content is then opened again. Throws the same errors as `openContent`, and BlobCorruptError if the content is
 * damaged.
 */
export async function openChecked(contents: Contents, snippet: SnippetRecord, address: string): Promise<OpenContent> {
  const blob = await openContent(contents, snippet, address)
  if (snippet.bytes <= WHOLE_BYTES) {
    const bytes = await wholeContent(blob)
    return { content: () => Readable.from([bytes]), close: blob.close }
  }
  await answeringBlobs(async () => {
    for await (const piece of blob.content()) void piece
  })
  return await openContent(contents, snippet, address)
}

/**
 * Creates an error for a response that is cut off. The HTTP adapter prints such errors. The error has no stack, because
 * the client caused it.
 */
function cutOff(message: string): Error {
  const error = new Error(message)
  error.stack = undefined
  return error
}

/**
 * Returns a blob that holds a slot. The slot is freed when the content has been read or closed, when its reader stalls,
 * or when another request gets the slot.
 */
function inPlace(blob: OpenBlob, slot: Slot, cut: AbortController): OpenContent {
  let timer: NodeJS.Timeout | undefined

  function close(): void {
    clearTimeout(timer)
    blob.close()
    slot.giveBack()
  }

  function cutUnlessTaken(): void {
    clearTimeout(timer)
    timer = setTimeout(() => cut.abort(cutOff('the reader stalled for too long')), STALLED_MS)
    timer.unref()
  }

  async function* content(): AsyncGenerator<Buffer, void, undefined> {
    try {
      for await (const piece of blob.content()) {
        cutUnlessTaken()
        slot.awaitClient()
        yield piece
        cut.signal.throwIfAborted()
        slot.moved(piece.byteLength)
      }
    } finally {
      close()
    }
  }

  cut.signal.addEventListener('abort', close)
  cutUnlessTaken()
  return { content, close, cut: cut.signal }
}

export async function readContent(blob: OpenBlob, { bytes }: SnippetRecord): Promise<StoredContent> {
  if (bytes > WHOLE_BYTES) return { kind: 'streamed', pieces: blob.content() }
  return { kind: 'whole', bytes: await wholeContent(blob) }
}

/** Reads the content to its end. Throws ApiError `unavailable`. */
export async function wholeContent(blob: OpenBlob): Promise<Buffer> {
  const pieces: Buffer[] = []
  await answeringBlobs(async () => {
    for await (const piece of blob.content()) pieces.push(piece)
  })
  return Buffer.concat(pieces)
}

/** Yields the JSON of an object in chunks, with the content as its last field. */
export async function* jsonWithContent(fields: object, pieces: AsyncIterable<Buffer>): AsyncGenerator<Uint8Array, void, undefined> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  yield Buffer.from(`${JSON.stringify(fields).slice(0, -1)},"content":${QUOTE}`)
  for await (const piece of pieces) yield Buffer.from(escaped(decoder.decode(piece, { stream: true })))
  yield Buffer.from(`${escaped(decoder.decode())}${QUOTE}}`)
}

function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}
