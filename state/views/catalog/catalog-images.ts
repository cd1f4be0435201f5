import { catalogImages } from '../../../schemas/catalog/documents/topics.ts'
import type { ImageReferences } from '../../../schemas/catalog/types.ts'
import type { ReferenceView } from '../references.ts'
import { type View, viewTag } from '../view.ts'

/**
 * Images that products refer to. Fed by the topic `catalog-images`. The view and the topic are partitioned by product.
 *
 * | key | value |
 * |---|---|
 * | `{catalog-images:<p>}:image:<hash>` | number of products in the partition that have the image; no key: no product has the image |
 */
const CATALOG_IMAGES_VIEW = 'catalog-images'

export const catalogImagesView: View<string, ImageReferences> = {
  name: CATALOG_IMAGES_VIEW,
  operationsFor(partition, hash, references) {
    const key = imageKey(partition, hash)
    return references === null ? [{ op: 'del', key }] : [{ op: 'set', key, value: String(references.products) }]
  },
}

/** The view in which the sweep of images looks up whether an image is referenced. */
export const imageReferences: ReferenceView = {
  view: CATALOG_IMAGES_VIEW,
  topic: catalogImages.name,
  what: 'images',
  keyOf: imageKey,
}

function imageKey(partition: number, hash: string): string {
  return `${viewTag(CATALOG_IMAGES_VIEW, partition)}:image:${hash}`
}
