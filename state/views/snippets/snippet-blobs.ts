import type { BlobReferences } from '../../../schemas/snippets/types.ts'
import { caughtUpKey, type View, type ViewOperation, viewTag } from '../view.ts'

/**
 * Which blobs snippets refer to. Fed by `snippet-blobs`, partitioned as it is.
 *
 * | key | value |
 * |---|---|
 * | `{snippet-blobs:<p>}:blob:<hash>` | how many snippets of the partition have it; gone: none |
 */
const SNIPPET_BLOBS_VIEW = 'snippet-blobs'

export const snippetBlobsView: View<string, BlobReferences> = { name: SNIPPET_BLOBS_VIEW, operationsFor }

function operationsFor(partition: number, hash: string, references: BlobReferences | null): ViewOperation[] {
  const key = blobKey(partition, hash)
  return references === null ? [{ op: 'del', key }] : [{ op: 'set', key, value: String(references.snippets) }]
}

/** What is asked of Redis. */
interface ExistenceReader {
  exists(key: string): Promise<number>
}

/**
 * Those of the hashes that a snippet of any partition refers to.
 * Throws when a partition is not caught up: what is absent from it may still come.
 */
export async function referencedBlobs(reader: ExistenceReader, partitions: number, hashes: readonly string[]): Promise<Set<string>> {
  const referenced = new Set<string>()
  for (let partition = 0; partition < partitions; partition++) {
    const found = await Promise.all(hashes.map((hash) => reader.exists(blobKey(partition, hash))))
    // Asked afterwards: a Redis that was emptied in between has no flag any more.
    if ((await reader.exists(caughtUpKey(SNIPPET_BLOBS_VIEW, partition))) === 0)
      throw new Error(`references of partition ${partition} are still being read`)
    for (const [index, count] of found.entries()) if (count > 0) referenced.add(hashes[index])
  }
  return referenced
}

function blobKey(partition: number, hash: string): string {
  return `${viewTag(SNIPPET_BLOBS_VIEW, partition)}:blob:${hash}`
}
