import { DAY_MS } from '../retention.ts'

/** How long swipes are kept: docs/services/matches.md#retention. After this time, a like no longer leads to a match. */
export const SWIPE_KEPT_DAYS = 90
export const SWIPE_KEPT_MS = SWIPE_KEPT_DAYS * DAY_MS
