import { catalogDocuments, categoryLeaders as categoryLeadersTopic, sellers } from '../../../schemas/catalog/documents/topics.ts'
import { inventoryDecisions } from '../../../schemas/catalog/inventory/topics.ts'
import type { StoredProduct } from '../../../schemas/catalog/products/stored.ts'
import { productDecisions } from '../../../schemas/catalog/products/topics.ts'
import { type ProductDetails, productDetails, readDetailsText } from '../../../state/views/catalog/catalog-details.ts'
import { categoryLeaders, readLeadersText } from '../../../state/views/catalog/category-leaders.ts'
import { parsedProduct, readProductText } from '../../../state/views/catalog/products.ts'
import { readSellerText, type SellerRecord, sellerRecord } from '../../../state/views/catalog/sellers.ts'
import { readStock } from '../../../state/views/catalog/stock.ts'
import { caughtUp } from '../../kit/readiness.ts'
import type { SharedReader } from '../../kit/shared-reads.ts'
import type { ServiceKit } from '../../service.ts'
import { type Companions, knownCompanions } from './companions.ts'
import { relatedReader } from './related.ts'

export type DetailReadDeps = Pick<ServiceKit, 'sharedViews' | 'facts'>

/** Everything that the views contain about a product, apart from the product itself. */
export interface ProductSurroundings {
  readonly details: ProductDetails
  readonly seller: SellerRecord
  readonly leaders: readonly number[]
  /** Products that buyers often view together with this product, nearest first. */
  readonly related: readonly number[]
  /** Number of available units in all warehouses, keyed by variant_id. */
  readonly available: ReadonlyMap<number, number>
}

export interface DetailReads extends ProductSurroundings {
  readonly product: StoredProduct
}

/**
 * Everything that the views contain about a product, as unparsed text. If two reads return the same texts and numbers,
 * the pages that are made from them can differ only in the categories and the badges.
 */
export interface DetailTexts {
  readonly product: string
  readonly companions: Companions
  readonly details: string | null
  readonly seller: string | null
  readonly leaders: string | null
  readonly related: readonly number[]
  /** Available units of each variant, in the order of `companions.variantIds`. */
  readonly units: readonly number[]
}

/**
 * Returns whether the caller has already parsed this text of a product, and has checked that these companions belong to
 * the product.
 */
export type IsKnownProduct = (text: string, companions: Companions) => boolean

export interface DetailReader {
  /**
   * Reads everything about a product. Does not parse the product's text if the caller has already parsed it. Throws
   * ApiError `not_ready`, `unavailable`.
   * @returns undefined if there is no such product
   */
  readTexts(productId: number, isKnown: IsKnownProduct, reader: SharedReader): Promise<DetailTexts | undefined>
  /** Reads and parses everything about a product. Throws the same errors as `readTexts`. */
  read(productId: number): Promise<DetailReads | undefined>
  /**
   * Reads everything that the views contain about a product, apart from the product itself, which the caller has
   * already read. Includes the stock of inactive variants. Throws the same errors as `readTexts`.
   */
  around(product: StoredProduct): Promise<ProductSurroundings>
}

/** Parses the texts that were read about a product. */
export function parsedDetail(texts: DetailTexts): DetailReads {
  return { product: parsedProduct(texts.product), ...parsedSurroundings(texts) }
}

function parsedSurroundings(texts: Omit<DetailTexts, 'product'>): ProductSurroundings {
  const { companions, details, seller, leaders, related, units } = texts
  return {
    details: productDetails(details),
    seller: sellerRecord(companions.sellerId, seller),
    leaders: categoryLeaders(leaders),
    related,
    available: new Map(companions.variantIds.map((id, index) => [id, units[index]])),
  }
}

/**
 * Creates the reader of all data on a product page. Normally, all reads begin at once, except that related products are
 * looked up only when their ids are known. The seller, the category and the stock are read after the product in two
 * cases: when this process remembers no companions of the product, and when the product's seller, category or variants
 * have changed.
 */
export function detailReader({ sharedViews, facts }: DetailReadDeps): DetailReader {
  const known = knownCompanions()
  const readRelated = relatedReader({ facts })

  async function readTexts(productId: number, isKnown: IsKnownProduct, reader: SharedReader): Promise<DetailTexts | undefined> {
    const guess = known.get(productId)
    const guessed = guess === undefined ? undefined : surroundingsOf(reader, productId, guess)
    // If the read of the product fails first, nothing awaits this promise. The handler prevents an unhandled rejection.
    guessed?.catch(() => undefined)
    const key = String(productId)
    const [product, own] = await Promise.all([
      readProductText(reader, facts.partitionOf(productDecisions, key), key).then((text) => caughtUp(text)),
      ownOf(reader, productId),
    ])
    if (product === undefined) return undefined
    const companions = guess !== undefined && isKnown(product, guess) ? guess : known.remember(parsedProduct(product))
    const others = await (companions === guess ? guessed! : surroundingsOf(reader, productId, companions))
    return { product, companions, ...own, ...others }
  }

  async function read(productId: number): Promise<DetailReads | undefined> {
    const texts = await readTexts(productId, () => false, sharedViews)
    return texts === undefined ? undefined : parsedDetail(texts)
  }

  async function around(product: StoredProduct): Promise<ProductSurroundings> {
    const { product_id, variants } = product
    const companions = known.remember(product)
    const inactive = variants.flatMap(({ variant_id, status }) => (status === 'INACTIVE' ? [variant_id] : []))
    const [own, others, ...units] = await Promise.all([
      ownOf(sharedViews, product_id),
      surroundingsOf(sharedViews, product_id, companions),
      ...inactive.map((id) => unitsOf(sharedViews, stockPartitionOf(product_id), id)),
    ])
    const { available, ...parsed } = parsedSurroundings({ companions, ...own, ...others })
    return { ...parsed, available: new Map([...available, ...inactive.map((id, index) => [id, units[index]] as const)]) }
  }

  async function ownOf(reader: SharedReader, productId: number) {
    const key = String(productId)
    const [details, related] = await Promise.all([
      readDetailsText(reader, facts.partitionOf(catalogDocuments, key), key),
      readRelated(reader, productId),
    ])
    return { details: caughtUp(details), related }
  }

  async function surroundingsOf(reader: SharedReader, productId: number, { sellerId, categoryId, variantIds }: Companions) {
    const stockPartition = stockPartitionOf(productId)
    const [seller, leaders, ...units] = await Promise.all([
      readSellerText(reader, facts.partitionOf(sellers, sellerId), sellerId),
      readLeadersText(reader, facts.partitionOf(categoryLeadersTopic, categoryId), categoryId),
      ...variantIds.map((id) => unitsOf(reader, stockPartition, id)),
    ])
    return { seller: caughtUp(seller), leaders: caughtUp(leaders), units }
  }

  function stockPartitionOf(productId: number): number {
    return facts.partitionOf(inventoryDecisions, String(productId))
  }

  async function unitsOf(reader: SharedReader, partition: number, variantId: number): Promise<number> {
    const rows = caughtUp(await readStock(reader, partition, variantId))
    return rows.reduce((sum, { available }) => sum + available, 0)
  }

  return { readTexts, read, around }
}
