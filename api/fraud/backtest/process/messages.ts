import type { Policy } from '../../../../schemas/fraud/decision/policy.ts'
import type { Rule } from '../../../../schemas/fraud/rules/rule.ts'
import type { SnoozedPeriod } from '../../../../schemas/fraud/rules/snoozes.ts'
import type { ClickhouseSettings } from '../../../../state/settings.ts'
import type { LoggedQuery } from '../../../../state/tables/fraud/logged.ts'
import type { ReplayResult } from '../report.ts'

/** Settings of the replay. Lists and snoozes follow in separate messages, because they can be large. */
export interface ReplayOrder {
  readonly version: number
  readonly rules: readonly Rule[]
  readonly policy: Policy
  readonly query: LoggedQuery
  readonly clickhouse: ClickhouseSettings
}

/** Messages to the replay process: one order, then any number of lists and snoozes, then the start. */
export type ToReplayProcess =
  | { readonly kind: 'order'; readonly order: ReplayOrder }
  | { readonly kind: 'list'; readonly name: string; readonly values: ReadonlySet<string> }
  | { readonly kind: 'snoozes'; readonly ruleId: string; readonly periods: ReadonlyMap<string, SnoozedPeriod> }
  | { readonly kind: 'start' }

/** Messages from the replay process: any number of `progress` messages, then one `done` or `failed`. */
export type FromReplayProcess =
  | { readonly kind: 'progress'; readonly progress: ReplayProgress }
  | { readonly kind: 'done'; readonly result: ReplayResult; readonly available: number }
  | ({ readonly kind: 'failed' } & ReplayFailure)

export interface ReplayFailure {
  readonly reason: string
  /** Whether callers of the API may see the reason. Otherwise, only the log may contain it. */
  readonly isPublic: boolean
}

export interface ReplayProgress {
  /** Number of transactions judged so far. */
  readonly transactions: number
  /** Approximate number of transactions in the whole sample. */
  readonly expected: number
}
