import { variantIdOf } from '../../../schemas/catalog/ids.ts'
import type { ProductAnswer } from '../../../schemas/catalog/products/flow.ts'
import { MOST_ACTIVE_VARIANTS, MOST_PRODUCT_BYTES, MOST_VARIANTS_EVER } from '../../../schemas/catalog/products/limits.ts'
import { encodedBytes } from '../../../schemas/catalog/products/size.ts'
import type {
  CatalogImage,
  CatalogOffer,
  CatalogPricing,
  CatalogProductContent,
  CatalogProductState,
  CatalogVariant,
} from '../../../schemas/catalog/types.ts'
import { outOfRange, passesGuard } from './price-guard.ts'
import { atOnce, type Priced } from './set-price.ts'

/** A product to which a request has been applied. */
export interface Applied {
  readonly state: CatalogProductState
  /** Indexes of the variants whose prices passed the price guard only because of `force`. */
  readonly forced: readonly number[]
}

/** Returns true for applied content, and false for the answer that refuses the content. */
export function isApplied(applied: Applied | ProductAnswer): applied is Applied {
  return 'state' in applied
}

/**
 * Applies the content that a seller has sent for a product. Variants are matched by sku; variants that the content does
 * not name become inactive.
 */
export function applyContent(state: CatalogProductState, content: CatalogProductContent, mayForce: boolean): Applied | ProductAnswer {
  const { title, description, category_id, brand, variants: offers } = content
  const { product } = state
  const offered = new Map(offers.map((offer) => [offer.sku, offer]))
  const forced: number[] = []
  const priced: Priced[] = []
  for (const [index, variant] of product.variants.entries()) {
    const before: Priced = { variant, pricing: state.pricing[index] }
    const offer = offered.get(variant.sku)
    offered.delete(variant.sku)
    if (offer === undefined) {
      priced.push({ ...before, variant: { ...variant, status: 'INACTIVE' } })
      continue
    }
    const isInRange = passesGuard(before.pricing, offer.price_cents)
    if (!isInRange && !mayForce) return outOfRange(variant, before.pricing)
    if (!isInRange) forced.push(index)
    priced.push(offering(before, offer))
  }
  if (offers.length > MOST_ACTIVE_VARIANTS || priced.length + offered.size > MOST_VARIANTS_EVER) return { outcome: 'too_many_variants' }
  for (const offer of offered.values()) priced.push(newVariant(product.product_id, priced.length + 1, offer))
  const variants = priced.map(({ variant }) => variant)
  const images = content.images === null ? product.images : imagesOf(content.images, variants)
  const after = { ...product, title, description, category_id, brand, variants, images }
  if (encodedBytes(after) > MOST_PRODUCT_BYTES) return { outcome: 'too_large' }
  return { state: { product: after, pricing: priced.map(({ pricing }) => pricing) }, forced }
}

/**
 * Applies an offer to its variant. If the offer repeats the shown price or the regular price, a running period
 * continues, and the offer's compare price replaces the one of the repeated price. Without this rule, even a change of
 * the title would end the period.
 */
function offering({ variant, pricing }: Priced, { price_cents, compare_price, attributes, weight_grams }: CatalogOffer): Priced {
  const changed: CatalogVariant = { ...variant, attributes, weight_grams, status: 'ACTIVE' }
  const { regular, periods } = pricing
  if (regular?.price_cents === price_cents) return { variant: changed, pricing: { ...pricing, regular: { price_cents, compare_price } } }
  if (regular !== null && variant.price_cents === price_cents) {
    return { variant: { ...changed, compare_price }, pricing: { ...pricing, periods: periods.with(0, { ...periods[0], compare_price }) } }
  }
  return atOnce({ variant: changed, pricing }, price_cents, compare_price)
}

function newVariant(
  productId: number,
  number: number,
  { sku, attributes, price_cents, compare_price, weight_grams }: CatalogOffer,
): Priced {
  const variant_id = variantIdOf(productId, number)
  const pricing: CatalogPricing = { lowest_cents: price_cents, highest_cents: price_cents, regular: null, periods: [] }
  return { variant: { variant_id, sku, attributes, price_cents, compare_price, weight_grams, status: 'ACTIVE' }, pricing }
}

function imagesOf(offered: NonNullable<CatalogProductContent['images']>, variants: readonly CatalogVariant[]): CatalogImage[] {
  const ids = new Map(variants.map(({ sku, variant_id }) => [sku, variant_id]))
  return offered.map(({ sku, ...image }, position) => ({ ...image, position, variant_id: sku === null ? null : (ids.get(sku) ?? null) }))
}
