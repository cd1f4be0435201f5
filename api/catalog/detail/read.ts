import { catalogDocuments, categoryLeaders as categoryLeadersTopic, sellers } from '../../../schemas/catalog/documents/topics.ts'
import { inventoryDecisions } from '../../../schemas/catalog/inventory/topics.ts'
import type { StoredProduct } from '../../../schemas/catalog/products/stored.ts'
import { productDecisions } from '../../../schemas/catalog/products/topics.ts'
import { catalogDetailsKey, type ProductDetails, productDetails } from '../../../state/views/catalog/catalog-details.ts'
import { categoryLeaders, categoryLeadersKey } from '../../../state/views/catalog/category-leaders.ts'
import { readProduct } from '../../../state/views/catalog/products.ts'
import { type SellerRecord, sellerKey, sellerRecord } from '../../../state/views/catalog/sellers.ts'
import { readStock } from '../../../state/views/catalog/stock.ts'
import { NOT_CAUGHT_UP } from '../../../state/views/view.ts'
import { ApiError, errors } from '../../kit/errors.ts'
import type { ServiceKit } from '../../service.ts'
import { type Companions, knownCompanions } from './companions.ts'
import { relatedReader } from './related.ts'

export type DetailReadDeps = Pick<ServiceKit, 'views' | 'sharedViews' | 'facts'>

/** What the views have about a product, beside the product itself. */
export interface ProductSurroundings {
  readonly details: ProductDetails
  readonly seller: SellerRecord
  readonly leaders: readonly number[]
  /** Products that buyers look at together with this one, nearest first. */
  readonly related: readonly number[]
  /** Units by variant_id. */
  readonly available: ReadonlyMap<number, number>
}

export interface DetailReads extends ProductSurroundings {
  readonly product: StoredProduct
}

export interface DetailReader {
  /** @returns undefined if there is no such product. Throws ApiError `not_ready`, `unavailable`. */
  read(productId: number): Promise<DetailReads | undefined>
  /** Returns what surrounds a product that has been read already. Throws the same. */
  around(product: StoredProduct): Promise<ProductSurroundings>
}

/**
 * Creates the reader of everything that the page of a product shows. It asks Redis once; the first time that this
 * process reads a product, and when its category or variants have changed, it asks a second time for what belongs to
 * them.
 */
export function detailReader({ views, sharedViews, facts }: DetailReadDeps): DetailReader {
  const known = knownCompanions()
  const readRelated = relatedReader({ views, sharedViews, facts })
  const reader = { get: sharedViews.get, hget: views.hget, hgetall: views.hgetall }

  async function read(productId: number): Promise<DetailReads | undefined> {
    const guess = known.get(productId)
    const guessed = guess === undefined ? undefined : companions(productId, guess)
    // A failure of the product's own read must not leave this one without a handler.
    guessed?.catch(() => undefined)
    const key = String(productId)
    const [product, own] = await Promise.all([readProduct(reader, facts.partitionOf(productDecisions, key), key), detailsOf(productId)])
    if (product === NOT_CAUGHT_UP) throw new ApiError(errors.not_ready)
    if (product === undefined) return undefined
    const actual = known.remember(product)
    const others = await (actual === guess ? guessed! : companions(productId, actual))
    return { product, ...own, ...others }
  }

  async function around(product: StoredProduct): Promise<ProductSurroundings> {
    const { product_id } = product
    const [own, others] = await Promise.all([detailsOf(product_id), companions(product_id, known.remember(product))])
    return { ...own, ...others }
  }

  async function detailsOf(productId: number) {
    const key = String(productId)
    const [details, related] = await Promise.all([
      sharedViews.get(catalogDetailsKey(facts.partitionOf(catalogDocuments, key), key)),
      readRelated(productId),
    ])
    return { details: productDetails(details), related }
  }

  async function companions(productId: number, { sellerId, categoryId, variantIds }: Companions) {
    const stockPartition = facts.partitionOf(inventoryDecisions, String(productId))
    const [seller, leaders, ...stocks] = await Promise.all([
      sharedViews.get(sellerKey(facts.partitionOf(sellers, sellerId), sellerId)),
      sharedViews.get(categoryLeadersKey(facts.partitionOf(categoryLeadersTopic, categoryId), categoryId)),
      ...variantIds.map((id) => unitsOf(stockPartition, id)),
    ])
    const available = new Map(variantIds.map((id, index) => [id, stocks[index]]))
    return { seller: sellerRecord(sellerId, seller), leaders: categoryLeaders(leaders), available }
  }

  async function unitsOf(partition: number, variantId: number): Promise<number> {
    const rows = await readStock(reader, partition, variantId)
    if (rows === NOT_CAUGHT_UP) throw new ApiError(errors.not_ready)
    return rows.reduce((sum, { available }) => sum + available, 0)
  }

  return { read, around }
}
