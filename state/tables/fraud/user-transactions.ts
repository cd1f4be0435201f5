import { readRows, type TableReader } from '../reader.ts'

/** Summary of a user's transaction. */
export interface UserTransaction {
  readonly transaction_id: string
  /** Epoch ms. */
  readonly timestamp: number
  readonly amount: number
  readonly currency: string
  readonly amount_usd: number
  readonly merchant_id: string | null
  readonly device_fp: string | null
  readonly ip_address: string | null
  readonly place: { readonly lat: number; readonly lng: number } | null
  readonly decision: string
  readonly risk_score: number
}

export interface UserTransactionsQuery {
  readonly userId: string
  /** Bounds of the transaction's own time, epoch ms: `from` is inclusive, and `to` is exclusive. */
  readonly from: number
  readonly to: number
  readonly limit: number
}

/**
 * Maximum number of days between a transaction's own time and its scoring. The day before the period is searched too,
 * because a caller's clock may be ahead.
 */
const LATE_DAYS = 7

/**
 * Selects the transactions of a user. The index of users lets ClickHouse skip granules without the user's transactions.
 * The conditions on `scored_at` let it skip days that are too early or too late for the scoring of transactions of the
 * period (see `LATE_DAYS`). If a transaction was scored several times, the first answer is selected.
 */
const QUERY = `
SELECT transaction_id, toUnixTimestamp64Milli(timestamp), amount, currency, amount_usd, payee_merchant_id, device_fp, ip_address,
  lat, lng, decision, risk_score
FROM (
  SELECT * FROM fraud_transactions
  WHERE payer_user_id = {user:String}
    AND scored_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') - INTERVAL 1 DAY
    AND scored_at < fromUnixTimestamp64Milli({to:Int64}, 'UTC') + INTERVAL ${LATE_DAYS} DAY
  ORDER BY scored_at
  LIMIT 1 BY transaction_id
)
WHERE timestamp >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND timestamp < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
ORDER BY timestamp DESC, transaction_id
LIMIT {limit:UInt32}`

type Row = [
  id: string,
  timestamp: number,
  amount: number,
  currency: string,
  amountUsd: number,
  merchant: string | null,
  device: string | null,
  ip: string | null,
  lat: number | null,
  lng: number | null,
  decision: string,
  riskScore: number,
]

/**
 * Returns the transactions of a user in a period, newest first. The newest transactions may be missing until the sink
 * has written them.
 */
export async function readUserTransactions(
  reader: TableReader,
  { userId, from, to, limit }: UserTransactionsQuery,
): Promise<UserTransaction[]> {
  const rows = await readRows<Row>(reader, QUERY, { user: userId, from, to, limit })
  return rows.map(
    ([transaction_id, timestamp, amount, currency, amount_usd, merchant_id, device_fp, ip_address, lat, lng, decision, risk_score]) => ({
      transaction_id,
      timestamp,
      amount,
      currency,
      amount_usd,
      merchant_id,
      device_fp,
      ip_address,
      place: lat === null || lng === null ? null : { lat, lng },
      decision,
      risk_score,
    }),
  )
}
