import { type LimitRule, ruleOf } from '../limit-rule.ts'

const MINUTE_SECONDS = 60
const perMinute = { window_seconds: MINUTE_SECONDS, key: ['user' as const] }

/**
 * Limits that stop bots, and users who try to compute another user's place; see docs/services/matches.md#rate-limits.
 */
export const MATCHES_LIMITS: readonly LimitRule[] = [
  ruleOf({ rule_id: 'matches-swipe', endpoint_pattern: 'POST /v1/swipe', limit_count: 100, ...perMinute }),
  ruleOf({ rule_id: 'matches-feed', endpoint_pattern: 'GET /v1/feed', limit_count: 60, ...perMinute }),
  ruleOf({ rule_id: 'matches-location', endpoint_pattern: 'POST /v1/location', limit_count: 30, ...perMinute }),
]
