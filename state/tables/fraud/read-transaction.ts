import type { ReviewedTransaction } from '../../../schemas/fraud/cases/review.ts'
import type { FraudFeatures, FraudMlScores, TxnScored } from '../../../schemas/fraud/types.ts'
import { readRows, type TableReader } from '../reader.ts'
import { FEATURE_NAMES } from './features.ts'
import { IS_TRANSACTION } from './identity.ts'

/** The newest verdict about a transaction. */
export interface TransactionFeedback {
  readonly case_id: string
  readonly verdict: string
  readonly fraud_type: string | null
  readonly notes: string
  readonly evidence: readonly string[]
  readonly reporter: string
  /** Epoch ms. */
  readonly at: number
}

/** A transaction of the last 90 days. */
export interface StoredTransaction {
  /** The event. Its features are null once they are older than 30 days, and until the sink has written them. */
  readonly scored: Omit<TxnScored, 'features'> & { readonly features: FraudFeatures | null }
  readonly feedback: TransactionFeedback | null
}

/**
 * If a transaction was scored several times, the first answer is valid. The queries find it by ordering rows instead of
 * using FINAL.
 */
const FIRST_ANSWER = `
FROM fraud_transactions
WHERE ${IS_TRANSACTION}
ORDER BY scored_at
LIMIT 1`

const TRANSACTION_QUERY = `
SELECT request, ip, decision, risk_score, risk_level, reason, requires_3ds, triggered_rules, shadow_rules,
  (ml_evaluated, account_takeover, payment_fraud, money_laundering),
  challenger_evaluated, [challenger_account_takeover, challenger_payment_fraud, challenger_money_laundering],
  risk_factors, degraded, ruleset_version, policy_version, model_versions, request_id, toUnixTimestamp64Milli(scored_at) ${FIRST_ANSWER}`

type TransactionRow = [
  request: string,
  ip: string,
  decision: TxnScored['decision'],
  riskScore: number,
  riskLevel: TxnScored['risk_level'],
  reason: string | null,
  requires3ds: boolean,
  triggeredRules: string[],
  shadowRules: string[],
  mlScores: [boolean, number, number, number],
  challengerEvaluated: boolean | null,
  challengerScores: [number, number, number],
  riskFactors: string,
  degraded: string[],
  rulesetVersion: number,
  policyVersion: number,
  modelVersions: Record<string, string>,
  requestId: string,
  scoredAt: number,
]

/**
 * The columns that a case needs. With all features and the verdict, a lookup takes six times as much of
 * ClickHouse's CPU time (bench/results.md).
 */
const REVIEWED_QUERY = `
SELECT request, decision, risk_score, triggered_rules, risk_factors, toUnixTimestamp64Milli(scored_at) ${FIRST_ANSWER}`

type ReviewedRow = [
  request: string,
  decision: TxnScored['decision'],
  riskScore: number,
  triggeredRules: string[],
  riskFactors: string,
  scoredAt: number,
]

/** The condition on the day limits the query to one partition of the table. */
const FEATURES_QUERY = `
SELECT ${FEATURE_NAMES.join(', ')}
FROM fraud_features
WHERE toDate(scored_at) = toDate(fromUnixTimestamp64Milli({scored_at:Int64}, 'UTC')) AND ${IS_TRANSACTION}
ORDER BY scored_at
LIMIT 1`

const FEEDBACK_QUERY = `
SELECT toString(case_id), verdict, fraud_type, notes, evidence, reporter, toUnixTimestamp64Milli(at)
FROM fraud_feedback
WHERE transaction_id = {id:String}
ORDER BY at DESC, kafka_offset DESC
LIMIT 1`

type FeedbackRow = [string, string, string | null, string, string[], string, number]

/**
 * Looks a transaction up by its id.
 * @returns undefined if no such transaction was scored in the last 90 days, or if the sink has not written it yet
 */
export async function readTransaction(reader: TableReader, id: string): Promise<StoredTransaction | undefined> {
  const [[row], feedback] = await Promise.all([
    readRows<TransactionRow>(reader, TRANSACTION_QUERY, { id }),
    readTransactionFeedback(reader, id),
  ])
  if (row === undefined) return undefined
  const [request, ip, decision, risk_score, risk_level, reason, requires_3ds, triggered_rules, shadow_rules, ...more] = row
  const [[ml_evaluated, ...ml], challengerEvaluated, challenger, factors, degraded, ruleset_version, policy_version, ...last] = more
  const [model_versions, request_id, scored_at] = last
  const [features] = await readRows<FraudFeatures[keyof FraudFeatures][]>(reader, FEATURES_QUERY, { id, scored_at })
  return {
    scored: {
      request: JSON.parse(request),
      ip: JSON.parse(ip),
      features: features === undefined ? null : featuresOf(features),
      decision,
      risk_score,
      risk_level,
      reason,
      requires_3ds,
      triggered_rules,
      shadow_rules,
      ml_scores: scoresOf(ml_evaluated, ml),
      challenger_scores: challengerEvaluated === null ? null : scoresOf(challengerEvaluated, challenger),
      risk_factors: JSON.parse(factors),
      degraded,
      ruleset_version,
      policy_version,
      model_versions,
      request_id,
      scored_at,
    },
    feedback,
  }
}

/**
 * Looks up only the data of a transaction that its case needs.
 * @returns undefined in the same cases as `readTransaction`
 */
export async function readReviewed(reader: TableReader, id: string): Promise<ReviewedTransaction | undefined> {
  const [row] = await readRows<ReviewedRow>(reader, REVIEWED_QUERY, { id })
  if (row === undefined) return undefined
  const [request, decision, risk_score, triggered_rules, risk_factors, scored_at] = row
  return { request: JSON.parse(request), decision, risk_score, triggered_rules, risk_factors: JSON.parse(risk_factors), scored_at }
}

/** Returns the newest verdict about a transaction; null if there is none. */
export async function readTransactionFeedback(reader: TableReader, id: string): Promise<TransactionFeedback | null> {
  const [row] = await readRows<FeedbackRow>(reader, FEEDBACK_QUERY, { id })
  if (row === undefined) return null
  const [case_id, verdict, fraud_type, notes, evidence, reporter, at] = row
  return { case_id, verdict, fraud_type, notes, evidence, reporter, at }
}

function featuresOf(values: readonly FraudFeatures[keyof FraudFeatures][]): FraudFeatures {
  return Object.fromEntries(FEATURE_NAMES.map((name, index) => [name, values[index]])) as unknown as FraudFeatures
}

function scoresOf(evaluated: boolean, [account_takeover, payment_fraud, money_laundering]: readonly number[]): FraudMlScores {
  return { evaluated, account_takeover, payment_fraud, money_laundering }
}
