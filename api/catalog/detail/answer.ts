import { badgesAt } from '../../../schemas/catalog/documents/badges.ts'
import { quantityHint, stockStatus } from '../../../schemas/catalog/documents/stock.ts'
import type { StoredProduct } from '../../../schemas/catalog/products/stored.ts'
import type { CatalogImage, CatalogVariant } from '../../../schemas/catalog/types.ts'
import type { ProductDetails } from '../../../state/views/catalog/catalog-details.ts'
import type { SellerRecord } from '../../../state/views/catalog/sellers.ts'
import { imageUrl } from '../images/address.ts'
import { inDisplayOrder, shownImages } from '../images/shown.ts'
import { majorUnits } from '../money.ts'
import { MAX_RELATED } from './related.ts'

/** All data that a product page shows. */
export interface DetailParts {
  readonly product: StoredProduct
  /** Number of available units in all warehouses, keyed by variant_id. A variant without an entry has none. */
  readonly available: ReadonlyMap<number, number>
  readonly details: ProductDetails
  readonly seller: SellerRecord
  /** The best-selling products of the category. */
  readonly leaders: readonly number[]
  /** Products that buyers often view together with this product, nearest first. */
  readonly related: readonly number[]
  /** Names of the categories from the root to the product's category. */
  readonly categoryPath: readonly string[]
}

export interface DetailOptions {
  /** Base URL of all absolute URLs in answers. */
  readonly publicUrl: string
  readonly currency: string
  /** Epoch ms. */
  readonly now: number
}

/** Width of a variant's image, in pixels. */
const VARIANT_IMAGE_WIDTH = 600

/** Returns the response body of a product page. */
export function detailAnswer(parts: DetailParts, options: DetailOptions) {
  const { product, details, seller, categoryPath } = parts
  const { publicUrl, currency, now } = options
  const images = inDisplayOrder(product.images)
  return {
    product_id: product.product_id,
    title: product.title,
    description: product.description,
    brand: product.brand,
    category_id: product.category_id,
    category_path: [...categoryPath],
    status: product.status,
    version: product.version,
    created_at: new Date(product.created_at).toISOString(),
    updated_at: new Date(product.updated_at).toISOString(),
    currency,
    badges: [...badgesAt(details.badges, product.created_at, now)],
    variants: product.variants
      .filter(({ status }) => status === 'ACTIVE')
      .map((variant) => shownVariant(variant, images, parts, publicUrl)),
    images: shownImages(images, publicUrl),
    seller: { id: jsonInteger(product.seller_id), name: seller.name, rating: seller.rating },
    reviews_summary: reviewsSummary(details.stars),
    related_products: relatedProducts(parts),
  }
}

/** Returns the products that buyers view together with this product, followed by best sellers of the category. */
function relatedProducts({ product, related, leaders }: DetailParts): number[] {
  return [...new Set([...related, ...leaders])].filter((id) => id !== product.product_id).slice(0, MAX_RELATED)
}

/**
 * Returns a variant as buyers see it.
 * @param images all images of the product, in display order
 */
export function shownVariant(
  variant: CatalogVariant,
  images: readonly CatalogImage[],
  { available }: Pick<DetailParts, 'available'>,
  publicUrl: string,
) {
  const { variant_id, sku, attributes, price_cents, compare_price, weight_grams } = variant
  const units = available.get(variant_id) ?? 0
  return {
    // Attributes share one object with the variant's own fields, so no attribute may have the same name as one of these
    // fields.
    ...attributes,
    variant_id,
    sku,
    price: majorUnits(price_cents),
    was: compare_price !== null && compare_price > price_cents ? majorUnits(compare_price) : null,
    weight_grams,
    inventory: { status: stockStatus(units), quantity_hint: quantityHint(units) },
    images: images
      .filter((image) => image.variant_id === null || image.variant_id === variant_id)
      .map(({ content_hash }) => imageUrl(publicUrl, content_hash, VARIANT_IMAGE_WIDTH)),
  }
}

/**
 * Summarises the reviews of a product.
 * @param stars numbers of reviews with 1, 2, 3, 4 and 5 stars, in this order; empty if there are no reviews
 */
export function reviewsSummary(stars: readonly number[]) {
  const count = stars.reduce((sum, reviews) => sum + reviews, 0)
  const sum = stars.reduce((total, reviews, index) => total + reviews * (index + 1), 0)
  const distribution = Object.fromEntries([1, 2, 3, 4, 5].map((star) => [star, stars[star - 1] ?? 0]))
  return { avg: count === 0 ? 0 : Math.round((sum / count) * 10) / 10, count, distribution }
}

/** Returns an id as a number, or as text if a number would lose digits. */
function jsonInteger(id: string): number | string {
  const number = Number(id)
  return Number.isSafeInteger(number) ? number : id
}
