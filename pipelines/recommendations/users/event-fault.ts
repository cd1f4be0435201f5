import { isItemId } from '../../../schemas/recommendations/item-id.ts'
import type { Interaction, RecommendationUser, UserPreferences } from '../../../schemas/recommendations/types.ts'
import { MINUTE_MS } from '../../../schemas/retention.ts'

/** How far a time may be ahead of its record's arrival. This is twice the limit of the API, because clocks differ. */
const MAX_AHEAD_MS = 10 * MINUTE_MS
const MOST_STARS = 5
/**
 * Maximum length of a property of a user. Properties are codes. The activity of an item contains a copy of some
 * properties for each event, so long properties would make it larger than a record can be.
 */
const MAX_PROPERTY_CHARACTERS = 100
/**
 * Maximum size of a user's preferences. The features of a user contain them and up to 100 KB of other data, and must
 * fit into a record. The API accepts 100 preferences, which take at most 540,000 bytes after normalisation.
 */
const MAX_PREFERENCES_BYTES = 600_000
/** Maximum weight of a preference. The API accepts weights from -1 to 1. */
const MAX_WEIGHT = 1
/** Size of a preference's weight and of the lengths of its texts. */
const PREFERENCE_OVERHEAD_BYTES = 14

type CheckedFields = Pick<Interaction, 'item_id' | 'timestamp' | 'rating' | 'watch_pct' | 'dwell_time_sec'>

/**
 * Returns why an event cannot be counted; undefined if it can. The API rejects such events, but other producers may
 * write to the topic. A single NaN, or a time far in the future, would permanently corrupt the statistics of an item.
 * @param arrivedAt epoch ms
 */
export function eventFault(
  { item_id, timestamp, rating, watch_pct, dwell_time_sec }: CheckedFields,
  arrivedAt: number,
): string | undefined {
  const fault = timeFault(timestamp, arrivedAt)
  if (fault !== undefined) return fault
  if (!isItemId(item_id)) return 'The id of the item is not positive.'
  if (!isWithin(rating, MOST_STARS)) return `The rating is not a number from 0 to ${MOST_STARS}.`
  if (!isWithin(watch_pct, 1)) return 'The watched share is not a number from 0 to 1.'
  return isWithin(dwell_time_sec, Number.MAX_VALUE) ? undefined : 'The dwell time is not a number of seconds, or is negative.'
}

/** Returns why a record about a user cannot be used; undefined if it can. */
export function userFault({ country, language, age_bucket }: RecommendationUser): string | undefined {
  const isLong = [country, language, age_bucket].some((text) => text !== null && text.length > MAX_PROPERTY_CHARACTERS)
  return isLong ? `A property of the user has more than ${MAX_PROPERTY_CHARACTERS} characters.` : undefined
}

/** Returns why a record of a user's preferences cannot be used; undefined if it can. */
export function preferencesFault({ preferences }: UserPreferences): string | undefined {
  // The comparison is false for NaN, which the API's answers cannot contain.
  if (!preferences.every(({ weight }) => Math.abs(weight) <= MAX_WEIGHT)) return 'A weight is not a number from -1 to 1.'
  let bytes = 0
  for (const { category, value } of preferences) bytes += PREFERENCE_OVERHEAD_BYTES + Buffer.byteLength(category) + Buffer.byteLength(value)
  return bytes > MAX_PREFERENCES_BYTES ? `The preferences take more than ${MAX_PREFERENCES_BYTES} bytes.` : undefined
}

/** Returns why the time of a record is invalid; undefined if it is valid. Both times are in epoch ms. */
export function timeFault(time: number, arrivedAt: number): string | undefined {
  return time < 0 || time > arrivedAt + MAX_AHEAD_MS
    ? `The time is before 1970, or more than ${MAX_AHEAD_MS / MINUTE_MS} minutes ahead of the arrival of the record.`
    : undefined
}

/** Returns true if a value is null or a number from 0 to `most`. NaN fails both comparisons. */
function isWithin(value: number | null, most: number): boolean {
  return value === null || (value >= 0 && value <= most)
}
