import { type LimitRule, ruleOf } from '../limit-rule.ts'
import { perMinute } from '../seeded-limit.ts'

const MINUTE_SECONDS = 60
const perUser = { window_seconds: MINUTE_SECONDS, key: ['user' as const] }

/** Limits that stop programs from crowding out the requests of people; see docs/services/recommendations.md#limits. */
export const RECOMMENDATIONS_LIMITS: readonly LimitRule[] = [
  ruleOf({ rule_id: 'recommendations-events', endpoint_pattern: 'POST /api/v1/events', limit_count: 1_200, ...perUser }),
  ruleOf({ rule_id: 'recommendations-lists', endpoint_pattern: 'GET /api/v1/recommendations', limit_count: 600, ...perUser }),
  perMinute('recommendations-similar', 'GET /api/v1/items/{item_id}/similar', 1_200),
  perMinute('recommendations-hide', '/api/v1/me/not-interested', 600),
  perMinute('recommendations-preferences', 'PUT /api/v1/me/preferences', 600),
]
