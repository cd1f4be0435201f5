import { type LimitRule, ruleOf } from '../limit-rule.ts'
import { perMinute } from '../seeded-limit.ts'

const MINUTE_SECONDS = 60
const DAY_SECONDS = 86_400
const perUser = { window_seconds: MINUTE_SECONDS, key: ['user' as const] }

/**
 * Rate limits of the matching service: docs/services/matches.md#rate-limits. The limits on swipes, the feed and
 * locations stop bots, and users who try to compute another user's location. All other limits are generous, and protect
 * the capacity of the service.
 */
export const MATCHES_LIMITS: readonly LimitRule[] = [
  ruleOf({ rule_id: 'matches-swipe', endpoint_pattern: 'POST /v1/swipe', limit_count: 100, ...perUser }),
  ruleOf({ rule_id: 'matches-feed', endpoint_pattern: 'GET /v1/feed', limit_count: 60, ...perUser }),
  ruleOf({ rule_id: 'matches-location', endpoint_pattern: 'POST /v1/location', limit_count: 30, ...perUser }),
  perMinute('matches-rewind', 'POST /v1/swipe/rewind', 300),
  perMinute('matches-profile', '/v1/me', 600),
  perMinute('matches-likes', 'GET /v1/likes', 600),
  perMinute('matches-list', 'GET /v1/matches', 600),
  perMinute('matches-unmatch', 'DELETE /v1/matches/*', 300),
  perMinute('matches-blocks', 'GET /v1/blocks', 600),
  perMinute('matches-block', '/v1/blocks/*', 300),
  // Each change stores a record for both users for 48 hours, even if the other user does not exist. This limit bounds
  // the number of such records.
  ruleOf({
    rule_id: 'matches-block-daily',
    endpoint_pattern: '/v1/blocks/*',
    limit_count: 1_000,
    window_seconds: DAY_SECONDS,
    key: ['user', 'endpoint'],
  }),
]
