import type { Interaction, InteractionType } from '../types.ts'

/** The fields of an interaction that determine its weight, and whether the user is done with the item. */
type Weighed = Pick<Interaction, 'event_type' | 'dwell_time_sec' | 'rating' | 'watch_pct'>

const PURCHASE_WEIGHT = 4
const SKIP_WEIGHT = -1
/** Number of stars of a neutral rating. */
const NEUTRAL_STARS = 2.5
const SECONDS_PER_DWELL = 30
const MAX_DWELL_WEIGHT = 2
/**
 * Minimum share of an item that a user must have watched for the item to count as watched. Below this share, the user
 * has only tried the item, so it may be recommended again.
 */
const WATCHED_SHARE = 0.3

/**
 * Returns the weight of an interaction as a sign of a user's interest; see docs/services/recommendations.md#weights.
 */
export function weightOf({ event_type, dwell_time_sec, rating, watch_pct }: Weighed): number {
  switch (event_type) {
    case 'VIEW':
      return watch_pct ?? 1
    case 'CLICK':
      return 1
    case 'DWELL':
      return Math.min(MAX_DWELL_WEIGHT, (dwell_time_sec ?? 0) / SECONDS_PER_DWELL)
    case 'RATE':
      return (rating ?? NEUTRAL_STARS) - NEUTRAL_STARS
    case 'PURCHASE':
      return PURCHASE_WEIGHT
    case 'SKIP':
    case 'NOT_INTERESTED':
      return SKIP_WEIGHT
  }
}

/** Returns whether the user is done with the item. If so, the item must not be recommended again. */
export function isWatched({ event_type, watch_pct }: Weighed): boolean {
  if (event_type === 'VIEW') return watch_pct === null || watch_pct >= WATCHED_SHARE
  return event_type === 'PURCHASE' || event_type === 'RATE' || event_type === 'SKIP'
}

/** Returns whether an interaction counts as a view for the user's last ten items, the session and similar items. */
export function isViewed(type: InteractionType): boolean {
  return type !== 'SKIP' && type !== 'NOT_INTERESTED'
}
