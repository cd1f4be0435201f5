import { type GivenRule, type LimitRule, ruleOf } from './limit-rule.ts'

const MINUTE_SECONDS = 60

/**
 * Creates an initial rule that limits each caller's requests per minute to a costly route. The limit is generous for
 * people and their programs, but stops a caller who would otherwise use the whole capacity of an API.
 *
 * The key of the rule is not the usual `client`. With that key, the rule would be more specific than an administrator's
 * rule with a broader pattern, and would replace that rule. With a different key, both rules apply.
 */
export function perMinute(rule_id: string, endpoint_pattern: string, limit_count: number): LimitRule {
  const given: GivenRule = { rule_id, endpoint_pattern, limit_count, window_seconds: MINUTE_SECONDS, key: ['client', 'endpoint'] }
  return ruleOf(given)
}
