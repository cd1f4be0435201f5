import { createHash } from 'node:crypto'

/** Length of a tag. With 128 bits of a SHA-256 hash, equal tags for different bodies are practically impossible. */
const ETAG_BYTES = 16

/** Creates a strong entity tag. Equal bytes get equal tags in every process. */
export function etagOf(body: string | Uint8Array): string {
  return `"${createHash('sha256').update(body).digest().subarray(0, ETAG_BYTES).toString('base64url')}"`
}
