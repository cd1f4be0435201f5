import type { LimitRule } from './types.ts'

/** Every tier. */
export const ANY_TIER = '*'

/** A rule that is written in code: what is left out has the value that the admin API gives it. */
export type GivenRule = Pick<LimitRule, 'rule_id' | 'endpoint_pattern' | 'limit_count' | 'window_seconds'> & Partial<LimitRule>

export function ruleOf(given: GivenRule): LimitRule {
  return {
    tier: ANY_TIER,
    key: ['client'],
    burst_allowance: 0,
    action: 'reject',
    is_active: true,
    created_at: 0,
    updated_at: 0,
    ...given,
  }
}

/**
 * Rules that are there from the start; one of the same id in the topic of rules replaces its seed, an inactive one too.
 * Snippets (specification C): 10 creations a minute for anonymous callers, by address; 100 for everybody else.
 */
export const SEEDED_RULES: readonly LimitRule[] = [
  ruleOf({ rule_id: 'snippets-create', endpoint_pattern: 'POST /api/v1/pastes', limit_count: 100, window_seconds: 60 }),
  ruleOf({
    rule_id: 'snippets-create-anonymous',
    endpoint_pattern: 'POST /api/v1/pastes',
    key: ['ip'],
    limit_count: 10,
    window_seconds: 60,
  }),
]
