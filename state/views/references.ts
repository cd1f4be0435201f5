import { completeAtField, positionsKey } from './apply.ts'
import { caughtUpKey } from './view.ts'

/** The Redis commands that a lookup of references needs. */
interface ReferenceReader {
  exists(key: string): Promise<number>
  hget(key: string, field: string): Promise<string | null>
}

/** A view that has a key for each blob that is referenced, and no key for blobs without references. */
export interface ReferenceView {
  readonly view: string
  /** Name of the topic that feeds the view. */
  readonly topic: string
  /** What the view contains, in error messages. */
  readonly what: string
  keyOf(partition: number, hash: string): string
}

export interface ReferenceQuery {
  /** Number of the topic's partitions. */
  readonly partitions: number
  readonly hashes: readonly string[]
  /** Epoch ms. The view must contain all references that were made before this time. */
  readonly madeBefore: number
}

/**
 * Returns those of the given hashes that are referenced in any partition.
 * @throws Error when a partition may still lack a reference, because the view has not caught up or lags behind
 */
export async function referencedIn(
  { view, topic, what, keyOf }: ReferenceView,
  reader: ReferenceReader,
  { partitions, hashes, madeBefore }: ReferenceQuery,
): Promise<Set<string>> {
  const referenced = new Set<string>()
  for (let partition = 0; partition < partitions; partition++) {
    // The caught-up flag, which is checked below, stays set while the sink lags behind, so the time is checked too. The
    // time is read before the keys, so the keys are at least as recent.
    const completeAt = await reader.hget(positionsKey(view, partition), completeAtField(topic))
    if (Number(completeAt) < madeBefore) throw new Error(`the ${what} of partition ${partition} are not up to date`)
    const found = await Promise.all(hashes.map((hash) => reader.exists(keyOf(partition, hash))))
    // The flag is read after the keys: if keys are missing because Redis was emptied, the flag is missing too.
    if ((await reader.exists(caughtUpKey(view, partition))) === 0)
      throw new Error(`the ${what} of partition ${partition} have not caught up yet`)
    for (const [index, count] of found.entries()) if (count > 0) referenced.add(hashes[index])
  }
  return referenced
}
