import { type GivenRule, type LimitRule, ruleOf } from './limit-rule.ts'

const MINUTE_SECONDS = 60

/**
 * Creates an initial rule that limits how many requests per minute a caller can send to a costly route. The limit is
 * generous for people and their programs, but stops a caller who would otherwise use the whole capacity of an API.
 *
 * The key of the rule is `client` and `endpoint`, not the usual `client`. If several matching rules have the same key,
 * only the most specific rule applies. With the key `client`, this rule would therefore replace an administrator's rule
 * with a broader pattern. With a different key, both rules apply.
 */
export function perMinute(rule_id: string, endpoint_pattern: string, limit_count: number): LimitRule {
  const given: GivenRule = { rule_id, endpoint_pattern, limit_count, window_seconds: MINUTE_SECONDS, key: ['client', 'endpoint'] }
  return ruleOf(given)
}
