import type { ClickHouseClient } from '@clickhouse/client'
import { RANKING_WIDTH } from '../../../schemas/recommendations/ranking/ranking-features.ts'
import { FOLLOWED_MS } from '../replay/replay.ts'
import type { JudgedList } from '../train/rank.ts'
import { QUERY_SECONDS } from './connect.ts'
import type { History } from './history.ts'

/** Maximum number of lists from which the ranker learns. More lists would not fit into the memory for its training. */
const MOST_LISTS = 20_000

/** A row with one list: user, time, item ids, positions, and the features of all items one after another. */
type Row = [string, string, string[], number[], number[]]

export interface ServedOptions {
  /**
   * Epoch ms. Only lists from at least half an hour before this time are read, so that all choices from a list precede
   * this time.
   */
  readonly before: number
  /** Maximum number of lists. Default: MOST_LISTS. */
  readonly most?: number
  readonly signal?: AbortSignal
}

/**
 * Reads the newest served lists with their features, and labels the items that the user of each list chose within half
 * an hour. Leaves out lists from which nothing was chosen, because training learns nothing from them.
 */
export async function servedLists(client: ClickHouseClient, history: History, options: ServedOptions): Promise<JudgedList[]> {
  const { before, most = MOST_LISTS, signal } = options
  // Most lists are not followed by a choice. Only lists with an item that their user interacted with at some time count
  // towards the maximum. Otherwise, nearly all lists that are read from a busy service would have to be discarded.
  const result = await client.query({
    query: `
      SELECT toString(user_id), toString(toUnixTimestamp64Milli(served_at)), groupArray(toString(item_id)), groupArray(position),
        arrayFlatten(groupArray(features))
      FROM recommendations_served FINAL
      WHERE served_at < fromUnixTimestamp64Milli({before:Int64}) AND length(features) = {width:UInt32}
        AND (user_id, request_id) IN (
          SELECT user_id, request_id FROM recommendations_served
          WHERE served_at >= fromUnixTimestamp64Milli({since:Int64}) AND (user_id, item_id) IN (
            SELECT user_id, item_id FROM interactions
            WHERE timestamp >= fromUnixTimestamp64Milli({since:Int64}) AND event_type NOT IN ('SKIP', 'NOT_INTERESTED')
          )
        )
      GROUP BY user_id, served_at, request_id
      ORDER BY served_at DESC LIMIT {most:UInt32}`,
    query_params: { before: before - FOLLOWED_MS, since: history.times[0] ?? before, width: RANKING_WIDTH, most },
    format: 'JSONCompactEachRow',
    clickhouse_settings: { max_execution_time: QUERY_SECONDS },
    abort_signal: signal,
  })
  const own = indexesByUser(history)
  const lists: JudgedList[] = []
  for await (const rows of result.stream<Row>()) {
    for (const row of rows) {
      const [userId, at, itemIds, positions, features] = row.json()
      const chosen = chosenAfter(history, own.get(BigInt(userId)) ?? [], Number(at))
      const labels = Uint8Array.from(itemIds, (itemId) => (chosen.has(BigInt(itemId)) ? 1 : 0))
      if (!labels.includes(1)) continue
      lists.push({ features: Float64Array.from(features), labels, positions: Uint32Array.from(positions) })
    }
  }
  return lists
}

function indexesByUser({ count, userIds }: History): Map<bigint, number[]> {
  const indexes = new Map<bigint, number[]>()
  for (let index = 0; index < count; index++) {
    const own = indexes.get(userIds[index])
    if (own === undefined) indexes.set(userIds[index], [index])
    else own.push(index)
  }
  return indexes
}

function chosenAfter(history: History, own: readonly number[], at: number): Set<bigint> {
  const chosen = new Set<bigint>()
  for (const index of own) {
    const time = history.times[index]
    if (time > at && time <= at + FOLLOWED_MS && history.isChosen(index)) chosen.add(history.itemIds[index])
  }
  return chosen
}
