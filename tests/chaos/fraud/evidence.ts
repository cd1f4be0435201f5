import type { Decision } from '../../../schemas/commands/topics.ts'
import type { FraudCase, FraudFeedback, FraudProfile, FraudSetting, TxnScored } from '../../../schemas/fraud/types.ts'
import type { Logged } from '../log-reader.ts'
import type { Inflicted } from '../troubles.ts'
import type { Calls } from './requests.ts'

/** Records of the topics, in log order. */
export interface Logs {
  readonly scored: readonly Logged<TxnScored>[]
  readonly feedback: readonly Logged<FraudFeedback>[]
  readonly cases: readonly Logged<Decision<FraudCase>>[]
  readonly settings: readonly Logged<FraudSetting | null>[]
  /** The newest record of each entity. */
  readonly profiles: ReadonlyMap<string, FraudProfile>
}

/** Rows of ClickHouse, read with FINAL. */
export interface Tables {
  readonly transactions: readonly {
    readonly transaction_id: string
    readonly request_id: string
    readonly decision: string
    readonly risk_score: number
  }[]
  /** The transaction id of each row of features. */
  readonly features: readonly string[]
  readonly feedback: readonly { readonly transaction_id: string; readonly verdict: string; readonly reporter: string }[]
  readonly cases: readonly { readonly transaction_id: string; readonly case_id: string; readonly status: string }[]
}

/** All calls, faults, logs and stored results of a finished round. */
export interface Evidence {
  readonly calls: Calls
  readonly inflicted: Inflicted
  readonly logs: Logs
  readonly tables: Tables
  /** The profiles in the Redis view. */
  readonly shown: ReadonlyMap<string, FraudProfile>
  /** The transaction id of each case that the API lists. */
  readonly listed: readonly string[]
}
