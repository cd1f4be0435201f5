import type { SellerProduct } from '../../../schemas/catalog/types.ts'
import { readableJson } from '../readable.ts'
import { caughtUpKey, type ListReader, NOT_CAUGHT_UP, type View, type ViewReader, viewTag } from '../view.ts'

/**
 * The products of each seller, newest first. Fed by `seller-products`, partitioned by seller.
 *
 * | key | value |
 * |---|---|
 * | `{seller-products:<p>}:ids:<seller_id>` | sorted set: product_ids by creation time |
 * | `{seller-products:<p>}:products:<seller_id>` | hash: JSON of a ListedProduct by product_id |
 */
export const SELLER_PRODUCTS_VIEW = 'seller-products'

/** A product as the seller's list contains it. Times are epoch ms. */
export type ListedProduct = Omit<SellerProduct, 'seller_id'>

export const sellerProductsView: View<string, SellerProduct> = {
  name: SELLER_PRODUCTS_VIEW,
  operationsFor(partition, key, product) {
    const [seller, id] = key.split(':')
    const ids = idsKey(partition, seller)
    const products = productsKey(partition, seller)
    if (product === null) {
      return [
        { op: 'zrem', key: ids, member: id },
        { op: 'hdel', key: products, field: id },
      ]
    }
    const { seller_id: _seller, ...listed } = product
    return [
      { op: 'zadd', key: ids, score: product.created_at, member: id },
      { op: 'hset', key: products, fields: { [id]: JSON.stringify(listed satisfies ListedProduct) } },
    ]
  },
}

export interface ListedProducts {
  readonly total: number
  readonly products: readonly ListedProduct[]
}

/**
 * @param seller the seller's id in decimal
 * @param from index of the first product, starting at 0
 */
export async function readSellerProducts(
  reader: ViewReader & ListReader,
  partition: number,
  seller: string,
  { from, count }: { readonly from: number; readonly count: number },
): Promise<ListedProducts | typeof NOT_CAUGHT_UP> {
  const ids = idsKey(partition, seller)
  const [total, page, caughtUp] = await Promise.all([
    reader.zcard(ids),
    reader.zrevrange(ids, from, from + count - 1),
    reader.get(caughtUpKey(SELLER_PRODUCTS_VIEW, partition)),
  ])
  if (caughtUp === null) return NOT_CAUGHT_UP
  if (page.length === 0) return { total, products: [] }
  const texts = await reader.hmget(productsKey(partition, seller), page)
  // Skips products that were deleted between the two reads.
  return { total, products: texts.flatMap((text) => readableJson<ListedProduct>(text) ?? []) }
}

/** Returns the revision of a product in the seller's list; undefined if the list does not contain the product. */
export async function listedRevision(reader: ViewReader, partition: number, seller: string, id: string): Promise<number | undefined> {
  const text = await reader.hget(productsKey(partition, seller), id)
  return readableJson<ListedProduct>(text)?.revision
}

function idsKey(partition: number, seller: string): string {
  return `${viewTag(SELLER_PRODUCTS_VIEW, partition)}:ids:${seller}`
}

function productsKey(partition: number, seller: string): string {
  return `${viewTag(SELLER_PRODUCTS_VIEW, partition)}:products:${seller}`
}
