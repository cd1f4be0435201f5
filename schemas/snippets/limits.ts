import { type LimitRule, ruleOf } from '../limit-rule.ts'
import { perMinute } from '../seeded-limit.ts'

/** Rate limits of the snippet service. Anonymous callers may create 10 snippets a minute, and all others 100. */
export const SNIPPETS_LIMITS: readonly LimitRule[] = [
  ruleOf({ rule_id: 'snippets-create', endpoint_pattern: 'POST /api/v1/pastes', limit_count: 100, window_seconds: 60 }),
  ruleOf({
    rule_id: 'snippets-create-anonymous',
    endpoint_pattern: 'POST /api/v1/pastes',
    key: ['ip'],
    limit_count: 10,
    window_seconds: 60,
  }),
  perMinute('snippets-delete', 'DELETE /api/v1/pastes/{paste_id}', 1_200),
  perMinute('snippets-diff', 'GET /api/v1/pastes/{paste_id}/diff', 600),
  perMinute('snippets-list', 'GET /api/v1/users/{user_id}/pastes', 1_200),
  perMinute('snippets-search', 'GET /api/v1/pastes', 1_200),
  perMinute('snippets-page', '/p/{paste_id}', 600),
]
