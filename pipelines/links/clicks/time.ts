export const HOUR_MS = 3_600_000
export const DAY_MS = 24 * HOUR_MS
/** Number of hours in the statistics. They cover the last two days, including the current hour. */
export const KEPT_HOURS = 48
/**
 * How far the timestamp of a click may be ahead of the worker's clock. If it is further ahead, the producer's clock is
 * wrong.
 */
export const MAX_AHEAD_MS = 5 * 60_000
