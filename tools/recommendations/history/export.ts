import type { ClickHouseClient } from '@clickhouse/client'
import { eventFault } from '../../../pipelines/recommendations/users/event-fault.ts'
import type { InteractionType } from '../../../schemas/recommendations/types.ts'
import { QUERY_SECONDS } from './connect.ts'
import { type History, historyBuilder, type PastInteraction } from './history.ts'

/**
 * Maximum number of interactions in a training run; the newest are used. More interactions would improve the model too
 * little for the memory that they need.
 */
const MOST_INTERACTIONS = 10_000_000
/**
 * Maximum number of interactions of one user in the table: about 550 a day for 90 days. Training leaves out users with
 * more interactions. Otherwise, a program that posts events could displace the interactions of all other users within a
 * few days.
 */
const MOST_OF_USER = 50_000

/** A row of the query, such as `["7", "42", "VIEW", "1767225600000", false, null, null, null, false]`. */
type Row = [string, string, InteractionType, string, boolean, number | null, number | null, number | null, boolean]

const COLUMNS =
  'toString(user_id), toString(item_id), event_type, toString(toUnixTimestamp64Milli(timestamp)), withdrawn, rating, watch_pct, dwell_time_sec, rec_request_id IS NOT NULL'

export interface ExportOptions {
  /** Only interactions before this time are read, epoch ms. */
  readonly before: number
  /**
   * Returns whether an item exists. Interactions with other ids are left out: callers may send any id, and made-up ids
   * would get vectors in the model.
   */
  isKnown(itemId: bigint): boolean
  /** Users with more interactions are left out. Default: MOST_OF_USER. */
  readonly mostOfUser?: number
  readonly signal?: AbortSignal
}

/**
 * Reads the newest MOST_INTERACTIONS interactions that the options select, and returns the valid ones with known items
 * in chronological order. An event that was written twice is returned once.
 */
export async function exportHistory(client: ClickHouseClient, options: ExportOptions): Promise<History> {
  const { before, isKnown, mostOfUser = MOST_OF_USER, signal } = options
  const builder = historyBuilder()
  const result = await client.query({
    query: `
      SELECT ${COLUMNS} FROM (
        SELECT * FROM interactions FINAL
        WHERE timestamp < fromUnixTimestamp64Milli({before:Int64})
          AND user_id NOT IN (SELECT user_id FROM interactions GROUP BY user_id HAVING count() > {mostOfUser:UInt32})
        ORDER BY timestamp DESC, event_id DESC LIMIT ${MOST_INTERACTIONS}
      ) ORDER BY timestamp, event_id`,
    query_params: { before, mostOfUser },
    format: 'JSONCompactEachRow',
    clickhouse_settings: { max_execution_time: QUERY_SECONDS },
    abort_signal: signal,
  })
  for await (const rows of result.stream<Row>()) {
    for (const row of rows) {
      const [userId, itemId, event_type, at, withdrawn, rating, watch_pct, dwell_time_sec, isRecommended] = row.json()
      if (!isKnown(BigInt(itemId))) continue
      const rec_request_id = isRecommended ? 'recommended' : null
      const event: PastInteraction = {
        item_id: BigInt(itemId),
        event_type,
        timestamp: Number(at),
        withdrawn,
        rating,
        watch_pct,
        dwell_time_sec,
        rec_request_id,
      }
      // The table also contains events that the streams reject. The weight of a single such event could spoil all
      // vectors.
      if (eventFault(event, before) === undefined) builder.add(BigInt(userId), event)
    }
  }
  return builder.build()
}
