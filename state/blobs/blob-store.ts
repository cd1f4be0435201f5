import { erasureTimes } from '../erasure.ts'
import { type BlobDraft, type DraftOptions, openDraft } from './draft.ts'
import { removeOldDrafts } from './folder.ts'
import { readBlob } from './read.ts'
import type { BlobHash, BlobShelf } from './shelf.ts'

/** An open blob. It can be read to its end even if a sweep removes it in the meantime. */
export interface OpenBlob {
  /**
   * Returns the content in pieces. The content can be read only once. If the content does not match its hash,
   * BlobCorruptError is thrown in place of the last piece. A blob that fits into one piece is therefore checked before
   * any of it is returned.
   */
  content(): AsyncIterable<Buffer>
  /** Releases the underlying file or connection. Not needed if the content was read to its end. */
  close(): void
}

/**
 * Stores content under its hash, compressed or uncompressed. A blob that is being written or read takes a bounded
 * amount of memory, regardless of its size.
 */
export interface BlobStore {
  /** Starts a new blob, which is written in pieces. None of it can be read until `keep` resolves. */
  draft(): BlobDraft
  /**
   * Stores the draft, or touches the blob if this content is already stored. The blob is durable once the promise
   * resolves.
   */
  keep(draft: BlobDraft): Promise<KeptBlob>
  open(hash: BlobHash): Promise<OpenBlob | undefined>
  /**
   * Protects the blob from sweeps for at least `ErasureTimes.repeatableMs`, even if nothing refers to it.
   * @returns false when the blob is not stored
   */
  touch(hash: BlobHash): Promise<boolean>
  /**
   * Deletes drafts of this store that were last written before this time (epoch ms). Killed writers leave such drafts
   * behind.
   * @returns how many drafts were deleted
   */
  removeOldDrafts(before: number): Promise<number>
  readonly shelf: BlobShelf
}

export interface KeptBlob {
  readonly hash: BlobHash
  readonly bytes: number
}

/**
 * Thrown when a request to the bucket fails, when the disk is full, or when a file of a version is not stored (see
 * state/versions). A retry may help.
 */
export class BlobsUnavailableError extends Error {
  override readonly name = 'BlobsUnavailableError'
}

export interface BlobStoreOptions extends Partial<DraftOptions> {
  readonly shelf: BlobShelf
  /** A local folder for drafts that are too large for memory. */
  readonly draftFolder: string
}

/** The default of `ErasureTimes.untouchedMs`. By default, deleted data is erased within an hour. */
export const UNTOUCHED_MS = erasureTimes(3_600_000).untouchedMs
/**
 * Pause before a second attempt to open a blob. The first attempt may fail because a sweep has moved the blob aside
 * briefly to check whether it was touched.
 */
const REOPEN_AFTER_MS = 50

/** Error codes of a full disk and of an exhausted disk quota. */
const FULL: ReadonlySet<string | undefined> = new Set(['ENOSPC', 'EDQUOT'])

async function unlessFull<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!FULL.has((error as NodeJS.ErrnoException).code)) throw error
    throw new BlobsUnavailableError(`the disk is full: ${(error as Error).message}`, { cause: error })
  }
}

/** Creates a store that compresses its blobs unless `compresses` is false. */
export function blobStore({ shelf: storage, draftFolder, compresses = true }: BlobStoreOptions): BlobStore {
  const shelf: BlobShelf = { ...storage, put: (hash, blob) => unlessFull(storage.put(hash, blob)) }

  function newDraft(): BlobDraft {
    const draft = openDraft(draftFolder, { compresses })
    return {
      write: (piece) => unlessFull(draft.write(piece)),
      get bytes() {
        return draft.bytes
      },
      finish: () => unlessFull(draft.finish()),
      packed: draft.packed,
      discard: draft.discard,
    }
  }

  async function open(hash: BlobHash): Promise<OpenBlob | undefined> {
    let packed = await shelf.open(hash)
    if (packed === undefined) {
      await new Promise((resolve) => setTimeout(resolve, REOPEN_AFTER_MS))
      packed = await shelf.open(hash)
    }
    if (packed === undefined) return undefined
    const opened = packed
    return { content: () => readBlob(hash, opened), close: () => void (Buffer.isBuffer(opened) || opened.destroy()) }
  }

  /** Stores the blob again to renew the time of its last touch, because not every shelf can touch an old object. */
  async function renew(hash: BlobHash): Promise<boolean> {
    const blob = await open(hash)
    if (blob === undefined) return false
    const draft = newDraft()
    try {
      for await (const piece of blob.content()) await draft.write(piece)
      await draft.finish()
      await shelf.put(hash, draft.packed())
    } finally {
      await draft.discard()
    }
    return true
  }

  return {
    shelf,
    open,
    touch: async (hash) => (await shelf.touch(hash)) || (await renew(hash)),
    removeOldDrafts: (before) => removeOldDrafts(draftFolder, before),
    draft: newDraft,
    async keep(draft) {
      const { hash, bytes } = await draft.finish()
      try {
        if (!(await shelf.touch(hash))) await shelf.put(hash, draft.packed())
      } finally {
        await draft.discard()
      }
      return { hash, bytes }
    },
  }
}
