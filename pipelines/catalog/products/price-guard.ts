import type { PriceOutOfRange } from '../../../schemas/catalog/products/flow.ts'
import type { CatalogPricing, CatalogVariant } from '../../../schemas/catalog/types.ts'

/** The range of all prices that were accepted for a variant. */
export type AcceptedPrices = Pick<CatalogPricing, 'lowest_cents' | 'highest_cents'>

/**
 * Returns the range of prices that the guard accepts: from 50 % below the lowest to 50 % above the highest accepted
 * price. See docs/services/catalog.md#price-guard
 * @returns the bounds, inclusive, in cents
 */
function allowedRange({ lowest_cents, highest_cents }: AcceptedPrices): AcceptedPrices {
  return { lowest_cents: Math.ceil(lowest_cents / 2), highest_cents: Math.floor((highest_cents * 3) / 2) }
}

export function passesGuard(accepted: AcceptedPrices, cents: number): boolean {
  const { lowest_cents, highest_cents } = allowedRange(accepted)
  return cents >= lowest_cents && cents <= highest_cents
}

/** Extends the range of accepted prices by one more price. */
export function accepting<P extends AcceptedPrices>(pricing: P, cents: number): P {
  return {
    ...pricing,
    lowest_cents: Math.min(pricing.lowest_cents, cents),
    highest_cents: Math.max(pricing.highest_cents, cents),
  }
}

export function outOfRange({ variant_id, sku }: CatalogVariant, accepted: AcceptedPrices): PriceOutOfRange {
  return { outcome: 'price_out_of_range', variant_id, sku, ...allowedRange(accepted) }
}
