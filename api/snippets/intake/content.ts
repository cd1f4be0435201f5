import type { BlobDraft } from '../../../state/blobs/draft.ts'
import { ApiError, errors } from '../../kit/errors.ts'
import { refuseNul } from './utf8.ts'

/** 10 x 1024 x 1024 bytes of UTF-8: docs/services/snippets.md#content */
export const MAX_CONTENT_BYTES = 10_485_760
/** What the language is guessed from. */
const HEAD_BYTES = 32_768

/** Where the content of a snippet goes while it is being read. */
export interface ContentSink {
  /** Throws ApiError: `content_too_large`, `invalid_encoding`. Resolves when more may come. */
  write(bytes: Uint8Array): Promise<void>
  readonly bytes: number
  /** Its beginning as text. */
  head(): string
}

/** @param draft takes what has passed */
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
      // The cut may go through a character: a streaming decoder leaves its first half out.
      return new TextDecoder().decode(Buffer.concat(head), { stream: true })
    },
  }
}
