import { type BlobDraft, openDraft } from './draft.ts'
import { removeOldDrafts } from './folder.ts'
import { readBlob } from './read.ts'
import type { BlobHash, BlobShelf } from './shelf.ts'

/** A blob that is open: it can be read to its end even when it is removed meanwhile. */
export interface OpenBlob {
  /**
   * The content, in pieces, once. Throws BlobCorruptError in place of the last piece when the content does not have its hash;
   * a blob that fits into one piece is therefore checked before anything of it is seen.
   */
  content(): AsyncIterable<Buffer>
  /** Gives back what it holds; reading it to its end does so too. */
  close(): void
}

/** Content by its hash, compressed. Memory per blob being written or read is bounded, whatever its size. */
export interface BlobStore {
  /** A new blob, taken in pieces; nothing can be read of it before it is kept. */
  draft(): BlobDraft
  /** Stores the draft, or touches the blob that has this content already. Durable when it resolves. */
  keep(draft: BlobDraft): Promise<KeptBlob>
  open(hash: BlobHash): Promise<OpenBlob | undefined>
  /** Keeps the blob from being swept for UNTOUCHED_MS, whether or not something refers to it. @returns false: it is not here */
  touch(hash: BlobHash): Promise<boolean>
  /** Deletes drafts of this store that were last written before (epoch ms): their writers are gone. @returns how many */
  removeOldDrafts(before: number): Promise<number>
  readonly shelf: BlobShelf
}

export interface KeptBlob {
  readonly hash: BlobHash
  readonly bytes: number
}

/** The blob store does not answer: trying again may help. */
export class BlobsUnavailableError extends Error {
  override readonly name = 'BlobsUnavailableError'
}

export interface BlobStoreOptions {
  readonly shelf: BlobShelf
  /** A local folder for drafts that outgrow memory. */
  readonly draftFolder: string
}

/** Blobs that nothing refers to are removed when nobody has touched them for so long: far longer than any command takes. */
export const UNTOUCHED_MS = 86_400_000
/** A sweep may have moved a blob aside for a moment, to look whether it was touched. */
const REOPEN_AFTER_MS = 50

export function blobStore({ shelf, draftFolder }: BlobStoreOptions): BlobStore {
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

  /** Puts the blob again: not every shelf can touch what has lain there for long. */
  async function renew(hash: BlobHash): Promise<boolean> {
    const blob = await open(hash)
    if (blob === undefined) return false
    const draft = openDraft(draftFolder)
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
    draft: () => openDraft(draftFolder),
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
