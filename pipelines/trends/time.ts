/** Units of time in the trends service: minutes, hours and weeks since 1970, UTC. */
export const MINUTE_MS = 60_000
export const MINUTES_PER_HOUR = 60
export const HOURS_PER_DAY = 24
export const HOURS_PER_WEEK = 168

/**
 * Number of one-minute buckets in the sliding window, including the current one:
 * docs/services/trends.md#window-and-volumes
 */
export const WINDOW_MINUTES = 60
/** Interval between lists. Every other list is the snapshot of its minute: docs/services/trends.md#freshness */
export const RENEWAL_MS = 30_000
/**
 * Condition for lists that are made without some partitions. If at most a quarter of a stage's partitions are a minute
 * behind the others, the lists do not wait for them, so that one stuck partition does not make all lists stale:
 * docs/services/trends.md#incomplete-lists
 */
export const CLOSE_WITHOUT = { share: 0.25, afterMs: MINUTE_MS } as const
/**
 * How far the time of a tweet may be ahead of the clock. Tweets further ahead become dead letters:
 * docs/services/trends.md#what-counts
 */
export const MAX_AHEAD_MINUTES = 5
export const MAX_AHEAD_MS = MAX_AHEAD_MINUTES * MINUTE_MS

export function minuteOf(ms: number): number {
  return Math.floor(ms / MINUTE_MS)
}

/**
 * Returns the newest bucket of the window that ends at `windowEnd`: for a whole minute the bucket before `windowEnd`,
 * for a half minute the current bucket.
 */
export function lastMinuteOf(windowEnd: number): number {
  return Math.floor((windowEnd - 1) / MINUTE_MS)
}

/**
 * Returns the newest hour whose counts are final once the window that ends at `windowEnd` is closed. Later
 * contributions to that hour are older than the window and are not counted. The extra minute covers the minute that is
 * still running.
 */
export function lastFinalHour(windowEnd: number): number {
  return hourOfMinute(minuteOf(windowEnd) - WINDOW_MINUTES - 1) - 1
}

export function hourOfMinute(minute: number): number {
  return Math.floor(minute / MINUTES_PER_HOUR)
}

/**
 * Returns the hour of the week, from 0 to 167. Weeks begin on Thursday, as 1970 did; any other day would work as well.
 */
export function hourOfWeek(hour: number): number {
  return hour % HOURS_PER_WEEK
}

export function weekOf(hour: number): number {
  return Math.floor(hour / HOURS_PER_WEEK)
}
