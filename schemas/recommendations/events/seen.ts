import { DAY_MS } from '../../retention.ts'

const LIFETIME_DAYS = 90

/**
 * Properties of a user's set of watched items, for its writer and for readers of its pages; see
 * docs/services/recommendations.md#watched-and-hidden. An entry may be kept for up to a tenth longer than its lifetime.
 */
export const WATCHED_SHAPE = { capacity: 20_000, errorRate: 0.001, lifetimeMs: LIFETIME_DAYS * DAY_MS }
