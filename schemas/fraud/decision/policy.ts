import shipped from '../models/shipped/default.json' with { type: 'json' }

/** Name of a model. Its score has the same name. */
export type ModelName = 'account_takeover' | 'payment_fraud' | 'money_laundering'

export const MODELS: readonly ModelName[] = ['account_takeover', 'payment_fraud', 'money_laundering']

/** Probabilities from 0 to 1. */
export type ModelScores = Readonly<Record<ModelName, number>>

export type Decision = 'APPROVE' | 'REVIEW' | 'BLOCK'
export type RiskLevel = 'LOW' | 'MEDIUM' | 'HIGH' | 'CRITICAL'

/** The lowest score of each level above LOW. */
export interface Levels {
  readonly medium: number
  readonly high: number
  readonly critical: number
}

/**
 * Probabilities at which one model alone raises the score to the lowest score of a level. If a level has no threshold,
 * the model cannot reach this level alone.
 */
export type AloneThresholds = Partial<Levels>

/**
 * The parameters that turn rules and model scores into a decision; see docs/services/fraud.md#decision. A policy is
 * published together with the models whose scores it was calibrated for.
 */
export interface Policy {
  /** Version of the policy. It increases with every change and is 0 for the default policy. */
  readonly version: number
  /** Weights of the three models. They add up to 1. */
  readonly weights: ModelScores
  readonly levels: Levels
  /** Minimum scores at which the models alone require a review or a block. */
  readonly thresholds: { readonly review: number; readonly block: number }
  /**
   * Thresholds at which each model can raise the score by itself. They are needed because a single model that is
   * certain has too little effect on the weighted sum: with the default weights, payment_fraud alone adds at most 600,
   * and account_takeover at most 250.
   */
  readonly alone: Readonly<Record<ModelName, AloneThresholds>>
  /** Minimum scores when the winning rule has one of these actions. */
  readonly floors: { readonly review: number; readonly block: number }
  /** Amounts in USD for transactions whose user profile could not be read. */
  readonly default_profile: {
    /** Below this amount only rules decide. */
    readonly rules_only_below: number
    /** For this amount or more, the decision is at least REVIEW. */
    readonly review_from: number
  }
}

export const MAX_SCORE = 1_000

/**
 * The policy that is used until models are published with their own thresholds. `npm run fraud:train` computes the
 * thresholds of the shipped models.
 */
export const DEFAULT_POLICY: Policy = {
  version: 0,
  weights: { account_takeover: 0.25, payment_fraud: 0.6, money_laundering: 0.15 },
  levels: { medium: 300, high: 600, critical: 850 },
  thresholds: { review: 600, block: 850 },
  alone: shipped.alone,
  floors: { review: 600, block: 850 },
  default_profile: { rules_only_below: 100, review_from: 1_000 },
}

/**
 * Maximum difference between the sum of the weights and 1. Weights are written with few decimals, so only rounding may
 * cause a difference.
 */
const WEIGHT_TOLERANCE = 1e-9

/** Returns what is wrong with a policy, in sentences that name the field; an empty list if the policy is valid. */
export function policyFaults(policy: Policy): string[] {
  const { weights, levels, thresholds, alone, floors, default_profile: limits } = policy
  const sum = MODELS.reduce((total, model) => total + weights[model], 0)
  const checks: [isRight: boolean, fault: string][] = [
    [Number.isSafeInteger(policy.version) && policy.version >= 0, 'version must be an integer of at least 0.'],
    [MODELS.every((model) => weights[model] >= 0), 'weights must not be negative.'],
    [Math.abs(sum - 1) <= WEIGHT_TOLERANCE, 'weights must sum to 1.'],
    [areAscending([0, levels.medium, levels.high, levels.critical, MAX_SCORE]), 'levels must satisfy 0 ≤ medium ≤ high ≤ critical ≤ 1000.'],
    [areAscending([0, thresholds.review, thresholds.block, MAX_SCORE]), 'thresholds must satisfy 0 ≤ review ≤ block ≤ 1000.'],
    [areAscending([0, floors.review, floors.block, MAX_SCORE]), 'floors must satisfy 0 ≤ review ≤ block ≤ 1000.'],
    ...MODELS.map((model): [boolean, string] => [
      areAscending([0, ...aloneOf(alone[model]), 1]),
      `alone.${model} must satisfy 0 ≤ medium ≤ high ≤ critical ≤ 1.`,
    ]),
    [areAscending([0, limits.rules_only_below, limits.review_from]), 'default_profile must satisfy 0 ≤ rules_only_below ≤ review_from.'],
  ]
  return checks.filter(([isRight]) => !isRight).map(([, fault]) => fault)
}

function aloneOf({ medium, high, critical }: AloneThresholds): number[] {
  return [medium, high, critical].filter((threshold) => threshold !== undefined)
}

/** Returns whether the numbers never decrease. Returns false if any number is not finite. */
function areAscending(numbers: readonly number[]): boolean {
  return numbers.every((number, index) => Number.isFinite(number) && (index === 0 || number >= numbers[index - 1]))
}
