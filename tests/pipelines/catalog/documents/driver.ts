import { catalogTopology } from '../../../../pipelines/catalog/documents/topology.ts'
import { type TestDriver, type TestDriverOptions, testDriver } from '../../../../pipelines/engine/testing.ts'
import { catalogDocuments, categoryLeaders, reviews, sellers } from '../../../../schemas/catalog/documents/topics.ts'
import { inventoryChanged } from '../../../../schemas/catalog/inventory/topics.ts'
import { priceChanged, productCreated, productUpdated, sellerProducts } from '../../../../schemas/catalog/products/topics.ts'
import type {
  CatalogDocument,
  CatalogProduct,
  InventoryChange,
  PriceChanged,
  ProductEvent,
  Review,
  Seller,
  SellerProduct,
} from '../../../../schemas/catalog/types.ts'

export const SECOND = 1_000
export const MINUTE = 60 * SECOND
export const DAY = 24 * 60 * MINUTE
export const NOON = Date.UTC(2026, 5, 1, 12)

/** A record for one of the topology's input topics. */
export type Input =
  | { readonly topic: 'created' | 'updated' | 'price'; readonly product: CatalogProduct }
  | { readonly topic: 'stock'; readonly change: InventoryChange }
  | { readonly topic: 'review'; readonly review: Review }
  | { readonly topic: 'seller'; readonly seller: Seller }
  | { readonly topic: 'own'; readonly seller_id: bigint; readonly product_id: number; readonly status: SellerProduct['status'] | null }

/**
 * Creates a driver for the topology `catalog`. At each call of `written`, `newest` gets the last document of each
 * product, and `leaders` gets the best sellers of each category.
 */
export function documentsDriver(options: TestDriverOptions = {}) {
  const driver = testDriver(catalogTopology, { startAt: NOON, ...options })
  const newest = new Map<number, CatalogDocument>()
  const leaders = new Map<number, readonly number[]>()

  function send(input: Input): void {
    pipe(driver, input)
  }

  /** Returns the documents that were written since the last call, in order. Also updates `newest` and `leaders`. */
  function written(): CatalogDocument[] {
    const documents = driver.read(catalogDocuments).map(({ value }) => value as CatalogDocument)
    for (const document of documents) newest.set(document.product_id, document)
    for (const { key, value } of driver.read(categoryLeaders)) leaders.set(key as number, value?.product_ids ?? [])
    return documents
  }

  return { driver, send, written, newest, leaders }
}

function pipe(driver: TestDriver, input: Input): void {
  if (input.topic === 'own')
    driver.pipe(sellerProducts, `${input.seller_id}:${input.product_id}`, input.status === null ? null : listed(input))
  else if (input.topic === 'stock') driver.pipe(inventoryChanged, String(input.change.product_id), input.change)
  else if (input.topic === 'review') driver.pipe(reviews, String(input.review.product_id), input.review)
  else if (input.topic === 'seller') driver.pipe(sellers, String(input.seller.seller_id), input.seller)
  else if (input.topic !== 'price') {
    const event: ProductEvent = { product: input.product, actor: '', at: input.product.updated_at }
    driver.pipe(input.topic === 'created' ? productCreated : productUpdated, String(input.product.product_id), event)
  } else {
    const { product } = input
    const event: PriceChanged = { product, changes: [], reason: 'CHANGED', is_forced: false, actor: '', at: product.updated_at }
    driver.pipe(priceChanged, String(product.product_id), event)
  }
}

/** Returns a product with one variant, in category 1 and sold by seller 7, unless `fields` say otherwise. */
export function product(product_id: number, fields: Partial<CatalogProduct> = {}): CatalogProduct {
  return {
    product_id,
    seller_id: 7n,
    title: `Product ${product_id}`,
    description: 'Made of wood.',
    category_id: 1,
    brand: 'Acme',
    status: 'ACTIVE',
    created_at: NOON,
    updated_at: NOON,
    version: 1,
    revision: 1,
    variants: [variant(product_id, 1)],
    images: [],
    ...fields,
  }
}

export function variant(
  productId: number,
  number: number,
  fields: Partial<CatalogProduct['variants'][number]> = {},
): CatalogProduct['variants'][number] {
  return {
    variant_id: productId * 256 + number,
    sku: `s${productId}-${number}`,
    attributes: { Colour: 'Red' },
    price_cents: 1_000,
    compare_price: null,
    weight_grams: null,
    status: 'ACTIVE',
    ...fields,
  }
}

/** Creates a stock movement for a product, by default of its first variant. */
export function movement(productId: number, fields: Partial<InventoryChange> & { readonly version: number }): Input {
  const change: InventoryChange = {
    variant_id: productId * 256 + 1,
    product_id: productId,
    warehouse_id: 'w1',
    kind: 'RECEIVE',
    quantity: 1,
    reservation_id: null,
    available: 0,
    reserved: 0,
    ends_at: null,
    command_id: null,
    at: NOON,
    ...fields,
  }
  return { topic: 'stock', change }
}

export function sale(productId: number, version: number, quantity: number, fields: Partial<InventoryChange> = {}): Input {
  return movement(productId, { kind: 'DEDUCT', quantity, version, available: 100, ...fields })
}

export function review(productId: number, userId: number, stars: number): Input {
  return { topic: 'review', review: { product_id: productId, user_id: BigInt(userId), stars, at: NOON } }
}

export function seller(rating: number | null, rating_count: number, id = 7n): Input {
  return { topic: 'seller', seller: { seller_id: id, name: 'Shop', rating, rating_count } }
}

/** @param status null: the record is a tombstone */
export function owned(product_id: number, seller_id = 7n, status: SellerProduct['status'] | null = 'ACTIVE'): Input {
  return { topic: 'own', seller_id, product_id, status }
}

function listed({ seller_id, product_id, status }: Extract<Input, { topic: 'own' }>): SellerProduct {
  const { title, category_id, brand, created_at, updated_at, version, revision } = product(product_id)
  return {
    seller_id,
    product_id,
    status: status!,
    title,
    category_id,
    brand,
    created_at,
    updated_at,
    version,
    revision,
    price_cents: null,
    variants: 1,
  }
}
