import type { BlobDraft } from '../../../state/blobs/draft.ts'
import { ApiError, errors } from '../../kit/errors.ts'
import { refuseNul } from './utf8.ts'

/** Maximum size of content, in bytes of UTF-8: docs/services/snippets.md#content */
export const MAX_CONTENT_BYTES = 10_485_760
/** Number of bytes at the beginning of the content that are kept in memory. They are enough to detect the language. */
const HEAD_BYTES = 32_768

/** Receives the content of a snippet chunk by chunk. */
export interface ContentSink {
  /**
   * Writes a chunk. Resolves when the sink is ready for the next chunk. Throws ApiError `content_too_large` or
   * `invalid_encoding`, and the errors of the draft.
   */
  write(bytes: Uint8Array): Promise<void>
  readonly bytes: number
  /** Returns the beginning of the content as text. */
  head(): string
}

/**
 * Creates a sink that validates content and writes it to a draft.
 * @param draft receives the validated content
 */
export function contentSink(draft: BlobDraft): ContentSink {
  const head: Uint8Array[] = []
  let headBytes = 0
  return {
    async write(bytes) {
      if (draft.bytes + bytes.byteLength > MAX_CONTENT_BYTES)
        throw new ApiError(errors.content_too_large, { message: `The content is larger than ${MAX_CONTENT_BYTES} bytes.` })
      refuseNul(bytes)
      if (headBytes < HEAD_BYTES) {
        const piece = Buffer.from(bytes.subarray(0, HEAD_BYTES - headBytes))
        head.push(piece)
        headBytes += piece.byteLength
      }
      await draft.write(bytes)
    },
    get bytes() {
      return draft.bytes
    },
    head() {
      // If the cut splits a character, the streaming decoder omits the incomplete part.
      return new TextDecoder().decode(Buffer.concat(head), { stream: true })
    },
  }
}
