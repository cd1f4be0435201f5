import { addSale } from '../../../schemas/catalog/documents/sales.ts'
import type { DocumentCounters, DocumentStock, InventoryChange } from '../../../schemas/catalog/types.ts'

const STAR_KINDS = 5

/**
 * Applies a stock movement to the counters of its product.
 * @param known the stock row before the movement; undefined if the row did not exist
 * @returns the new stock row and the new counters; undefined if the movement is not newer than the row
 */
export function withMovement(
  counters: DocumentCounters,
  known: DocumentStock | undefined,
  { variant_id, kind, quantity, available, version, at }: InventoryChange,
): { readonly row: DocumentStock; readonly counters: DocumentCounters } | undefined {
  if (known !== undefined && known.version >= version) return undefined
  const change = available - (known?.available ?? 0)
  const sales_log = kind === 'DEDUCT' && quantity > 0 ? addSale(counters.sales_log, quantity, at) : counters.sales_log
  return { row: { available, version }, counters: { ...counters, sales_log, stock: withAvailable(counters.stock, variant_id, change) } }
}

function withAvailable(stock: DocumentCounters['stock'], variantId: number, change: number): DocumentCounters['stock'] {
  if (!stock.some(({ variant_id }) => variant_id === variantId)) return [...stock, { variant_id: variantId, available: change }]
  if (change === 0) return stock
  return stock.map((row) => (row.variant_id === variantId ? { ...row, available: row.available + change } : row))
}

/**
 * Counts the stars of a review. They replace the stars of the same user's previous review.
 * @param before the stars of the same user's previous review; undefined if the user has no previous review
 */
export function withStars(counters: DocumentCounters, before: number | undefined, stars: number): DocumentCounters {
  const counts = counters.stars.length === 0 ? Array.from({ length: STAR_KINDS }, () => 0) : [...counters.stars]
  if (before !== undefined) counts[before - 1]--
  counts[stars - 1]++
  return { ...counters, stars: counts }
}

/** Returns whether a review may give this number of stars. */
export function isStars(stars: number): boolean {
  return Number.isInteger(stars) && stars >= 1 && stars <= STAR_KINDS
}
