import type { Interaction } from '../../../schemas/recommendations/types.ts'
import { MINUTE_MS } from '../../../schemas/retention.ts'

/** Longest time by which an event may be ahead of its arrival: twice what the API accepts, for clocks that differ. */
const MAX_AHEAD_MS = 10 * MINUTE_MS
const MOST_STARS = 5

/**
 * Returns why an event cannot be counted; undefined if it can. The API accepts no such event, but others may write to
 * the topic. A single number that is none, or a time far ahead, would spoil the statistics of an item forever.
 * @param arrivedAt epoch ms
 */
export function eventFault({ timestamp, rating, watch_pct, dwell_time_sec }: Interaction, arrivedAt: number): string | undefined {
  if (timestamp < 0 || timestamp > arrivedAt + MAX_AHEAD_MS) return 'The time is before 1970 or ahead of its arrival.'
  if (!isWithin(rating, MOST_STARS)) return 'The rating is not a number of stars.'
  if (!isWithin(watch_pct, 1)) return 'The watched share is not a number from 0 to 1.'
  return isWithin(dwell_time_sec, Number.MAX_VALUE) ? undefined : 'The dwell time is not a number of seconds.'
}

/** Returns whether a value is left out, or a number from 0 to `most`. A comparison with NaN is false. */
function isWithin(value: number | null, most: number): boolean {
  return value === null || (value >= 0 && value <= most)
}
