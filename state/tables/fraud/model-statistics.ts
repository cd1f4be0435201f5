import { readRows, type TableReader } from '../reader.ts'

/** The transactions in one bin of a model's scores, counted by label. */
export interface ScoreCount {
  readonly model: string
  /** Mean score of the bin. */
  readonly score: number
  readonly frauds: number
  readonly normal: number
}

/**
 * Number of a feature's values in each bin, for the earlier period and for the last day. The last bin contains missing
 * values.
 */
export interface FeatureCounts {
  readonly feature: string
  readonly before: readonly number[]
  readonly now: readonly number[]
}

const SCORES = ['account_takeover', 'payment_fraud', 'money_laundering'] as const
/** The version of each model whose scores are counted. */
export type ScoredVersions = Readonly<Record<(typeof SCORES)[number], string>>
/** Features whose distributions reveal changes in the traffic or in the data that callers send. */
const WATCHED = [
  'amount_usd',
  'amount_zscore',
  'user_velocity_24h',
  'user_txn_count',
  'user_distinct_merchants_7d',
  'time_since_last_txn_s',
  'device_age_days',
  'device_velocity_24h',
  'device_distinct_users_24h',
  'ip_velocity_24h',
  'ip_distinct_users_24h',
  'card_velocity_24h',
  'card_age_days',
  'geo_distance_km',
  'merchant_fraud_rate_30d',
  'session_risk_score',
] as const

const BINS = 200
const DAYS = 30
/** Maximum number of transactions. If there are more, a uniform sample is read. */
const MOST_ROWS = 1_000_000
const MAX_HASH = 2 ** 64

/**
 * Counts the transactions that the given versions of the models scored, by score and label. A transaction counts as
 * fraud if its newest verdict is fraud. All others count as normal, because most transactions never get a verdict.
 */
const SCORES_QUERY = `
WITH labels AS (
  SELECT transaction_id, argMax(verdict, at) AS label FROM fraud_feedback FINAL
  WHERE at > now() - INTERVAL ${DAYS} DAY GROUP BY transaction_id
)
SELECT scored.1 AS model, avg(scored.2), countIf(labels.label = 'CONFIRMED_FRAUD'), countIf(labels.label != 'CONFIRMED_FRAUD')
FROM (
  SELECT transaction_id, arrayJoin(arrayFilter(one -> one.3, [${SCORES.map(scoreTuple).join(', ')}])) AS scored
  FROM fraud_transactions FINAL
  WHERE scored_at > now() - INTERVAL ${DAYS} DAY AND ml_evaluated AND cityHash64(transaction_id) <= {most:UInt64}
) AS transactions LEFT JOIN labels USING (transaction_id)
GROUP BY model, least(floor(scored.2 * ${BINS}), ${BINS - 1}) AS bin
ORDER BY model, bin`

/**
 * Returns an SQL tuple: a model's name, its score, and whether the version in the query parameter of that name computed
 * the score.
 */
function scoreTuple(name: string): string {
  return `('${name}', ${name}, model_versions['${name}'] = {${name}:String})`
}

const COUNT_QUERY = `SELECT count() FROM fraud_transactions WHERE scored_at > now() - INTERVAL ${DAYS} DAY`

const QUANTILES_QUERY = `
SELECT ${WATCHED.map((name) => `quantiles(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)(toFloat64(${name}))`).join(', ')}
FROM fraud_features FINAL
WHERE scored_at BETWEEN now() - INTERVAL ${DAYS} DAY AND now() - INTERVAL 1 DAY AND cityHash64(transaction_id) <= {most:UInt64}`

const FEATURES_QUERY = `
SELECT feature, scored_at > now() - INTERVAL 1 DAY AS is_now,
  if(value IS NULL, 10, arrayCount(edge -> edge < assumeNotNull(value), edges)) AS bin, count()
FROM (
  SELECT scored_at, arrayJoin(arrayZip({features:Array(String)}, [${WATCHED.map((name) => `toFloat64(${name})`).join(', ')}], {edges:Array(Array(Float64))})) AS one,
    one.1 AS feature, one.2 AS value, one.3 AS edges
  FROM fraud_features FINAL
  WHERE scored_at > now() - INTERVAL ${DAYS} DAY AND cityHash64(transaction_id) <= {most:UInt64}
)
GROUP BY feature, is_now, bin`

/** Number of bins of a feature: ten that the 9 quantiles separate, and one for missing values. */
const FEATURE_BINS = 11

/** Returns the highest hash of a transaction id in the sample, as text because it may exceed 2^53. */
export async function sampledHashes(tables: TableReader): Promise<string> {
  const [[count]] = await readRows<[number]>(tables, COUNT_QUERY, {})
  const share = Math.min(1, MOST_ROWS / Math.max(1, count))
  return share === 1 ? '18446744073709551615' : String(BigInt(Math.floor(share * MAX_HASH)))
}

/**
 * Reads how the scores of the last 30 days are distributed. Counts only scores that the versions in `versions`
 * computed, because other scores say nothing about these versions.
 * @param most highest hash in the sample, from `sampledHashes`
 */
export async function readScoreCounts(tables: TableReader, most: string, versions: ScoredVersions): Promise<ScoreCount[]> {
  const rows = await readRows<[string, number, number, number]>(tables, SCORES_QUERY, { most, ...versions })
  return rows.map(([model, score, frauds, normal]) => ({ model, score, frauds, normal }))
}

/**
 * Reads the distribution of features over the last day and over the 29 days before. The last bin contains the missing
 * values. The other bins are chosen so that each contains about the same share of the values of the 29 days.
 */
export async function readFeatureCounts(tables: TableReader, most: string): Promise<FeatureCounts[]> {
  const [quantiles] = await readRows<(number | null)[][]>(tables, QUANTILES_QUERY, { most })
  // If there are no values, all quantiles are null.
  const edges = quantiles.map((all) => all.map((edge) => edge ?? 0))
  const counts = new Map(WATCHED.map((feature) => [feature as string, { before: empty(), now: empty() }]))
  const rows = await readRows<[string, number, number, number]>(tables, FEATURES_QUERY, { most, features: [...WATCHED], edges })
  for (const [feature, isNow, bin, count] of rows) {
    const own = counts.get(feature)!
    const bins = isNow ? own.now : own.before
    bins[bin] += count
  }
  return Array.from(counts, ([feature, { before, now }]) => ({ feature, before, now }))
}

function empty(): number[] {
  return new Array<number>(FEATURE_BINS).fill(0)
}
