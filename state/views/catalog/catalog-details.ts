import type { CatalogDocument } from '../../../schemas/catalog/types.ts'
import { readableJson } from '../readable.ts'
import { type NOT_CAUGHT_UP, type View, type ViewReader, viewTag, withCaughtUp } from '../view.ts'

/**
 * Data for product pages, in addition to the product, its stock and its seller. Fed by `catalog-documents` and
 * partitioned like it.
 *
 * | key | value |
 * |---|---|
 * | `{catalog-details:<p>}:<product_id>` | JSON of ProductDetails; no key: the product is not public, or is very new |
 */
export const CATALOG_DETAILS_VIEW = 'catalog-details'

export interface ProductDetails {
  /** Numbers of reviews with 1, 2, 3, 4 and 5 stars; empty if there are no reviews. */
  readonly stars: readonly number[]
  /** The badges that do not depend on the current time. */
  readonly badges: readonly string[]
}

const NO_DETAILS: ProductDetails = { stars: [], badges: [] }

export const catalogDetailsView: View<string, CatalogDocument> = {
  name: CATALOG_DETAILS_VIEW,
  operationsFor(partition, id, document) {
    const key = catalogDetailsKey(partition, id)
    if (document === null || !document.is_public) return [{ op: 'del', key }]
    const details: ProductDetails = { stars: document.stars, badges: document.badges }
    return [{ op: 'set', key, value: JSON.stringify(details) }]
  },
}

/** @param productId in decimal */
export function catalogDetailsKey(partition: number, productId: string): string {
  return `${viewTag(CATALOG_DETAILS_VIEW, partition)}:${productId}`
}

/**
 * Reads the value at a product's key as text; null if there is none.
 * @param productId in decimal
 */
export function readDetailsText(
  reader: Pick<ViewReader, 'get'>,
  partition: number,
  productId: string,
): Promise<string | null | typeof NOT_CAUGHT_UP> {
  return withCaughtUp(reader, CATALOG_DETAILS_VIEW, partition, reader.get(catalogDetailsKey(partition, productId)))
}

/** @param text the value at a product's key */
export function productDetails(text: string | null): ProductDetails {
  return readableJson<ProductDetails>(text) ?? NO_DETAILS
}
