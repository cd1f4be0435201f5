import { type LimitRule, ruleOf } from '../limit-rule.ts'
import { perMinute } from '../seeded-limit.ts'

/** Maximum number of new products per minute and seller. A bulk request counts once per product. */
const CREATIONS_PER_MINUTE = 100
/** Maximum number of replacements per minute and caller. Each replacement may have 20 images to decode. */
const REPLACEMENTS_PER_MINUTE = 300

export const CATALOG_LIMITS: readonly LimitRule[] = [
  ruleOf({
    rule_id: 'catalog-create',
    endpoint_pattern: 'POST /api/v1/seller/products',
    limit_count: CREATIONS_PER_MINUTE,
    window_seconds: 60,
    // The subject of the token is the seller. A seller has one counter, with or without an API key. Sellers who use the
    // same API key have separate counters.
    key: ['user'],
  }),
  perMinute('catalog-replace', 'PUT /api/v1/seller/products/*', REPLACEMENTS_PER_MINUTE),
  perMinute('catalog-search', 'GET /api/v1/products/search', 1_200),
  perMinute('catalog-suggest', 'GET /api/v1/products/suggest', 3_000),
  perMinute('catalog-shop', 'GET /shop', 600),
  perMinute('catalog-review', 'POST /api/v1/products/{product_id}/reviews', 300),
]
