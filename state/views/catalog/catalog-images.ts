import { catalogImages } from '../../../schemas/catalog/documents/topics.ts'
import type { ImageReferences } from '../../../schemas/catalog/types.ts'
import { completeAtField, positionsKey } from '../apply.ts'
import { caughtUpKey, type View, viewTag } from '../view.ts'

/**
 * Images that products refer to. Fed by `catalog-images` and partitioned like it, by product.
 *
 * | key | value |
 * |---|---|
 * | `{catalog-images:<p>}:image:<hash>` | number of products in the partition that have the image; no key: none |
 */
const CATALOG_IMAGES_VIEW = 'catalog-images'

export const catalogImagesView: View<string, ImageReferences> = {
  name: CATALOG_IMAGES_VIEW,
  operationsFor(partition, hash, references) {
    const key = imageKey(partition, hash)
    return references === null ? [{ op: 'del', key }] : [{ op: 'set', key, value: String(references.products) }]
  },
}

/** The Redis commands that this lookup needs. */
interface ReferenceReader {
  exists(key: string): Promise<number>
  hget(key: string, field: string): Promise<string | null>
}

export interface ImageQuery {
  /** Number of the topic's partitions. */
  readonly partitions: number
  readonly hashes: readonly string[]
  /** Epoch ms. The view must contain all references that were written to its topic before this time. */
  readonly writtenBefore: number
}

/**
 * Returns those of the given images that a product in any partition references.
 * @throws Error when a partition may still lack a reference, because the view has not caught up or lags behind
 */
export async function referencedImages(reader: ReferenceReader, { partitions, hashes, writtenBefore }: ImageQuery): Promise<Set<string>> {
  const referenced = new Set<string>()
  for (let partition = 0; partition < partitions; partition++) {
    // The caught-up flag, which is checked below, stays set while the sink lags behind, so the time is checked too. The
    // time is read before the keys, so the keys are at least as recent.
    const completeAt = await reader.hget(positionsKey(CATALOG_IMAGES_VIEW, partition), completeAtField(catalogImages.name))
    if (Number(completeAt) < writtenBefore) throw new Error(`the images of partition ${partition} are not up to date`)
    const found = await Promise.all(hashes.map((hash) => reader.exists(imageKey(partition, hash))))
    // The flag is read after the keys: if keys are missing because Redis was emptied, the flag is missing too.
    if ((await reader.exists(caughtUpKey(CATALOG_IMAGES_VIEW, partition))) === 0)
      throw new Error(`the images of partition ${partition} have not caught up yet`)
    for (const [index, count] of found.entries()) if (count > 0) referenced.add(hashes[index])
  }
  return referenced
}

function imageKey(partition: number, hash: string): string {
  return `${viewTag(CATALOG_IMAGES_VIEW, partition)}:image:${hash}`
}
