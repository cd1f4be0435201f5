import { type StoredProduct, storedProduct } from '../../../schemas/catalog/products/stored.ts'
import type { CatalogProductState } from '../../../schemas/catalog/types.ts'
import { type NOT_CAUGHT_UP, type View, type ViewReader, viewTag, withCaughtUp } from '../view.ts'
import { offerOperation } from './offers.ts'

/**
 * Products that are not deleted, for sellers and detail pages. Fed by `product-decisions` and partitioned like it. The
 * partition also contains results of commands; see ../results.ts.
 *
 * | key | value |
 * |---|---|
 * | `{catalog-products:<p>}:product:<product_id>` | JSON of a StoredProduct |
 * | `{catalog-products:<p>}:offer:<product_id>` | which variants are for sale: see offers.ts |
 */
export const CATALOG_PRODUCTS_VIEW = 'catalog-products'

export const catalogProductsView: View<string, CatalogProductState> = {
  name: CATALOG_PRODUCTS_VIEW,
  operationsFor(partition, productId, state) {
    const key = productKey(partition, productId)
    const offer = offerOperation(CATALOG_PRODUCTS_VIEW, partition, productId, state?.product ?? null)
    return state === null ? [{ op: 'del', key }, offer] : [{ op: 'set', key, value: JSON.stringify(storedProduct(state)) }, offer]
  },
}

/** @param productId decimal */
function productKey(partition: number, productId: string): string {
  return `${viewTag(CATALOG_PRODUCTS_VIEW, partition)}:product:${productId}`
}

/** @returns undefined if there is no such product, or it is deleted */
export async function readProduct(
  reader: ViewReader,
  partition: number,
  productId: string,
): Promise<StoredProduct | undefined | typeof NOT_CAUGHT_UP> {
  const text = await readProductText(reader, partition, productId)
  return typeof text === 'string' ? parsedProduct(text) : text
}

/**
 * Reads a product as the text that the view stores. If two texts are equal, the products are equal. Returns
 * NOT_CAUGHT_UP while the view is being filled. Until the view is complete, a missing product may exist, and a product
 * that the view contains may have been changed or deleted by a record that the view does not include yet.
 */
export async function readProductText(
  reader: Pick<ViewReader, 'get'>,
  partition: number,
  productId: string,
): Promise<string | undefined | typeof NOT_CAUGHT_UP> {
  const text = reader.get(productKey(partition, productId))
  return (await withCaughtUp(reader, CATALOG_PRODUCTS_VIEW, partition, text)) ?? undefined
}

const REVISION = '"revision":'

/**
 * Returns a short fingerprint of a product's text. Every decision about a product increments its revision, so two texts
 * of a product with the same fingerprint are equal.
 */
export function markOfProductText(text: string): string {
  // The first occurrence of this name is the field itself, because no earlier field contains an object with arbitrary
  // names, and quotation marks within texts are escaped.
  const start = text.indexOf(REVISION)
  return `${text.length}:${start < 0 ? text : text.slice(start + REVISION.length, text.indexOf(',', start))}`
}

export function parsedProduct(text: string): StoredProduct {
  return JSON.parse(text) as StoredProduct
}
