import type { Policy } from '../../../schemas/fraud/decision/policy.ts'
import { MAX_SCORE } from '../../../schemas/fraud/decision/policy.ts'
import type { Rule } from '../../../schemas/fraud/rules/rule.ts'
import type { FraudRiskFactor } from '../../../schemas/fraud/types.ts'

const MOST_FACTORS = 5

/**
 * Returns the factors that raised the risk most, strongest first. A factor is either a matched rule or a feature. The
 * contribution of a rule is the lowest risk score that its action permits (its floor in the policy), divided by the
 * maximum score. STEP_UP has no floor, so the score at which the level MEDIUM begins is used instead. The contribution
 * of a feature is its contribution to a model's score: docs/services/fraud.md#risk-factors
 * @param byModels factors from the models, strongest first
 */
export function riskFactors(policy: Policy, matched: readonly Rule[], byModels: readonly FraudRiskFactor[]): FraudRiskFactor[] {
  const byRules = matched
    .map((rule) => ({ factor: `rule:${rule.rule_id}`, contribution: contributionOf(policy, rule) }))
    .filter(({ contribution }) => contribution > 0)
  // The sort is stable, so rules with equal contributions stay in order of precedence.
  return [...byRules, ...byModels].sort((one, other) => other.contribution - one.contribution).slice(0, MOST_FACTORS)
}

function contributionOf({ floors, levels }: Policy, { action }: Rule): number {
  const score = { BLOCK: floors.block, REVIEW: floors.review, STEP_UP: levels.medium, APPROVE: 0 }[action]
  return score / MAX_SCORE
}
