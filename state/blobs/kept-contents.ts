import { LRUCache } from 'lru-cache'
import type { BlobStore } from './blob-store.ts'
import type { BlobHash } from './shelf.ts'

/** Memory for the most recently read contents. */
const KEPT_BYTES = 67_108_864
/**
 * Maximum size of cached content. Longer content is read from the shelf each time, because a single long entry would
 * evict thousands of short entries that are read more often.
 */
const LONGEST_KEPT_BYTES = 65_536
/**
 * Memory per entry in addition to its content. It counts towards the size of the cache, so the number of tiny entries
 * is bounded too.
 */
const ENTRY_BYTES = 256

/**
 * Caches short contents after they have been read and verified. A blob never changes, so the next reader needs neither
 * the shelf nor another check. The cache may still contain a blob that a sweep has removed. This is harmless, because
 * nothing refers to such a blob.
 */
export function withKeptContents(store: BlobStore, keptBytes = KEPT_BYTES): BlobStore {
  const kept = new LRUCache<BlobHash, Buffer>({
    maxSize: keptBytes,
    maxEntrySize: LONGEST_KEPT_BYTES + ENTRY_BYTES,
    sizeCalculation: (content) => content.byteLength + ENTRY_BYTES,
  })

  async function* keeping(hash: BlobHash, pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
    let only: Buffer | undefined
    let count = 0
    for await (const piece of pieces) {
      if (count++ === 0 && piece.byteLength <= LONGEST_KEPT_BYTES) only = piece
      yield piece
    }
    // The content was read to its end, so its hash has been verified. The content is copied because the piece may be a
    // slice of a far larger buffer.
    if (count === 1 && only !== undefined) kept.set(hash, copyOf(only))
  }

  return {
    ...store,
    async open(hash) {
      const content = kept.get(hash)
      if (content !== undefined) return { content: () => onePiece(content), close: () => undefined }
      const blob = await store.open(hash)
      return blob && { content: () => keeping(hash, blob.content()), close: () => blob.close() }
    },
  }
}

async function* onePiece(content: Buffer): AsyncGenerator<Buffer, void, undefined> {
  yield content
}

function copyOf(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.byteLength)
  bytes.copy(copy)
  return copy
}
