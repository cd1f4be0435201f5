const DAY_MS = 24 * 3_600_000
const LIFETIME_DAYS = 30

/**
 * Properties of users' seen-sets, for their writer and for readers of their pages; see docs/services/matches.md#seen.
 * An entry may be kept for up to a tenth longer than its lifetime.
 */
export const SEEN_SHAPE = { capacity: 50_000, errorRate: 0.01, lifetimeMs: LIFETIME_DAYS * DAY_MS }
