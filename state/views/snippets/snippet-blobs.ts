import type { BlobReferences } from '../../../schemas/snippets/types.ts'
import { caughtUpKey, type View, type ViewOperation, viewTag } from '../view.ts'

/**
 * Reference counts of blobs. Fed by `snippet-blobs` and partitioned like it.
 *
 * | key | value |
 * |---|---|
 * | `{snippet-blobs:<p>}:blob:<hash>` | number of snippets in the partition that refer to the blob; no key means none |
 */
const SNIPPET_BLOBS_VIEW = 'snippet-blobs'

export const snippetBlobsView: View<string, BlobReferences> = { name: SNIPPET_BLOBS_VIEW, operationsFor }

function operationsFor(partition: number, hash: string, references: BlobReferences | null): ViewOperation[] {
  const key = blobKey(partition, hash)
  return references === null ? [{ op: 'del', key }] : [{ op: 'set', key, value: String(references.snippets) }]
}

/** The Redis command that this lookup needs. */
interface ExistenceReader {
  exists(key: string): Promise<number>
}

/**
 * Returns the hashes that a snippet of any partition refers to.
 * @throws Error when a partition has not caught up, because a reference may still be missing from it
 */
export async function referencedBlobs(reader: ExistenceReader, partitions: number, hashes: readonly string[]): Promise<Set<string>> {
  const referenced = new Set<string>()
  for (let partition = 0; partition < partitions; partition++) {
    const found = await Promise.all(hashes.map((hash) => reader.exists(blobKey(partition, hash))))
    // The flag is read after the keys: if Redis was emptied in between, the flag is gone as well.
    if ((await reader.exists(caughtUpKey(SNIPPET_BLOBS_VIEW, partition))) === 0)
      throw new Error(`the references of partition ${partition} have not caught up yet`)
    for (const [index, count] of found.entries()) if (count > 0) referenced.add(hashes[index])
  }
  return referenced
}

function blobKey(partition: number, hash: string): string {
  return `${viewTag(SNIPPET_BLOBS_VIEW, partition)}:blob:${hash}`
}
