/** Labels by how far above the usual a term is (spec A: above 3.0 Trending, above 10.0 Viral). */
const TRENDING_ABOVE = 3
const VIRAL_ABOVE = 10

/** A divisor from a baseline or a mean: never below 1, so that rare terms are not blown up (spec A). */
function divisorOf(usual: number): number {
  return Math.max(1, usual)
}

/** How many times the usual count: spec A's velocity. */
export function velocityVsUsual(count: number, usual: number): number {
  return count / divisorOf(usual)
}

/** count × velocity weight; the weight is log2(1 + velocity) (DECISIONS: the two velocities). Grows with count. */
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
