/**
 * Velocity above which a term gets the label "Trending". Above `VIRAL_ABOVE`, a term gets the label "Viral" instead;
 * see docs/services/trends.md#velocity-score-and-label.
 */
const TRENDING_ABOVE = 3
const VIRAL_ABOVE = 10
/**
 * Minimum number of distinct users for a label. Fewer users are a small group rather than a trend:
 * docs/services/trends.md#velocity-score-and-label
 */
export const USERS_FOR_LABEL = 20

/** Limits the divisor to at least 1, so that a tiny baseline or mean does not give a rare term an enormous velocity. */
function divisorOf(usual: number): number {
  return Math.max(1, usual)
}

/**
 * Returns the count as a multiple of the usual count, or of 1 if the usual count is below 1. This velocity determines
 * the score and the label.
 */
export function velocityVsUsual(count: number, usual: number): number {
  return count / divisorOf(usual)
}

/**
 * Returns the score, count × log2(1 + velocity). For a given usual count, a higher count always gives a higher score;
 * see docs/services/trends.md#velocity-score-and-label.
 */
export function trendScore(count: number, usual: number): number {
  return count * Math.log2(1 + velocityVsUsual(count, usual))
}

/**
 * Returns the `velocity` of API responses: the count in the current window divided by the count in the window one hour
 * earlier, or by 1 if that is 0.
 */
export function velocityOf(count: number, hourAgo: number): number {
  return count / divisorOf(hourAgo)
}

/**
 * Returns the label of a term.
 * @param users number of distinct users of the term in the window
 */
export function labelOf(velocity: number, users: number): 'Trending' | 'Viral' | null {
  if (users < USERS_FOR_LABEL) return null
  if (velocity > VIRAL_ABOVE) return 'Viral'
  return velocity > TRENDING_ABOVE ? 'Trending' : null
}
