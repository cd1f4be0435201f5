import type { CatalogStockStatus } from '../types.ts'

/** Maximum number of units that counts as low stock. */
const LOW_STOCK_UNITS = 5

/**
 * Returns the stock status.
 * @param available units of one variant, or of all active variants of a product
 */
export function stockStatus(available: number): CatalogStockStatus {
  if (available <= 0) return 'out_of_stock'
  return available <= LOW_STOCK_UNITS ? 'low_stock' : 'in_stock'
}

/**
 * Returns the stock hint that is shown to buyers. Above five units, the hint does not give the exact number, because
 * the number would help only competitors.
 */
export function quantityHint(available: number): string {
  if (available > 10) return '10+'
  if (available > LOW_STOCK_UNITS) return '6-10'
  return available > 0 ? `only ${available} left` : 'none'
}
