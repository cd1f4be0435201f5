import type { Interaction, InteractionType } from '../types.ts'

/** The fields of an interaction that determine its weight. */
export type Told = Pick<Interaction, 'event_type' | 'dwell_time_sec' | 'rating' | 'watch_pct'>

const PURCHASE_WEIGHT = 4
const SKIP_WEIGHT = -1
/** A rating with this many stars is neutral. */
const NEUTRAL_STARS = 2.5
const SECONDS_PER_DWELL = 30
const MAX_DWELL_WEIGHT = 2
/** A view of less than this share counts as tried, and the item may be recommended again. */
const WATCHED_SHARE = 0.3

/** Returns how much an interaction says about a user's interest: docs/services/recommendations.md#weights */
export function weightOf({ event_type, dwell_time_sec, rating, watch_pct }: Told): number {
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

/** Returns whether the user is done with the item, so that it must not be recommended again. */
export function isWatched({ event_type, watch_pct }: Told): boolean {
  if (event_type === 'VIEW') return watch_pct === null || watch_pct >= WATCHED_SHARE
  return event_type === 'PURCHASE' || event_type === 'RATE' || event_type === 'SKIP'
}

/** Returns whether the item counts as viewed: for the last five, the session and near items. */
export function isViewed(type: InteractionType): boolean {
  return type !== 'SKIP' && type !== 'NOT_INTERESTED'
}
