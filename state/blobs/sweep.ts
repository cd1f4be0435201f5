import type { BlobStore } from './blob-store.ts'
import type { BlobHash, ShelvedBlob } from './shelf.ts'

export interface SweepOptions {
  readonly blobs: BlobStore
  /** Those of the given blobs that something refers to. Throws when that cannot be told: then nothing is removed. */
  referenced(hashes: readonly BlobHash[]): Promise<ReadonlySet<BlobHash>>
  /** Epoch ms. Blobs that were touched later stay: what will refer to them may be on its way. */
  readonly before: number
  readonly signal: AbortSignal
}

export interface Sweep {
  readonly seen: number
  readonly removed: number
  /** Of writers that were killed. */
  readonly drafts: number
}

/** Blobs that are asked about together. */
const BATCH = 500

/** Removes blobs that nothing refers to and that nobody has touched since `before`, and drafts that nobody has written to since then. */
export async function sweepBlobs({ blobs, referenced, before, signal }: SweepOptions): Promise<Sweep> {
  let seen = 0
  let removed = 0
  let old: ShelvedBlob[] = []

  async function removeOrphans(): Promise<void> {
    const kept = await referenced(old.map(({ hash }) => hash))
    for (const { hash } of old) {
      if (!kept.has(hash) && (await blobs.shelf.removeUntouched(hash, before))) removed++
    }
    old = []
  }

  for await (const blob of blobs.shelf.list()) {
    if (signal.aborted) break
    seen++
    if (blob.touchedAt < before) old.push(blob)
    if (old.length >= BATCH) await removeOrphans()
  }
  if (old.length > 0 && !signal.aborted) await removeOrphans()
  return { seen, removed, drafts: await blobs.removeOldDrafts(before) }
}
