import type { z } from '@hono/zod-openapi'
import type { StoredPeriod, StoredProduct } from '../../../schemas/catalog/products/stored.ts'
import type { ListedProduct } from '../../../state/views/catalog/seller-products.ts'
import { isoTime } from '../../kit/times.ts'
import type { CategoryTree } from '../categories/tree.ts'
import { detailAnswer, shownVariant } from '../detail/answer.ts'
import type { ProductSurroundings } from '../detail/read.ts'
import { inDisplayOrder } from '../images/shown.ts'
import { majorUnits } from '../money.ts'
import type { ListSchema, ProductSchema } from './model.ts'

export interface JsonDeps {
  /** Base URL of all absolute URLs in answers. */
  readonly publicUrl: string
  readonly currency: string
  readonly categories: { readonly tree: Pick<CategoryTree, 'pathOf'> }
  /** Epoch ms. */
  now(): number
}

/** A product as its seller sees it, including fields that buyers do not see. */
export function productJson(product: StoredProduct, around: ProductSurroundings, deps: JsonDeps): z.output<typeof ProductSchema> {
  const { publicUrl, currency, categories, now } = deps
  const categoryPath = categories.tree.pathOf(product.category_id).map(({ name }) => name)
  const images = inDisplayOrder(product.images)
  return {
    ...detailAnswer({ product, ...around, categoryPath }, { publicUrl, currency, now: now() }),
    seller_id: product.seller_id,
    variants: product.variants.map((variant) => ({
      ...shownVariant(variant, images, around, publicUrl),
      compare_price: unitsOrNull(variant.compare_price),
      status: variant.status,
      periods: (product.periods[variant.variant_id] ?? []).map(periodJson),
    })),
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
