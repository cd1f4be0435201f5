import type { ClickHouseClient } from '@clickhouse/client'
import { QUERY_SECONDS } from './connect.ts'

/** A list that was shown to a user. */
export interface ShownList {
  readonly userId: bigint
  /** Epoch ms. */
  readonly at: number
  /** The items in the order of their positions. */
  readonly itemIds: BigInt64Array
}

/**
 * Maximum number of lists. This many lists take about 80 MB. The number equals the maximum number of interactions in a
 * replay. Older lists hardly affect the statistics.
 */
const MOST_LISTS = 300_000

/** User, time, and item ids. */
type Row = [string, string, string[]]

/** Reads the newest lists that were shown before a time (epoch ms), in chronological order. */
export async function exportShown(client: ClickHouseClient, before: number, signal?: AbortSignal): Promise<ShownList[]> {
  const result = await client.query({
    query: `
      SELECT toString(user_id), toString(toUnixTimestamp64Milli(served_at)),
        arrayMap(shown -> toString(shown.2), arraySort(groupArray((position, item_id))))
      FROM recommendations_served FINAL
      WHERE served_at < fromUnixTimestamp64Milli({before:Int64})
      GROUP BY user_id, served_at, request_id
      ORDER BY served_at DESC, request_id DESC LIMIT ${MOST_LISTS}`,
    query_params: { before },
    format: 'JSONCompactEachRow',
    clickhouse_settings: { max_execution_time: QUERY_SECONDS },
    abort_signal: signal,
  })
  const lists: ShownList[] = []
  for await (const rows of result.stream<Row>()) {
    for (const row of rows) {
      const [userId, at, itemIds] = row.json()
      lists.push({ userId: BigInt(userId), at: Number(at), itemIds: BigInt64Array.from(itemIds, BigInt) })
    }
  }
  return lists.reverse()
}
