import { type LimitRule, ruleOf } from '../limit-rule.ts'

/** Maximum number of new products per minute and seller. A bulk request counts once per product. */
const CREATIONS_PER_MINUTE = 100

export const CATALOG_LIMITS: readonly LimitRule[] = [
  ruleOf({
    rule_id: 'catalog-create',
    endpoint_pattern: 'POST /api/v1/seller/products',
    limit_count: CREATIONS_PER_MINUTE,
    window_seconds: 60,
  }),
]
