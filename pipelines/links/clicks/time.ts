export const HOUR_MS = 3_600_000
export const DAY_MS = 24 * HOUR_MS
/** Statistics show the hours of the last two days, the running one included. */
export const KEPT_HOURS = 48
/** Clocks of producers differ; more than this is a mistake, not a difference. */
export const MAX_AHEAD_MS = 5 * 60_000
