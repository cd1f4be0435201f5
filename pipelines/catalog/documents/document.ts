import { storedBadges } from '../../../schemas/catalog/documents/badges.ts'
import { stockStatus } from '../../../schemas/catalog/documents/stock.ts'
import type { CatalogDocument, CatalogImage, CatalogProduct, CatalogVariant, DocumentCounters } from '../../../schemas/catalog/types.ts'

export const NO_COUNTERS: DocumentCounters = {
  revision: 0,
  active: [],
  stock: [],
  stars: [],
  sales_log: null,
  seller_rating: null,
  leads: null,
  ranked_in: null,
  images: [],
  written_at: 0,
}

export function activeVariants({ variants }: CatalogProduct): CatalogVariant[] {
  return variants.filter(({ status }) => status === 'ACTIVE')
}

/**
 * Returns the part of a document that depends on the product alone. A product that is not active or has no active
 * variant cannot be bought, so its document is not public and has no content.
 */
export function productPart(product: CatalogProduct): CatalogDocument {
  const { product_id, revision, seller_id, category_id, created_at } = product
  const hidden: CatalogDocument = {
    product_id,
    is_public: false,
    revision,
    seller_id,
    category_id,
    title: '',
    description: '',
    brand: null,
    attributes: [],
    price_cents: 0,
    was_cents: null,
    created_at,
    thumbnail: null,
    rating_sum: 0,
    rating_count: 0,
    stars: [],
    in_stock: 'out_of_stock',
    sales_log: null,
    seller_rating: null,
    badges: [],
  }
  const active = activeVariants(product)
  if (product.status !== 'ACTIVE' || active.length === 0) return hidden
  const { price_cents, compare_price } = active.reduce(cheaper)
  return {
    ...hidden,
    is_public: true,
    title: product.title,
    description: product.description,
    brand: product.brand,
    attributes: attributesOf(active),
    price_cents,
    was_cents: compare_price !== null && compare_price > price_cents ? compare_price : null,
    thumbnail: product.images.length === 0 ? null : product.images.reduce(earlier).content_hash,
  }
}

/**
 * Returns the variant with the lower price. If the prices are equal, returns the one with the lower id, so that the
 * result does not depend on the order of the variants.
 */
function cheaper(a: CatalogVariant, b: CatalogVariant): CatalogVariant {
  if (a.price_cents !== b.price_cents) return a.price_cents < b.price_cents ? a : b
  return a.variant_id < b.variant_id ? a : b
}

function earlier(a: CatalogImage, b: CatalogImage): CatalogImage {
  if (a.position !== b.position) return a.position < b.position ? a : b
  return a.image_id < b.image_id ? a : b
}

function attributesOf(variants: readonly CatalogVariant[]): string[] {
  const found = variants.flatMap(({ attributes }) => Object.entries(attributes).map(([name, value]) => `${name.toLowerCase()}:${value}`))
  return [...new Set(found)].sort()
}

/**
 * Adds to the document of a public product the data that does not come from the product: stars, stock, sales, seller
 * rating and badges.
 */
export function completed(document: CatalogDocument, counters: DocumentCounters): CatalogDocument {
  if (!document.is_public) return document
  const { stars, sales_log, seller_rating } = counters
  const rated = {
    ...document,
    stars,
    rating_count: stars.reduce((sum, count) => sum + count, 0),
    rating_sum: stars.reduce((sum, count, index) => sum + count * (index + 1), 0),
    in_stock: stockStatus(availableUnits(counters)),
    sales_log,
    seller_rating,
  }
  return { ...rated, badges: storedBadges(rated, counters.leads === document.category_id) }
}

function availableUnits({ active, stock }: DocumentCounters): number {
  let units = 0
  for (const { variant_id, available } of stock) if (active.includes(variant_id)) units += available
  return units
}

/**
 * Returns whether readers can see a difference between two documents. Ignores the revision, which is not shown, and the
 * sales, which affect only the order of lists.
 */
export function isVisibleChange(before: CatalogDocument, after: CatalogDocument): boolean {
  const fields = Object.keys(after) as (keyof CatalogDocument)[]
  return fields.some((field) => field !== 'revision' && field !== 'sales_log' && !isEqual(before[field], after[field]))
}

function isEqual(a: unknown, b: unknown): boolean {
  if (!Array.isArray(a) || !Array.isArray(b)) return a === b
  return a.length === b.length && a.every((item, index) => item === b[index])
}
