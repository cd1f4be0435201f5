import { snippetBlobs } from '../../../schemas/snippets/topics.ts'
import type { BlobReferences } from '../../../schemas/snippets/types.ts'
import type { ReferenceView } from '../references.ts'
import { type View, type ViewContext, type ViewOperation, viewTag } from '../view.ts'

/**
 * Reference counts of blobs. Fed by `snippet-blobs` and partitioned like it.
 *
 * | key | value |
 * |---|---|
 * | `{snippet-blobs:<p>}:blob:<hash>` | number of snippets in the partition that refer to the blob; no key means none |
 * | `{snippet-blobs:<p>}:unreferenced` | sorted set: hashes that lost their last reference in the partition, by time |
 */
const SNIPPET_BLOBS_VIEW = 'snippet-blobs'

export const snippetBlobsView: View<string, BlobReferences> = { name: SNIPPET_BLOBS_VIEW, operationsFor }

function operationsFor(partition: number, hash: string, references: BlobReferences | null, context?: ViewContext): ViewOperation[] {
  const key = blobKey(partition, hash)
  if (references !== null) return [{ op: 'set', key, value: String(references.snippets) }]
  // A record whose key is not a hash is about no blob. Such records only make the broker close a segment.
  if (!HASH.test(hash)) return [{ op: 'del', key }]
  return [
    { op: 'del', key },
    { op: 'zadd', key: unreferencedKey(partition), score: context?.now ?? 0, member: hash },
  ]
}

/** The Redis commands that sweeps need. */
interface UnreferencedReader {
  /** Returns members and scores, alternating, by ascending score. */
  zrange(key: string, start: number, stop: number): Promise<string[]>
  zrem(key: string, member: string): Promise<number>
}

interface UnreferencedBlob {
  readonly hash: string
  /** Epoch ms. */
  readonly since: number
}

/** Maximum number of blobs per sweep and partition. The blobs that lost their references first are checked first. */
const UNREFERENCED_PER_SWEEP = 5_000
const HASH = /^[0-9a-f]{64}$/

/**
 * Returns blobs that lost their last reference in the partition, at most `UNREFERENCED_PER_SWEEP`. Snippets in other
 * partitions, or newer ones in this partition, may refer to them.
 */
export async function unreferencedBlobs(reader: UnreferencedReader, partition: number): Promise<UnreferencedBlob[]> {
  const flat = await reader.zrange(unreferencedKey(partition), 0, UNREFERENCED_PER_SWEEP - 1)
  const found = Array.from({ length: flat.length / 2 }, (_, index) => ({ hash: flat[2 * index], since: Number(flat[2 * index + 1]) }))
  return found.filter(({ hash }) => HASH.test(hash))
}

export async function forgetUnreferenced(reader: UnreferencedReader, partition: number, hash: string): Promise<void> {
  await reader.zrem(unreferencedKey(partition), hash)
}

/** The view in which the sweep of blobs looks up whether a blob is referenced. */
export const blobReferences: ReferenceView = {
  view: SNIPPET_BLOBS_VIEW,
  topic: snippetBlobs.name,
  what: 'references',
  keyOf: blobKey,
}

function unreferencedKey(partition: number): string {
  return `${viewTag(SNIPPET_BLOBS_VIEW, partition)}:unreferenced`
}

function blobKey(partition: number, hash: string): string {
  return `${viewTag(SNIPPET_BLOBS_VIEW, partition)}:blob:${hash}`
}
