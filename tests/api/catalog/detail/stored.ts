import type { StoredProduct } from '../../../../schemas/catalog/products/stored.ts'

export const NOON = Date.UTC(2026, 0, 15, 12)

/** Returns product 5 of seller 7 as the view stores it. */
export function stored(fields: Partial<StoredProduct> = {}): StoredProduct {
  return {
    product_id: 5,
    seller_id: '7',
    title: 'Saw',
    description: 'Cuts wood.',
    category_id: 2,
    brand: 'Acme',
    status: 'ACTIVE',
    created_at: NOON,
    updated_at: NOON,
    version: 1,
    revision: 1,
    variants: [
      {
        variant_id: 5 * 256 + 1,
        sku: 'saw-1',
        attributes: { Colour: 'red' },
        price_cents: 1_999,
        compare_price: 2_500,
        weight_grams: 700,
        status: 'ACTIVE',
      },
    ],
    images: [],
    periods: {},
    ...fields,
  }
}
