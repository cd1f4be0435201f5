import type { ModelName, ModelScores, Policy } from '../../schemas/fraud/decision/policy.ts'
import type { ModelInput } from '../../schemas/fraud/models/inputs.ts'
import type { Lists } from '../../schemas/fraud/rules/facts.ts'
import type { RuleSet } from '../../schemas/fraud/rules/rule-set.ts'
import type { Snoozes } from '../../schemas/fraud/rules/snoozes.ts'
import type { RuleTallies } from '../../schemas/fraud/rules/tallies.ts'
import type { FraudBlocklistType, FraudRequest, FraudRiskFactor } from '../../schemas/fraud/types.ts'
import type { ReadinessProbe } from '../kit/readiness.ts'

/** This process's current copy of the settings that operators change. */
export interface SettingsInForce {
  readonly ruleSet: RuleSet
  /** The counters of the rules in `ruleSet`. Every new rule set has new counters. */
  readonly tallies: RuleTallies
  readonly lists: Lists
  readonly snoozes: Snoozes
  /** The policy that belongs to `models`. Both always change together. */
  readonly policy: Policy
  readonly models: ModelAssignment
  /**
   * Whether the settings may lack recent changes. If true, the answers of this process contain `rules` in `degraded`.
   */
  readonly isStale: boolean
  readonly probes: readonly ReadinessProbe[]
  close(): Promise<unknown>
}

/** Versions of models, keyed by the name of the model. */
export type ModelVersions = Readonly<Partial<Record<ModelName, string>>>

/** The versions of the models that score. */
export interface ModelAssignment {
  /** For a model that is not listed, the shipped version is used. */
  readonly champion: ModelVersions
  /**
   * Models that score 5 % of the transactions without affecting decisions; undefined if there are none. For a model
   * that is not listed, the champion's version is used.
   */
  readonly challenger: ModelVersions | undefined
}

/** This process's current copy of the blocklist. */
export interface BlocklistInForce {
  /**
   * Returns the type of a blocked entity of a transaction; undefined if no entity is blocked. If several entities are
   * blocked, returns the type that comes first in `BLOCKLIST_TYPES`.
   * @param request a request with canonical values, as `schemas/fraud/canonical.ts` produces them
   * @throws ApiError `not_ready` until the list has been read or a snapshot is in use
   */
  find(request: FraudRequest): FraudBlocklistType | undefined
  /**
   * Whether the list may lack recent changes. If true, the answers of this process contain `blocklist` in `degraded`.
   */
  readonly isStale: boolean
  readonly probes: readonly ReadinessProbe[]
  close(): Promise<unknown>
}

export interface ModelOutcome {
  readonly scores: ModelScores
  readonly versions: ModelVersions
  /**
   * The policy that was set together with these models. It applies to their scores even while a newer policy is waiting
   * for its models to load.
   */
  readonly policy: Policy
  /** Scores of the challenger; undefined if the challenger did not score this transaction. */
  readonly challenger: ModelScores | undefined
  /**
   * The factors that raised the scores most, strongest first; at most five. Empty if the scores are low, or if too many
   * other transactions of the batch had higher scores.
   */
  readonly factors: readonly FraudRiskFactor[]
}

/** Scores transactions with models. The models run in a separate process. */
export interface ModelScorer {
  /**
   * Returns the scores; undefined if the models are unavailable or overloaded, or do not answer in time. Never throws.
   * All calls in one turn of the event loop share a batch.
   */
  score(input: ModelInput): Promise<ModelOutcome | undefined>
  readonly probes: readonly ReadinessProbe[]
  close(): Promise<unknown>
}
