import type { LimitRule } from '../limit-rule.ts'
import { perMinute } from '../seeded-limit.ts'

export const TRENDS_LIMITS: readonly LimitRule[] = [
  perMinute('trends-history', 'GET /v1/trends/{term}/history', 600),
  perMinute('trends-past', 'GET /v1/trends/{woeid}/past', 600),
  perMinute('trends-page', 'GET /trends', 600),
  perMinute('trends-interests', 'PUT /v1/me/interests', 600),
]
