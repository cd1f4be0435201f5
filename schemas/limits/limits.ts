import type { LimitRule } from '../limit-rule.ts'
import { perMinute } from '../seeded-limit.ts'

export const LIMITS_LIMITS: readonly LimitRule[] = [perMinute('limits-usage', 'GET /api/v1/rate-limits/usage/{client_id}', 600)]
