import type { BlobReferences, Snippet } from '../../schemas/snippets/types.ts'
import type { Context, KeyedStore, Topic } from '../engine/index.ts'
import { isGone } from './decide.ts'

/** Counts the snippets of a partition that refer to each blob, so that the sweep knows which blobs are in use. */
export function blobReferences(store: KeyedStore<string, BlobReferences>, topic: Topic<string, BlobReferences>) {
  function add(hash: string, by: number, ctx: Context): void {
    const snippets = (store.get(hash)?.snippets ?? 0) + by
    if (snippets > 0) store.put(hash, { snippets })
    else store.delete(hash)
    // The record is sent to the snippets' partition regardless of its key, because each partition reports its own
    // references.
    ctx.emit(topic, hash, snippets > 0 ? { snippets } : null, { partition: ctx.partition, timestamp: ctx.now })
  }

  return {
    follow(before: Snippet | undefined, after: Snippet, ctx: Context): void {
      const by = Number(wantsBlob(after)) - Number(before !== undefined && wantsBlob(before))
      // The new record of a deleted snippet no longer contains the hash of the content, so the old record is used.
      if (by !== 0) add(before?.content_hash ?? after.content_hash, by, ctx)
    },
  }
}

function wantsBlob(snippet: Snippet): boolean {
  return !isGone(snippet)
}
