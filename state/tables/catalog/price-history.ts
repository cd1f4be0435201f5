import type { PriceChanged } from '../../../schemas/catalog/types.ts'
import type { Table } from '../table.ts'
import { isoMonth } from '../time.ts'

const RETENTION_YEARS = 5

/** The prices of each variant and who set them, kept for five years. Fed by `price.changed`. Read it with FINAL. */
export const priceHistoryTable: Table<string, PriceChanged> = {
  name: 'price_history',
  columns: [
    'product_id UInt64',
    'variant_id UInt64',
    'revision UInt64',
    'seller_id UInt64',
    'sku String',
    'old_price_cents Nullable(UInt64)',
    'new_price_cents UInt64',
    'old_compare_price Nullable(UInt64)',
    'new_compare_price Nullable(UInt64)',
    'reason LowCardinality(String)',
    // True if an administrator has overridden the price guard.
    'is_forced Bool',
    'actor String',
    "at DateTime64(3, 'UTC')",
  ],
  orderBy: '(product_id, variant_id, revision)',
  partitionBy: 'toYYYYMM(at)',
  ttl: `toDateTime(at) + INTERVAL ${RETENTION_YEARS} YEAR`,
  rowsOf(_productId, event) {
    if (event === null) return []
    const { product, changes, reason, is_forced, actor, at } = event
    const skus = new Map(product.variants.map(({ variant_id, sku }) => [variant_id, sku]))
    const { product_id, revision } = product
    const common = { product_id, revision, seller_id: String(product.seller_id), reason, is_forced, actor, at }
    return changes.map((change) => ({ ...common, ...change, sku: skus.get(change.variant_id) ?? '' }))
  },
  partitionOf: (_productId, { at }) => isoMonth(at),
}
