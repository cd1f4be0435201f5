/** Times as the trends service counts them: minutes, hours and weeks since 1970, UTC. */
export const MINUTE_MS = 60_000
export const MINUTES_PER_HOUR = 60
const HOURS_PER_WEEK = 168

/** One-minute buckets in the sliding window, including the current one: docs/services/trends.md#window-and-volumes */
export const WINDOW_MINUTES = 60
/** Every second renewal is the minute's snapshot: docs/services/trends.md#freshness */
export const RENEWAL_MS = 30_000
/** Tweets that are further ahead of the clock go to the dead letters: docs/services/trends.md#what-counts */
export const MAX_AHEAD_MINUTES = 5
export const MAX_AHEAD_MS = MAX_AHEAD_MINUTES * MINUTE_MS

export function minuteOf(ms: number): number {
  return Math.floor(ms / MINUTE_MS)
}

/** The newest bucket of the window that ends at `windowEnd`: at a whole minute the one before, at a half minute the running one. */
export function lastMinuteOf(windowEnd: number): number {
  return Math.floor((windowEnd - 1) / MINUTE_MS)
}

export function hourOfMinute(minute: number): number {
  return Math.floor(minute / MINUTES_PER_HOUR)
}

/** 0-167; the week begins where 1970 did, on a Thursday, which is as good as any day. */
export function hourOfWeek(hour: number): number {
  return hour % HOURS_PER_WEEK
}

export function weekOf(hour: number): number {
  return Math.floor(hour / HOURS_PER_WEEK)
}

export function sameHourOfWeekBefore(hour: number): number {
  return hour - HOURS_PER_WEEK
}
