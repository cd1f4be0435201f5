import type { ClickHouseClient } from '@clickhouse/client'
import { type ClusterOptions, ddlParts } from '../table.ts'
import { matchDeletionsTable } from './deletions.ts'
import { matchesTable } from './matches.ts'
import { matchSwipesTable } from './swipes.ts'

/**
 * For each table, the columns that contain user ids, and the column with the time of the row. Rows that are newer than
 * the deletion are kept, because a user may create a new profile with the same id.
 */
const ERASED = [
  { table: matchSwipesTable.name, users: ['swiper_id', 'target_id'], time: 'ts' },
  { table: matchesTable.name, users: ['user_a', 'user_b'], time: 'matched_at' },
]
/** Maximum number of users per statement. The limit keeps the parameters short. */
const USERS_AT_ONCE = 1_000
/** How long each deletion is repeated. Rows may arrive late when their sink is behind. */
const LATE_MS = 24 * 3_600_000
/**
 * After an outage, deletions of the last eight days are repeated. The users' rows may not have been erased yet, and
 * further rows may arrive for seven days, because the topics keep events that long.
 */
const LATE_AFTER_OUTAGE_MS = 8 * 24 * 3_600_000
/**
 * If no run has succeeded for this long, there was an outage. The time is half of `LATE_MS`, so that after a shorter
 * pause, deletions are still repeated for several hours.
 */
const OUTAGE_MS = LATE_MS / 2
/**
 * How long older deletions are repeated after an outage. The first run is not enough, because the sinks may still have
 * to insert deletions and rows from the time of the outage.
 */
const RECOVERY_MS = LATE_MS

/** Removes the rows of deleted users. */
export interface UserEraser {
  /** @param now epoch ms */
  run(now: number): Promise<ErasedUsers>
}

export interface ErasedUsers {
  /** Number of removed rows. */
  readonly removed: number
  /**
   * Whether the run has found a deletion that the last successful run did not find. Deletions are compared one by one,
   * because they come from several partitions and may therefore arrive out of order.
   */
  readonly hasNew: boolean
}

export function userEraser(client: ClickHouseClient, cluster: ClusterOptions): UserEraser {
  const { onCluster } = ddlParts(cluster)
  let succeededAt = Number.NEGATIVE_INFINITY
  let recoversUntil = 0
  /** The deletions that the last successful run has found, by user. */
  let known = new Map<string, number>()

  async function rowsOf<Row>(query: string, params: Record<string, unknown>): Promise<Row[]> {
    const settings = { output_format_json_quote_64bit_integers: 0 } as const
    const answer = await client.query({ query, query_params: params, format: 'JSONCompactEachRow', clickhouse_settings: settings })
    return await answer.json<Row>()
  }

  /** @returns the number of removed rows */
  async function erase(
    { table, users, time }: (typeof ERASED)[number],
    deletions: readonly (readonly [string, number])[],
  ): Promise<number> {
    const params = { ids: deletions.map(([id]) => id), times: deletions.map(([, time]) => time) }
    const condition = users.map((column) => isOlder(column, time)).join(' OR ')
    const [[found]] = await rowsOf<[number]>(`SELECT toUInt32(count()) FROM ${table} WHERE ${condition}`, params)
    if (found === 0) return 0
    await client.command({
      query: `ALTER TABLE ${table}${onCluster} DELETE WHERE ${condition}`,
      query_params: params,
      clickhouse_settings: { mutations_sync: '2' },
    })
    return found
  }

  return {
    async run(now) {
      if (now - succeededAt > OUTAGE_MS) recoversUntil = now + RECOVERY_MS
      const lateMs = now < recoversUntil ? LATE_AFTER_OUTAGE_MS : LATE_MS
      const deletions = await rowsOf<[string, number]>(
        `SELECT toString(user_id), toUnixTimestamp64Milli(max(deleted_at)) FROM ${matchDeletionsTable.name}
WHERE deleted_at > fromUnixTimestamp64Milli({since:Int64}) GROUP BY user_id`,
        { since: now - lateMs },
      )
      let removed = 0
      const failures: unknown[] = []
      for (let from = 0; from < deletions.length; from += USERS_AT_ONCE) {
        for (const erased of ERASED) {
          // ClickHouse may take hours to remove rows from a large table. The request then times out, and the run
          // continues with the other tables and users.
          await erase(erased, deletions.slice(from, from + USERS_AT_ONCE)).then(
            (found) => {
              removed += found
            },
            (error: unknown) => failures.push(error),
          )
        }
      }
      if (failures.length > 0) throw failures[0]
      succeededAt = now
      const hasNew = deletions.some(([id, time]) => known.get(id) !== time)
      known = new Map(deletions)
      return { removed, hasNew }
    },
  }
}

/** Returns an SQL condition for rows that concern a deleted user and are older than the deletion. */
function isOlder(column: string, time: string): string {
  const deletedAt = `transform(toString(${column}), {ids:Array(String)}, {times:Array(Int64)}, toInt64(0))`
  return `(${column} IN ({ids:Array(UUID)}) AND toUnixTimestamp64Milli(${time}) <= ${deletedAt})`
}
