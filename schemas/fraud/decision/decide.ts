import type { RuleAction } from '../rules/rule.ts'
import { type Decision, type Levels, MAX_SCORE, MODELS, type ModelName, type ModelScores, type Policy, type RiskLevel } from './policy.ts'

/** What determined the decision: docs/services/fraud.md#decision */
export type DecisionReason = 'blocklist_hit' | 'rule' | 'models' | 'default_profile' | 'no_risk_found'

export interface DecisionInput {
  /** True if any entity of the transaction is on the blocklist. In that case, no other input matters. */
  readonly isBlocklisted: boolean
  /** The action of the winning rule; undefined if there is none. */
  readonly action: RuleAction | undefined
  /**
   * The scores of the models; undefined while the models are unavailable. If the scores are undefined, or any of them
   * is not a probability, the model score is 0, so the models do not affect the decision.
   */
  readonly scores: ModelScores | undefined
  /** True if the user's profile could not be read. False for a new user, whose empty profile was read. */
  readonly isDefaultProfile: boolean
  readonly amountUsd: number
}

export interface Verdict {
  readonly decision: Decision
  /** An integer from 0 to 1,000. */
  readonly risk_score: number
  readonly risk_level: RiskLevel
  readonly requires_3ds: boolean
  readonly reason: DecisionReason
}

const SEVERITY: Readonly<Record<Decision, number>> = { APPROVE: 0, REVIEW: 1, BLOCK: 2 }

/** Decides on a transaction. The same input and policy always give the same verdict. */
export function decide(policy: Policy, input: DecisionInput): Verdict {
  if (input.isBlocklisted) return verdict(policy, 'BLOCK', MAX_SCORE, false, 'blocklist_hit')
  const { action, isDefaultProfile, amountUsd } = input
  const isRulesOnly = isDefaultProfile && amountUsd < policy.default_profile.rules_only_below
  const modelScore = isRulesOnly || input.scores === undefined || !areProbabilities(input.scores) ? 0 : scoreOf(policy, input.scores)
  const byModels = modelsDecide(policy, modelScore)
  const ruled = rulesDecide(action, byModels)
  const score = Math.max(modelScore, floorOf(policy, action))
  const needsReview = isDefaultProfile && !(amountUsd < policy.default_profile.review_from)
  const decision = needsReview ? severer(ruled, 'REVIEW') : ruled
  return verdict(policy, decision, score, action === 'STEP_UP', reasonOf(action, byModels, ruled, decision))
}

/** Returns whether scores can be used. If not, the caller should report the models as unavailable. */
export function areProbabilities(scores: ModelScores): boolean {
  return MODELS.every((model) => scores[model] >= 0 && scores[model] <= 1)
}

/**
 * Returns the weighted sum of the scores times 1,000, rounded. If a single model's score is high enough for a risk
 * level (`alone` in the policy), the result is at least the lowest score of that level.
 */
function scoreOf(policy: Policy, scores: ModelScores): number {
  const sum = MODELS.reduce((total, model) => total + policy.weights[model] * scores[model], 0)
  const least = Math.max(...MODELS.map((model) => aloneScore(policy, model, scores[model])))
  return Math.min(MAX_SCORE, Math.max(Math.round(sum * MAX_SCORE), least))
}

function aloneScore({ alone, levels }: Policy, model: ModelName, probability: number): number {
  const reaches = (level: keyof Levels) => probability >= (alone[model][level] ?? Number.POSITIVE_INFINITY)
  if (reaches('critical')) return levels.critical
  if (reaches('high')) return levels.high
  return reaches('medium') ? levels.medium : 0
}

function modelsDecide({ thresholds }: Policy, score: number): Decision {
  if (score >= thresholds.block) return 'BLOCK'
  return score >= thresholds.review ? 'REVIEW' : 'APPROVE'
}

/**
 * Combines the rules' action with the models' decision. An APPROVE rule cancels the models' REVIEW, but only weakens
 * their BLOCK to REVIEW, so that no rule can hide a payment that is almost certainly fraudulent.
 */
function rulesDecide(action: RuleAction | undefined, byModels: Decision): Decision {
  switch (action) {
    case 'BLOCK':
      return 'BLOCK'
    case 'REVIEW':
      return severer(byModels, 'REVIEW')
    case 'APPROVE':
      return byModels === 'BLOCK' ? 'REVIEW' : 'APPROVE'
    default:
      return byModels
  }
}

function severer(one: Decision, other: Decision): Decision {
  return SEVERITY[one] >= SEVERITY[other] ? one : other
}

function floorOf({ floors }: Policy, action: RuleAction | undefined): number {
  if (action === 'BLOCK') return floors.block
  return action === 'REVIEW' ? floors.review : 0
}

function reasonOf(action: RuleAction | undefined, byModels: Decision, ruled: Decision, decision: Decision): DecisionReason {
  if (decision !== ruled) return 'default_profile'
  if (action !== undefined && action !== 'STEP_UP' && (ruled !== byModels || action === ruled)) return 'rule'
  if (byModels !== 'APPROVE') return 'models'
  return action === undefined ? 'no_risk_found' : 'rule'
}

function verdict(policy: Policy, decision: Decision, score: number, isStepUp: boolean, reason: DecisionReason): Verdict {
  return {
    decision,
    risk_score: score,
    risk_level: levelOf(policy.levels, score),
    // A blocked payment needs no authentication.
    requires_3ds: isStepUp && decision !== 'BLOCK',
    reason,
  }
}

function levelOf({ medium, high, critical }: Levels, score: number): RiskLevel {
  if (score >= critical) return 'CRITICAL'
  if (score >= high) return 'HIGH'
  return score >= medium ? 'MEDIUM' : 'LOW'
}
