import { type BlobStore, BlobsUnavailableError, type OpenBlob } from '../../state/blobs/blob-store.ts'
import type { SnippetRecord } from '../../state/views/snippets/snippets.ts'
import { ApiError, errors } from '../kit/errors.ts'
import type { Streams } from './streams.ts'

/** Up to this size content is read before the answer begins, so that a damaged blob is a 500 and not a broken answer; longer content streams. */
export const WHOLE_BYTES = 65_536
/** A reader that takes nothing for so long has gone; its place is somebody else's. */
const STALLED_MS = 60_000
const QUOTE = '"'

/** The content of a snippet: small ones whole, others as they are read. */
export type StoredContent =
  | { readonly kind: 'whole'; readonly bytes: Buffer }
  | { readonly kind: 'streamed'; readonly pieces: AsyncIterable<Buffer> }

/** Failures of the blob store as answers of the catalogue. */
export async function answeringBlobs<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    if (!(cause instanceof BlobsUnavailableError)) throw cause
    throw new ApiError(errors.unavailable, { message: 'The content store does not answer: try again shortly.', cause })
  }
}

export interface Contents {
  readonly blobs: BlobStore
  /** Contents on their way out. */
  readonly outgoing: Streams
}

/**
 * Opens the content without reading it; it can then be read even when it is removed meanwhile. Long content waits for a place first. Throws
 * ApiError `unavailable`; another error when the content is not there: a fault.
 */
export async function openContent({ blobs, outgoing }: Contents, { hash, id, bytes }: SnippetRecord): Promise<OpenBlob> {
  const giveBack = bytes > WHOLE_BYTES ? await outgoing.take() : undefined
  try {
    const blob = await answeringBlobs(() => blobs.open(hash))
    if (blob === undefined) throw new Error(`the content ${hash} of snippet ${id} is missing from the blob store`)
    return giveBack === undefined ? blob : inPlace(blob, giveBack)
  } catch (error) {
    giveBack?.()
    throw error
  }
}

/** Gives the place back when the content was read to its end, is closed, or nobody takes what was read. */
function inPlace(blob: OpenBlob, giveBack: () => void): OpenBlob {
  let timer: NodeJS.Timeout | undefined
  let isClosed = false

  function close(): void {
    isClosed = true
    clearTimeout(timer)
    blob.close()
    giveBack()
  }

  function closeUnlessTaken(): void {
    clearTimeout(timer)
    timer = setTimeout(close, STALLED_MS)
    timer.unref()
  }

  async function* content(): AsyncGenerator<Buffer, void, undefined> {
    try {
      for await (const piece of blob.content()) {
        closeUnlessTaken()
        yield piece
        if (isClosed) throw new Error('the reader took nothing for too long')
      }
    } finally {
      close()
    }
  }

  closeUnlessTaken()
  return { content, close }
}

export async function readContent(blob: OpenBlob, { bytes }: SnippetRecord): Promise<StoredContent> {
  if (bytes > WHOLE_BYTES) return { kind: 'streamed', pieces: blob.content() }
  return { kind: 'whole', bytes: await wholeContent(blob) }
}

export async function wholeContent(blob: OpenBlob): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of blob.content()) pieces.push(piece)
  return Buffer.concat(pieces)
}

/** An object as JSON with the content as its last field, in pieces. */
export async function* jsonWithContent(fields: object, pieces: AsyncIterable<Buffer>): AsyncGenerator<Uint8Array, void, undefined> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  yield Buffer.from(`${JSON.stringify(fields).slice(0, -1)},"content":${QUOTE}`)
  for await (const piece of pieces) yield Buffer.from(escaped(decoder.decode(piece, { stream: true })))
  yield Buffer.from(`${escaped(decoder.decode())}${QUOTE}}`)
}

function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}
