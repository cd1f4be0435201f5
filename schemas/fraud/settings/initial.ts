import { DEFAULT_POLICY } from '../decision/policy.ts'
import { SEEDED_RULES } from '../rules/seeded.ts'
import type { FraudModels, FraudRuleSet } from '../types.ts'
import { policyRecord } from './policy.ts'

const SEEDED_BY = 'millrace'

/** Returns the rule set that applies until the rules are first changed. Until then, no record contains this set. */
export function initialRuleSet(): FraudRuleSet {
  const rules = SEEDED_RULES.map((rule) => ({ ...rule }))
  return { version: 0, rules, history: [{ version: 0, changed_by: SEEDED_BY, at: 0, action: 'seed', rule_id: null, rules: rules.length }] }
}

/** Returns the models that apply until others are assigned: the shipped models, with the default policy. */
export function initialModels(): FraudModels {
  const champion = { versions: {}, policy: policyRecord(DEFAULT_POLICY), since: 0, set_by: SEEDED_BY }
  return { champion, challenger: null, previous: [], policies: DEFAULT_POLICY.version }
}
