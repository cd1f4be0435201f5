import type { ImageReferences } from '../../../schemas/catalog/types.ts'
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

/** The Redis command that this lookup needs. */
interface ExistenceReader {
  exists(key: string): Promise<number>
}

/**
 * Returns those of the given images that a product in any partition references.
 * @throws Error when a partition has not caught up, because it may still lack a reference
 */
export async function referencedImages(reader: ExistenceReader, partitions: number, hashes: readonly string[]): Promise<Set<string>> {
  const referenced = new Set<string>()
  for (let partition = 0; partition < partitions; partition++) {
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
