import type { CatalogPricePeriod, CatalogProduct, CatalogProductState } from '../types.ts'

/** A product as JSON, in answers to commands and in the view. Money is in cents, and times are epoch ms. */
export interface StoredProduct extends Omit<CatalogProduct, 'seller_id'> {
  /** A decimal string, because the id may exceed 2^53. */
  readonly seller_id: string
  /** Limited-time prices that have not ended, keyed by variant_id. Variants without limited-time prices are absent. */
  readonly periods: { readonly [variantId: string]: readonly StoredPeriod[] }
}

export type StoredPeriod = Pick<CatalogPricePeriod, 'starts_at' | 'ends_at' | 'price_cents' | 'compare_price'>

export function storedProduct({ product, pricing }: CatalogProductState): StoredProduct {
  const periods = product.variants.flatMap(({ variant_id }, index) => {
    const shown = pricing[index].periods.map(storedPeriod)
    return shown.length === 0 ? [] : [[variant_id, shown] as const]
  })
  return { ...product, seller_id: String(product.seller_id), periods: Object.fromEntries(periods) }
}

function storedPeriod({ starts_at, ends_at, price_cents, compare_price }: CatalogPricePeriod): StoredPeriod {
  return { starts_at, ends_at, price_cents, compare_price }
}
