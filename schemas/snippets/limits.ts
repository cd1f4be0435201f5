import { type LimitRule, ruleOf } from '../limit-rule.ts'

/** Creations per minute: 10 per address for anonymous callers, and 100 for everyone else. */
export const SNIPPETS_LIMITS: readonly LimitRule[] = [
  ruleOf({ rule_id: 'snippets-create', endpoint_pattern: 'POST /api/v1/pastes', limit_count: 100, window_seconds: 60 }),
  ruleOf({
    rule_id: 'snippets-create-anonymous',
    endpoint_pattern: 'POST /api/v1/pastes',
    key: ['ip'],
    limit_count: 10,
    window_seconds: 60,
  }),
]
