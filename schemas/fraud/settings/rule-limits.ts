import { isActive, MAX_ACTIVE_RULES, type Rule } from '../rules/rule.ts'
import { jsonBytes, MAX_RULE_SET_BYTES, MAX_RULES } from './limits.ts'

/**
 * Returns a sentence about the limit that a change to the rules would exceed; undefined if the change is allowed. A
 * limit that is already exceeded forbids only changes that exceed it further.
 * @param now epoch ms
 */
export function exceededRuleLimit(current: readonly Rule[], rules: readonly Rule[], now: number): string | undefined {
  const active = activeCount(rules, now)
  if (active > MAX_ACTIVE_RULES && active > activeCount(current, now)) return `At most ${MAX_ACTIVE_RULES} rules may be active.`
  if (rules.length > MAX_RULES && rules.length > current.length)
    return `There may be at most ${MAX_RULES} rules. Remove some that are disabled.`
  const bytes = jsonBytes(rules)
  if (bytes > MAX_RULE_SET_BYTES && bytes > jsonBytes(current)) return `All rules together may have at most ${MAX_RULE_SET_BYTES} bytes.`
  return undefined
}

function activeCount(rules: readonly Rule[], now: number): number {
  return rules.filter((rule) => isActive(rule, now)).length
}
