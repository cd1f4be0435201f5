import type { z } from '@hono/zod-openapi'
import type { StoredPeriod, StoredProduct } from '../../../schemas/catalog/products/stored.ts'
import type { CatalogVariant } from '../../../schemas/catalog/types.ts'
import type { ListedProduct } from '../../../state/views/catalog/seller-products.ts'
import type { CategoryTree } from '../categories/tree.ts'
import { inDisplayOrder, shownImages } from '../images/shown.ts'
import { majorUnits } from '../money.ts'
import type { ListSchema, ProductSchema } from './model.ts'

export interface JsonDeps {
  /** Base of absolute URLs. */
  readonly publicUrl: string
  readonly currency: string
  readonly categories: { readonly tree: Pick<CategoryTree, 'pathOf'> }
}

/** A product as its seller sees it. */
export function productJson(product: StoredProduct, { publicUrl, currency, categories }: JsonDeps): z.output<typeof ProductSchema> {
  const { product_id, seller_id, title, description, category_id, brand, status, version, created_at, updated_at } = product
  return {
    product_id,
    seller_id,
    title,
    description,
    category_id,
    category_path: categories.tree.pathOf(category_id).map(({ name }) => name),
    brand,
    status,
    version,
    currency,
    variants: product.variants.map((variant) => variantJson(variant, product.periods[variant.variant_id] ?? [])),
    images: shownImages(inDisplayOrder(product.images), publicUrl),
    created_at: isoTime(created_at),
    updated_at: isoTime(updated_at),
  }
}

function variantJson({ attributes, ...variant }: CatalogVariant, periods: readonly StoredPeriod[]) {
  const { variant_id, sku, price_cents, compare_price, weight_grams, status } = variant
  return {
    // Their names differ from those of the other fields.
    ...attributes,
    variant_id,
    sku,
    price: majorUnits(price_cents),
    compare_price: unitsOrNull(compare_price),
    weight_grams,
    status,
    periods: periods.map(periodJson),
  }
}

function periodJson({ starts_at, ends_at, price_cents, compare_price }: StoredPeriod) {
  return {
    starts_at: isoTime(starts_at),
    ends_at: isoTime(ends_at),
    price: majorUnits(price_cents),
    compare_price: unitsOrNull(compare_price),
  }
}

/** A product in its seller's list. */
export function listedJson(product: ListedProduct, currency: string): z.output<typeof ListSchema>['products'][number] {
  const { revision: _revision, price_cents, created_at, updated_at, ...fields } = product
  return { ...fields, price: unitsOrNull(price_cents), currency, created_at: isoTime(created_at), updated_at: isoTime(updated_at) }
}

function unitsOrNull(cents: number | null): number | null {
  return cents === null ? null : majorUnits(cents)
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString()
}
