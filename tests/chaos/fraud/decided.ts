import { replay } from '../../../api/fraud/backtest/replay.ts'
import { DEFAULT_POLICY, type Policy } from '../../../schemas/fraud/decision/policy.ts'
import { NO_LISTS } from '../../../schemas/fraud/rules/facts.ts'
import { compileRuleSet, type RuleSet } from '../../../schemas/fraud/rules/rule-set.ts'
import { NO_SNOOZES } from '../../../schemas/fraud/rules/snoozes.ts'
import { RuleTallies } from '../../../schemas/fraud/rules/tallies.ts'
import { initialRuleSet } from '../../../schemas/fraud/settings/initial.ts'
import { policyOf } from '../../../schemas/fraud/settings/policy.ts'
import type { TxnScored } from '../../../schemas/fraud/types.ts'
import type { Evidence, Logs } from './evidence.ts'

/**
 * Checks that each logged decision follows from the logged features, rule set, policy and model scores, and that
 * `degraded` names what was missing.
 */
export function decided({ logs }: Evidence): string[] {
  const ruleSets = ruleSetsOf(logs)
  const policies = policiesOf(logs)
  return logs.scored.flatMap(({ value }) => {
    const ruleSet = ruleSets.get(value.ruleset_version)
    const policy = policies.get(value.policy_version)
    const what = `transaction ${value.request.transaction_id}`
    if (ruleSet === undefined || policy === undefined)
      return [`${what} has the rules ${value.ruleset_version} and the policy ${value.policy_version}, of which at least one was never set`]
    return [...difference(what, value, ruleSet, policy), ...unsaid(what, value)]
  })
}

/**
 * Checks that `degraded` names the models and the profiles if they were unavailable. A blocklist hit needs neither, so
 * it is not checked.
 */
function unsaid(what: string, { reason, degraded, ml_scores, features }: TxnScored): string[] {
  if (reason === 'blocklist_hit') return []
  const lacks = { models: !ml_scores.evaluated, profiles: features.user_txn_count === null }
  return Object.entries(lacks).flatMap(([part, isAway]) =>
    isAway && !degraded.includes(part) ? [`${what} was scored without ${part} and does not say so`] : [],
  )
}

function difference(what: string, logged: TxnScored, ruleSet: RuleSet, policy: Policy): string[] {
  const { outcome, verdict } = replay(
    { ruleSet, lists: NO_LISTS, snoozes: NO_SNOOZES, policy },
    { ...logged, verdict: null },
    new RuleTallies(ruleSet),
  )
  const ids = (rules: readonly { readonly rule_id: string }[] = []) => rules.map(({ rule_id }) => rule_id)
  const expected = { ...verdict, triggered_rules: ids(outcome?.matched), shadow_rules: ids(outcome?.shadow) }
  const { decision, risk_score, risk_level, requires_3ds, reason, triggered_rules, shadow_rules } = logged
  const is = { decision, risk_score, risk_level, requires_3ds, reason, triggered_rules, shadow_rules }
  return JSON.stringify(expected) === JSON.stringify(is)
    ? []
    : [`${what} was logged with ${JSON.stringify(is)}, and evaluates to ${JSON.stringify(expected)}`]
}

function ruleSetsOf({ settings }: Logs): Map<number, RuleSet> {
  const all = [initialRuleSet(), ...settings.flatMap(({ value }) => value?.rules ?? [])]
  return new Map(all.map(({ version, rules }) => [version, compileRuleSet(version, rules)]))
}

function policiesOf({ settings }: Logs): Map<number, Policy> {
  const set = settings.flatMap(({ value }) => (value?.models ? [policyOf(value.models.champion.policy)] : []))
  return new Map([DEFAULT_POLICY, ...set].map((policy) => [policy.version, policy]))
}
