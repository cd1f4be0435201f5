/** Number of top results that count towards the NDCG. */
export const DEPTH = 10

/**
 * Returns the normalised discounted cumulative gain of the first 10 results (Järvelin and Kekäläinen, 2002). Returns
 * undefined if no product has a gain above 0, because in that case no order is better than another.
 * @param gains gain of each product; absent products have the gain 0
 */
export function ndcg(products: readonly string[], gains: ReadonlyMap<string, number>): number | undefined {
  const best = [...gains.values()].sort((a, b) => b - a)
  const ideal = discounted(best)
  return ideal === 0 ? undefined : discounted(products.map((product) => gains.get(product) ?? 0)) / ideal
}

function discounted(gains: readonly number[]): number {
  return gains.slice(0, DEPTH).reduce((sum, gain, at) => sum + gain / Math.log2(at + 2), 0)
}
