/** Labels tell how far a term is above the usual: docs/services/trends.md#velocity-score-and-label */
const TRENDING_ABOVE = 3
const VIRAL_ABOVE = 10

/** A divisor is never below 1, so that a rare term does not get an enormous velocity from a tiny baseline or mean. */
function divisorOf(usual: number): number {
  return Math.max(1, usual)
}

/** How many times the usual count. It decides score and label. */
export function velocityVsUsual(count: number, usual: number): number {
  return count / divisorOf(usual)
}

/** count × log2(1 + velocity), which grows with the count: docs/services/trends.md#velocity-score-and-label */
export function trendScore(count: number, usual: number): number {
  return count * Math.log2(1 + velocityVsUsual(count, usual))
}

/** The response's velocity: the window now against the window one hour ago. */
export function velocityOf(count: number, hourAgo: number): number {
  return count / divisorOf(hourAgo)
}

export function labelOf(velocity: number): 'Trending' | 'Viral' | null {
  if (velocity > VIRAL_ABOVE) return 'Viral'
  return velocity > TRENDING_ABOVE ? 'Trending' : null
}
