import type { FraudVerdict, TxnScored } from '../../../schemas/fraud/types.ts'
import { readRows, type TableReader } from '../reader.ts'
import { SCORED_SELECTION, scoredOf } from './features.ts'

/** The log entry of a scored transaction, and the newest verdict about it. */
export interface LoggedTransaction
  extends Pick<
    TxnScored,
    'request' | 'ip' | 'features' | 'decision' | 'reason' | 'requires_3ds' | 'ml_scores' | 'policy_version' | 'scored_at'
  > {
  /** Null while the transaction has no verdict. */
  readonly verdict: FraudVerdict | null
}

/** Selects the transactions that a back-test reads. */
export interface LoggedQuery {
  /** Start of the period, epoch ms, inclusive. */
  readonly from: number
  /** End of the period, epoch ms, exclusive. */
  readonly to: number
  /** Maximum number of transactions. If the period has more, a uniform sample is read. */
  readonly limit: number
}

/** A sample of the logged transactions of a period. */
export interface LoggedSample {
  /** Approximate number of logged transactions in the period. The number may include duplicates. */
  readonly available: number
  /**
   * Yields batches in the order of their days. Batches of the same day are in the order of their hashes. Each batch
   * fits into memory.
   */
  readonly batches: AsyncIterable<readonly LoggedTransaction[]>
}

/** The log of scored transactions. */
export interface LoggedTransactions {
  sample(query: LoggedQuery): Promise<LoggedSample>
}

/** Number of transactions per batch. A batch takes about 15 MB. */
const BATCH_ROWS = 5_000
/** Number of possible values of the hash by which the table is sorted. */
const HASHES = 2n ** 64n
/**
 * Shares of the hashes that are counted to estimate the number of transactions, since a day may have billions of them.
 * The first share that contains enough transactions is used.
 */
const COUNTED_SHARES = [2 ** -12, 2 ** -6, 1]
/** Number of counted transactions that is enough for an estimate whose error hardly ever exceeds 3 %. */
const ENOUGH_COUNTED = 10_000
/**
 * Share of the limit that a sample aims for, so that the sample still fits into the limit if the estimate is too low.
 */
const AIMED_SHARE = 0.95
/** Number of bits to which a share is rounded before it is converted into a hash. A double holds them exactly. */
const SHARE_BITS = 52
/** Settings of queries for back-tests, which use one core of ClickHouse. */
const QUIET = { max_threads: 1 }
/**
 * Settings of a batch. FINAL compares only rows of the same day. Otherwise ClickHouse would read all columns of all
 * days for a batch of one day, which takes 10 times as much CPU time and memory.
 */
const BATCH_SETTINGS = { ...QUIET, do_not_merge_across_partitions_select_final: 1 }

const COUNT_QUERY = `
SELECT toString(toDate(scored_at)) AS day, count()
FROM fraud_features
WHERE scored_at >= fromUnixTimestamp64Milli({from:Int64}) AND scored_at < fromUnixTimestamp64Milli({to:Int64})
  AND cityHash64(transaction_id) <= {last:UInt64}
GROUP BY day
ORDER BY day`

/**
 * A transaction that was scored on several days is excluded on the later days, because only its first answer counts.
 */
const BATCH_QUERY = `
SELECT verdict, ${SCORED_SELECTION}
FROM fraud_features FINAL
LEFT JOIN (
  SELECT transaction_id, argMax(toNullable(verdict), at) AS verdict
  FROM fraud_feedback
  WHERE cityHash64(transaction_id) BETWEEN {first:UInt64} AND {last:UInt64} AND at >= fromUnixTimestamp64Milli({from:Int64})
  GROUP BY transaction_id
) AS verdicts USING transaction_id
WHERE toDate(scored_at) = {day:Date}
  AND scored_at >= fromUnixTimestamp64Milli({from:Int64}) AND scored_at < fromUnixTimestamp64Milli({to:Int64})
  AND cityHash64(transaction_id) BETWEEN {first:UInt64} AND {last:UInt64}
  AND transaction_id NOT IN (
    SELECT transaction_id FROM fraud_features
    WHERE toDate(scored_at) < {day:Date} AND cityHash64(transaction_id) BETWEEN {first:UInt64} AND {last:UInt64}
  )`

/** Reads the log from ClickHouse. */
export function openLoggedTransactions(reader: TableReader): LoggedTransactions {
  async function sample(query: LoggedQuery): Promise<LoggedSample> {
    const days = await countDays(reader, query)
    const available = days.reduce((sum, { rows }) => sum + rows, 0)
    const share = available <= query.limit * AIMED_SHARE ? 1 : (query.limit * AIMED_SHARE) / available
    return { available, batches: batchesOf(reader, query, days, share) }
  }
  return { sample }
}

interface Day {
  /** `2026-01-31` */
  readonly day: string
  /** Approximate number of transactions. */
  readonly rows: number
}

async function countDays(reader: TableReader, { from, to }: LoggedQuery): Promise<Day[]> {
  for (const share of COUNTED_SHARES) {
    const found = await readRows<[day: string, rows: number]>(reader, COUNT_QUERY, { from, to, last: lastHash(share) }, QUIET)
    const counted = found.reduce((sum, [, rows]) => sum + rows, 0)
    if (share === 1 || counted >= ENOUGH_COUNTED) return found.map(([day, rows]) => ({ day, rows: Math.round(rows / share) }))
  }
  return []
}

/**
 * Reads the same range of hashes on every day, so that the sample is uniform. Each batch reads a part of this range for
 * one day. The rows of a batch are adjacent in the table.
 */
async function* batchesOf(reader: TableReader, { from, to, limit }: LoggedQuery, days: readonly Day[], share: number) {
  let left = limit
  for (const { day, rows } of days) {
    const parts = Math.max(1, Math.ceil((rows * share) / BATCH_ROWS))
    for (let part = 0; part < parts && left > 0; part++) {
      const first = part === 0 ? '0' : String(BigInt(lastHash((share * part) / parts)) + 1n)
      const params = { day, from, to, first, last: lastHash((share * (part + 1)) / parts) }
      type BatchRow = [LoggedTransaction['verdict'], ...Parameters<typeof scoredOf>[0]]
      const found = await readRows<BatchRow>(reader, BATCH_QUERY, params, BATCH_SETTINGS)
      const batch = found.slice(0, left).map(([verdict, ...row]): LoggedTransaction => ({ ...scoredOf(row), verdict }))
      left -= batch.length
      yield batch
    }
  }
}

/** Returns the highest hash in the first `share` of the hash range, as text because it may exceed 2^53. */
function lastHash(share: number): string {
  const bits = BigInt(SHARE_BITS)
  const count = (HASHES * BigInt(Math.round(share * 2 ** SHARE_BITS))) >> bits
  return String(count === 0n ? 0n : count - 1n)
}
