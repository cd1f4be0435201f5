/** Minimum share in the formula, because the logarithm of 0 is not finite. */
const LEAST_SHARE = 1e-4

/**
 * Returns the population stability index of two histograms with the same bins: the sum of (p − q) ln(p / q) over all
 * bins, where q is a bin's share before and p is its share now. A value below 0.1 means that the distribution has
 * hardly changed, and a value of 0.2 or more means that it has changed clearly.
 * @returns null if one of the histograms is empty
 */
export function stabilityIndex(before: readonly number[], now: readonly number[]): number | null {
  const totalBefore = before.reduce((sum, count) => sum + count, 0)
  const totalNow = now.reduce((sum, count) => sum + count, 0)
  if (totalBefore === 0 || totalNow === 0) return null
  return before.reduce((index, count, bin) => {
    const q = Math.max(LEAST_SHARE, count / totalBefore)
    const p = Math.max(LEAST_SHARE, now[bin] / totalNow)
    return index + (p - q) * Math.log(p / q)
  }, 0)
}
