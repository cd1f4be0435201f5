export const HOUR_MS = 3_600_000
export const DAY_MS = 24 * HOUR_MS
/** Statistics show the hours of the last two days, including the current one. */
export const KEPT_HOURS = 48
/** How far ahead of the clock a click may be. A larger difference is an error of the producer. */
export const MAX_AHEAD_MS = 5 * 60_000
