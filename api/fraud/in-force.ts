import type { ModelName, ModelScores, Policy } from '../../schemas/fraud/decision/policy.ts'
import type { ModelInput } from '../../schemas/fraud/models/inputs.ts'
import type { Lists } from '../../schemas/fraud/rules/facts.ts'
import type { RuleSet } from '../../schemas/fraud/rules/rule-set.ts'
import type { Snoozes } from '../../schemas/fraud/rules/snoozes.ts'
import type { RuleTallies } from '../../schemas/fraud/rules/tallies.ts'
import type { FraudBlocklistType, FraudRequest, FraudRiskFactor } from '../../schemas/fraud/types.ts'
import type { ReadinessProbe } from '../kit/readiness.ts'

/** What analysts and operators have set, as this process knows it now. */
export interface SettingsInForce {
  readonly ruleSet: RuleSet
  /** The counters of `ruleSet`; both change together. */
  readonly tallies: RuleTallies
  readonly lists: Lists
  readonly snoozes: Snoozes
  /** The policy belongs to the models, so both change together. */
  readonly policy: Policy
  readonly models: ModelAssignment
  /** Whether the settings may lack changes. In that case, the answers of such a process name `rules` in `degraded`. */
  readonly isStale: boolean
  readonly probes: readonly ReadinessProbe[]
  close(): Promise<unknown>
}

/** The versions of the models by name. */
export type ModelVersions = Readonly<Partial<Record<ModelName, string>>>

/** Which versions of the models score. A model that is not named here has the version that is shipped. */
export interface ModelAssignment {
  readonly champion: ModelVersions
  /** Models that score 5 % of the transactions without effect; undefined: none. */
  readonly challenger: ModelVersions | undefined
}

/** The blocklist, as this process knows it now. */
export interface BlocklistInForce {
  /**
   * Returns the type of the first entity of a transaction that is on the list; undefined if none is.
   * @param request has canonical values, as `schemas/fraud/canonical.ts` makes them
   * Throws ApiError `not_ready` until the list is read, or until its snapshot is used.
   */
  find(request: FraudRequest): FraudBlocklistType | undefined
  /** Whether the list may lack changes. In that case, the answers of such a process name `blocklist` in `degraded`. */
  readonly isStale: boolean
  readonly probes: readonly ReadinessProbe[]
  close(): Promise<unknown>
}

export interface ModelOutcome {
  readonly scores: ModelScores
  readonly versions: ModelVersions
  /** The policy that was set together with these models. It decides, even while newer models are still loading. */
  readonly policy: Policy
  /** Undefined if the transaction is not in the challenger's share. */
  readonly challenger: ModelScores | undefined
  /** What raised the scores most, strongest first; at most five. */
  readonly factors: readonly FraudRiskFactor[]
}

/** Scores transactions in a process of its own. */
export interface ModelScorer {
  /**
   * Returns undefined if the models are unavailable or late. Never throws. All calls in one turn of the event loop
   * share a batch.
   */
  score(input: ModelInput): Promise<ModelOutcome | undefined>
  readonly probes: readonly ReadinessProbe[]
  close(): Promise<unknown>
}
