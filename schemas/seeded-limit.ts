import { type GivenRule, type LimitRule, ruleOf } from './limit-rule.ts'

const MINUTE_SECONDS = 60

/**
 * Creates an initial rule for a costly route: requests per minute and caller. It is generous for people and programs
 * that they write, and stops a caller who would occupy an API alone.
 *
 * Its key differs from the usual `client`, so that it applies in addition to rules by which an administrator limits
 * more paths, and does not take their place as the more specific one.
 */
export function perMinute(rule_id: string, endpoint_pattern: string, limit_count: number): LimitRule {
  const given: GivenRule = { rule_id, endpoint_pattern, limit_count, window_seconds: MINUTE_SECONDS, key: ['client', 'endpoint'] }
  return ruleOf(given)
}
