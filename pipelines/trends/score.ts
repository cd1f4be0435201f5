/** Velocities at which a term gets a label: docs/services/trends.md#velocity-score-and-label */
const TRENDING_ABOVE = 3
const VIRAL_ABOVE = 10

/** At least 1, so that a tiny baseline or mean does not give a rare term an enormous velocity. */
function divisorOf(usual: number): number {
  return Math.max(1, usual)
}

/** The count as a multiple of the usual count. Decides score and label. */
export function velocityVsUsual(count: number, usual: number): number {
  return count / divisorOf(usual)
}

/** count × log2(1 + velocity), which grows with the count: docs/services/trends.md#velocity-score-and-label */
export function trendScore(count: number, usual: number): number {
  return count * Math.log2(1 + velocityVsUsual(count, usual))
}

/** The velocity in API answers: the current window divided by the window one hour ago. */
export function velocityOf(count: number, hourAgo: number): number {
  return count / divisorOf(hourAgo)
}

export function labelOf(velocity: number): 'Trending' | 'Viral' | null {
  if (velocity > VIRAL_ABOVE) return 'Viral'
  return velocity > TRENDING_ABOVE ? 'Trending' : null
}
