import type { LimitRule } from '../limit-rule.ts'
import { perMinute } from '../seeded-limit.ts'

/** Rate limits of the link service. In a bulk request, every link counts as one creation. */
export const LINKS_LIMITS: readonly LimitRule[] = [
  perMinute('links-create', 'POST /api/v1/urls', 1_200),
  perMinute('links-change', '/api/v1/urls/{short_code}', 1_200),
  perMinute('links-list', 'GET /api/v1/urls', 1_200),
  perMinute('links-stats', 'GET /api/v1/urls/{short_code}/stats', 1_200),
  perMinute('links-export', 'GET /api/v1/urls/{short_code}/clicks.csv', 300),
  perMinute('links-qr', 'GET /api/v1/urls/{short_code}/qr', 1_200),
]
