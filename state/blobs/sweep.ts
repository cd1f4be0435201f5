import type { BlobStore } from './blob-store.ts'
import type { BlobHash, ShelvedBlob } from './shelf.ts'

export interface SweepOptions {
  readonly blobs: BlobStore
  /**
   * Returns those of the given blobs that are still referenced. Must throw if the references cannot be read, so that
   * the sweep removes none of these blobs.
   */
  referenced(hashes: readonly BlobHash[]): Promise<ReadonlySet<BlobHash>>
  /**
   * A blob may be removed only if its last touch was before this time (epoch ms). Later touches protect a blob, because
   * a reference to it may not have been written yet.
   */
  readonly before: number
  readonly signal: AbortSignal
}

export interface Sweep {
  readonly seen: number
  readonly removed: number
  /** Number of drafts that were removed because killed writers had left them behind. */
  readonly drafts: number
}

/** Number of blobs per call of `referenced`. */
const BATCH = 500

/** Removes unreferenced blobs that were last touched before `before`, and drafts that were last written before it. */
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
