import { placeOfVariant } from '../../../schemas/catalog/ids.ts'
import { priceChanged, productCreated, productUpdated, sellerProducts } from '../../../schemas/catalog/products/topics.ts'
import { skuUses } from '../../../schemas/catalog/skus/topics.ts'
import type {
  CatalogPriceChange,
  CatalogPriceReason,
  CatalogProduct,
  CatalogProductState,
  SellerProduct,
} from '../../../schemas/catalog/types.ts'
import { type Emission, emission } from '../../engine/index.ts'

/** Why a product changed. */
export interface Cause {
  /** The subject of the token with which the change, or the price period that caused it, was requested. */
  readonly actor: string
  /** Epoch ms. */
  readonly at: number
  /** True if an administrator has overridden the price guard. */
  readonly isForced: boolean
  readonly reason: CatalogPriceReason
}

/**
 * Why the prices of individual variants changed, keyed by the index of the variant. Variants with the same cause refer
 * to the same object, so that their changes share a record.
 */
export type VariantCauses = ReadonlyMap<number, Cause>

const NO_CAUSES: VariantCauses = new Map()

/**
 * Returns the records about a change to a product.
 * @param cause the cause of the change, and of the price changes of all variants that `causes` does not contain
 */
export function outputsOf(
  before: CatalogProductState | undefined,
  { product }: CatalogProductState,
  cause: Cause,
  causes = NO_CAUSES,
): Emission[] {
  const key = String(product.product_id)
  const earlier = before?.product
  const { actor, at } = cause
  const emits: Emission[] = []
  if (earlier === undefined) emits.push(emission(productCreated, key, { product, actor, at }))
  // A change to the content or status creates a new version. A change to prices or price periods does not.
  else if (earlier.version !== product.version) emits.push(emission(productUpdated, key, { product, actor, at }))
  const causeOf = ({ variant_id }: CatalogPriceChange) => causes.get(placeOfVariant(variant_id)!.number - 1) ?? cause
  for (const [{ actor, at, isForced: is_forced, reason }, changes] of Map.groupBy(priceChanges(earlier, product), causeOf))
    emits.push(emission(priceChanged, key, { product, changes, reason, is_forced, actor, at }))
  return [...emits, ...usesOf(earlier, product), listing(product)]
}

function priceChanges(earlier: CatalogProduct | undefined, product: CatalogProduct): CatalogPriceChange[] {
  return product.variants.flatMap(({ variant_id, price_cents, compare_price }, index) => {
    const old = earlier?.variants[index]
    if (old !== undefined && old.price_cents === price_cents && old.compare_price === compare_price) return []
    return [
      {
        variant_id,
        old_price_cents: old?.price_cents ?? null,
        new_price_cents: price_cents,
        old_compare_price: old?.compare_price ?? null,
        new_compare_price: compare_price,
      },
    ]
  })
}

/**
 * Returns a record for each sku whose use begins or ends. A product uses the skus of all its variants, even inactive
 * variants, until the product is deleted.
 */
function usesOf(earlier: CatalogProduct | undefined, { product_id, status, variants }: CatalogProduct): Emission[] {
  const isDeleted = status === 'DELETED'
  const changed = isDeleted ? variants : variants.slice(earlier?.variants.length ?? 0)
  return changed.map(({ sku }) => emission(skuUses, sku, { product_id, is_used: !isDeleted }))
}

function listing(product: CatalogProduct): Emission {
  const seller = String(product.seller_id)
  const value = product.status === 'DELETED' ? null : sellerProduct(product)
  return emission(sellerProducts, `${seller}:${product.product_id}`, value, { partitionBy: seller })
}

function sellerProduct(product: CatalogProduct): SellerProduct {
  const { product_id, seller_id, title, category_id, brand, status, created_at, updated_at, version, revision } = product
  const active = product.variants.filter((variant) => variant.status === 'ACTIVE')
  const price_cents = active.length === 0 ? null : Math.min(...active.map((variant) => variant.price_cents))
  const fields = { product_id, seller_id, title, category_id, brand, status, created_at, updated_at, version, revision }
  return { ...fields, price_cents, variants: active.length }
}
