/**
 * Half-life of sales. Sales use forward decay: a unit that is sold at t weighs 2^(t / half-life) forever, and the sum
 * is divided by 2^(time / half-life) only when it is read. Nothing has to be rewritten as time passes. The binary
 * logarithm of the sum is stored, because the weights themselves would overflow a double.
 */
export const SALES_HALF_LIFE_MS = 7 * 24 * 3_600_000

/**
 * Returns the logarithm of the sum of weights after a sale.
 * @param salesLog the logarithm of the sum before the sale, as in CatalogDocument; null if nothing was sold
 * @param units a positive number
 * @param soldAt epoch ms
 */
export function addSale(salesLog: number | null, units: number, soldAt: number): number {
  const added = Math.log2(units) + soldAt / SALES_HALF_LIFE_MS
  if (salesLog === null) return added
  const [more, less] = salesLog > added ? [salesLog, added] : [added, salesLog]
  return more + Math.log2(1 + 2 ** (less - more))
}

/** Returns the decayed number of units at a time (epoch ms). The weight of a unit halves every 7 days. */
export function salesAt(salesLog: number | null, time: number): number {
  return salesLog === null ? 0 : 2 ** (salesLog - time / SALES_HALF_LIFE_MS)
}
