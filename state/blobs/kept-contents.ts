import { LRUCache } from 'lru-cache'
import type { BlobStore } from './blob-store.ts'
import type { BlobHash } from './shelf.ts'

/** Of memory, for the contents that were read last. */
const KEPT_BYTES = 67_108_864
/** Longer content is read from the shelf each time: one of the longest would push out thousands that are read more often. */
const LONGEST_KEPT_BYTES = 65_536
/** What an entry takes beside its content, so that many tiny ones are bounded, too. */
const ENTRY_BYTES = 256

/**
 * A store that remembers short contents after they were read and checked: a blob never changes, so the next reader needs neither the disk nor
 * a check. What a sweep has removed may still be found here; nobody refers to it.
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
    // Read to its end, so it has its hash. Copied, because a piece may be the beginning of a far larger buffer.
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
