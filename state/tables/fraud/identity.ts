import type { TxnScored } from '../../../schemas/fraud/types.ts'
import { isoTime } from '../time.ts'

/**
 * Sort order of tables of transactions. A range of hashes is a uniform sample whose rows are adjacent. A lookup by id
 * reads one granule per part.
 */
export const BY_TRANSACTION = '(cityHash64(transaction_id), transaction_id)'

/**
 * Condition that selects the transaction with the id in the parameter `id`, in tables that are sorted by
 * `BY_TRANSACTION`.
 */
export const IS_TRANSACTION = 'cityHash64(transaction_id) = cityHash64({id:String}) AND transaction_id = {id:String}'

/**
 * Version column whose value is highest in the first answer to a transaction, so that only the first answer is kept. A
 * transaction has several answers if its caller repeats the request while the stored answers are unavailable.
 */
export const EARLIEST = 'earliest'
const EARLIEST_COLUMN = `${EARLIEST} UInt64 MATERIALIZED toUInt64(9223372036854775807 - toUnixTimestamp64Milli(scored_at))`

/** Columns of every table of transactions. */
export const SCORED_COLUMNS = ['transaction_id String', "scored_at DateTime64(3, 'UTC')", EARLIEST_COLUMN]

/**
 * How long rows of scored transactions may wait for further rows. Rows may be written late, because Redis keeps each
 * answer for a day. Waiting saves inserts: an insert into the 40 or 70 columns of such a table costs ClickHouse as much
 * as hundreds of rows, and the new part is merged several times.
 */
export const SCORED_LINGER_MS = 3_000

export function scoredColumns({ request, scored_at }: Pick<TxnScored, 'request' | 'scored_at'>) {
  return { transaction_id: request.transaction_id, scored_at: isoTime(scored_at) }
}
