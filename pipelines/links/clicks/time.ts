export const HOUR_MS = 3_600_000
export const DAY_MS = 24 * HOUR_MS
/** Number of hours in the statistics. They cover the last two days, including the current hour. */
export const KEPT_HOURS = 48
/** Maximum time by which a click may be ahead of the clock. A larger difference is an error of the producer. */
export const MAX_AHEAD_MS = 5 * 60_000
