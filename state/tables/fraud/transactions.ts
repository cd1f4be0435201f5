import type { FraudMlScores, TxnScored } from '../../../schemas/fraud/types.ts'
import { type ClusterOptions, ddlParts, type Table } from '../table.ts'
import { isoDay, isoTime } from '../time.ts'
import { BY_TRANSACTION, EARLIEST, SCORED_COLUMNS, SCORED_LINGER_MS, scoredColumns } from './identity.ts'
import { TRANSACTION_DAYS } from './retention.ts'

/** Names of the scores that the champion and the challenger compute. */
const MODELS = ['account_takeover', 'payment_fraud', 'money_laundering'] as const

/** Name of the ClickHouse view with the transactions that have results of shadow rules or of a challenger. */
const SHADOW_VIEW = 'fraud_shadow'

/** A scored transaction without most of its features. */
export interface ScoredTransaction extends Omit<TxnScored, 'features'> {
  readonly features: Pick<TxnScored['features'], 'amount_usd'>
}

/**
 * Every scored transaction, kept for 90 days. docs/services/fraud.md#tables-for-analysts describes the columns. Fed by
 * `txn.scored`. If the topic contains a transaction several times, possibly with different answers, the first answer is
 * kept. Read it with FINAL. Features are in `fraud_features`, verdicts in `fraud_feedback`.
 */
export const fraudTransactionsTable: Table<string, ScoredTransaction> = {
  name: 'fraud_transactions',
  columns: [
    ...SCORED_COLUMNS,
    "timestamp DateTime64(3, 'UTC')",
    'payer_user_id String',
    'payee_merchant_id Nullable(String)',
    'amount Float64',
    'amount_usd Float64',
    'currency LowCardinality(String)',
    'transaction_type LowCardinality(String)',
    'card_hash Nullable(String)',
    'device_fp Nullable(String)',
    'ip_address Nullable(String)',
    'lat Nullable(Float64)',
    'lng Nullable(Float64)',
    'decision LowCardinality(String)',
    'risk_score UInt16',
    'risk_level LowCardinality(String)',
    'reason LowCardinality(Nullable(String))',
    'requires_3ds Bool',
    'triggered_rules Array(LowCardinality(String))',
    'shadow_rules Array(LowCardinality(String))',
    'ml_evaluated Bool',
    ...MODELS.map((model) => `${model} Float64`),
    'challenger_evaluated Nullable(Bool)',
    ...MODELS.map((model) => `challenger_${model} Nullable(Float64)`),
    'degraded Array(LowCardinality(String))',
    'ruleset_version UInt64',
    'policy_version UInt64',
    'model_versions Map(LowCardinality(String), String)',
    'request_id String',
    // JSON that only the API reads back.
    'risk_factors String CODEC(ZSTD(3))',
    'request String CODEC(ZSTD(3))',
    'ip String CODEC(ZSTD(3))',
  ],
  orderBy: BY_TRANSACTION,
  version: EARLIEST,
  partitionBy: 'toDate(scored_at)',
  ttl: `toDateTime(scored_at) + INTERVAL ${TRANSACTION_DAYS} DAY`,
  parts: ['INDEX of_user payer_user_id TYPE bloom_filter(0.01) GRANULARITY 1'],
  derived: shadowStatements,
  rowsOf(_user, scored) {
    if (scored === null) return []
    const { request, ip, features, ml_scores, challenger_scores, risk_factors, scored_at: _at, ...rest } = scored
    const { device, payee, payer, payment_instrument } = request
    return [
      {
        ...rest,
        ...scoredColumns(scored),
        timestamp: isoTime(request.timestamp),
        payer_user_id: payer.user_id,
        payee_merchant_id: payee.merchant_id,
        amount: request.amount,
        amount_usd: features.amount_usd,
        currency: request.currency,
        transaction_type: request.transaction_type,
        card_hash: payment_instrument.card_hash,
        device_fp: device.fingerprint_id,
        ip_address: device.ip_address,
        lat: device.lat,
        lng: device.lng,
        ...scoreColumns('ml_evaluated', '', ml_scores),
        ...scoreColumns('challenger_evaluated', 'challenger_', challenger_scores),
        risk_factors: JSON.stringify(risk_factors),
        request: JSON.stringify(request),
        ip: JSON.stringify(ip),
      },
    ]
  },
  partitionOf: (_user, { scored_at }) => isoDay(scored_at),
  lingerMs: SCORED_LINGER_MS,
}

function scoreColumns(evaluated: string, prefix: string, scores: FraudMlScores | null): Record<string, number | boolean | null> {
  const columns: Record<string, number | boolean | null> = { [evaluated]: scores?.evaluated ?? null }
  for (const model of MODELS) columns[prefix + model] = scores?.[model] ?? null
  return columns
}

function shadowStatements(cluster: ClusterOptions): string[] {
  const challengers = MODELS.map((model) => `challenger_${model}`)
  return [
    `
CREATE VIEW IF NOT EXISTS ${SHADOW_VIEW}${ddlParts(cluster).onCluster} AS
SELECT transaction_id, scored_at, payer_user_id, decision, risk_score, triggered_rules, shadow_rules,
  ${[...MODELS, ...challengers].join(', ')}, model_versions, ruleset_version, policy_version
FROM fraud_transactions FINAL
WHERE notEmpty(shadow_rules) OR challenger_evaluated IS NOT NULL`,
  ]
}
