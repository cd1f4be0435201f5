import type { ClickHouseClient } from '@clickhouse/client'
import { type ClusterOptions, ddlParts } from './table.ts'

/** The rows of a table that must be removed from its files once another row has replaced them. */
export interface Purge {
  readonly table: string
  /** The column that identifies a row; its type is String. */
  readonly key: string
  /** SQL condition for rows that erase the earlier rows with the same key. */
  readonly erases: string
}

/** Removes erased rows, which ClickHouse would otherwise keep until it merges their parts, possibly forever. */
export interface Purger {
  run(): Promise<Purged>
}

export interface Purged {
  /** Number of removed rows. */
  readonly removed: number
  /**
   * True if, among the rows that were not checked yet, the run has found rows that erase others. `removed` may
   * nevertheless be 0, because ClickHouse may have removed the erased rows itself while it merged parts.
   */
  readonly hasErased: boolean
}

/** A Kafka partition, and the last offset whose row was checked. */
interface CheckedPartition {
  readonly topic: string
  readonly partition: number
  readonly offset: number
}

/** Maximum number of rows per mutation. The limit keeps the statement short. */
const ROWS_PER_MUTATION = 2_000
const MAX_ROWS_PER_RUN = 100_000
/**
 * Settings that bound a search of the whole table, which is necessary after each start. ClickHouse aborts a query after
 * 60 s, when the client no longer waits for it. It groups rows on its disk when they take more than 256 MiB of memory.
 */
const QUERY_SETTINGS = {
  max_execution_time: 60,
  max_bytes_before_external_group_by: '268435456',
  max_bytes_ratio_before_external_group_by: 0,
} as const

export function tablePurger(client: ClickHouseClient, { table, key, erases }: Purge, cluster: ClusterOptions): Purger {
  /**
   * For each Kafka partition, the offset up to which its rows have been checked. Empty at first, so the first run
   * checks all rows.
   */
  let seen = new Map<string, CheckedPartition>()

  async function rowsOf<Row>(query: string, params: Record<string, unknown> = {}): Promise<Row[]> {
    const settings = { output_format_json_quote_64bit_integers: 0, ...QUERY_SETTINGS } as const
    const answer = await client.query({ query, query_params: params, format: 'JSONCompactEachRow', clickhouse_settings: settings })
    return await answer.json<Row>()
  }

  /** Returns the last offset of each Kafka partition that has rows. */
  async function readEnds(): Promise<Map<string, CheckedPartition>> {
    const rows = await rowsOf<[string, number, number]>(
      `SELECT kafka_topic, kafka_partition, max(kafka_offset) FROM ${table} GROUP BY kafka_topic, kafka_partition`,
    )
    return new Map(rows.map(([topic, partition, offset]) => [`${topic}-${partition}`, { topic, partition, offset }]))
  }

  async function run(): Promise<Purged> {
    const ends = await readEnds()
    // If the last rows of a partition are gone, the table is being filled again, so this run checks all rows of the
    // table.
    if ([...seen].some(([place, { offset }]) => (ends.get(place)?.offset ?? -1) < offset)) seen = new Map()
    const checked = [...seen.values()]
    const params = Object.fromEntries(checked.map(({ topic }, index) => [`topic${index}`, topic]))
    const isNew = checked.map(
      ({ partition, offset }, index) =>
        `NOT (kafka_topic = {topic${index}:String} AND kafka_partition = ${partition} AND kafka_offset <= ${offset})`,
    )
    const condition = [`(${erases})`, ...isNew].join(' AND ')
    const [[erasing]] = await rowsOf<[number]>(`SELECT count() FROM ${table} WHERE ${condition}`, params)
    if (erasing === 0) {
      seen = ends
      return { removed: 0, hasErased: false }
    }
    // After a start, nearly all keys of a table may have been erased, so a list of these keys would not limit the
    // search.
    const within = seen.size === 0 ? '' : `WHERE ${key} IN (SELECT ${key} FROM ${table} WHERE ${condition})`
    const replaced = await rowsOf<[string, number]>(
      `SELECT ${key}, arrayJoin(arrayFilter(each -> each != newest, offsets))
FROM (
  SELECT ${key}, groupArray(kafka_offset) AS offsets, max(kafka_offset) AS newest
  FROM ${table} ${within}
  GROUP BY ${key} HAVING count() > 1 AND countIf(${condition}) > 0
)
LIMIT ${MAX_ROWS_PER_RUN}`,
      params,
    )
    for (let from = 0; from < replaced.length; from += ROWS_PER_MUTATION) await remove(replaced.slice(from, from + ROWS_PER_MUTATION))
    if (replaced.length < MAX_ROWS_PER_RUN) seen = ends
    return { removed: replaced.length, hasErased: true }
  }

  async function remove(rows: readonly (readonly [string, number])[]): Promise<void> {
    await client.command({
      query: `ALTER TABLE ${table}${ddlParts(cluster).onCluster}
DELETE WHERE ${key} IN ({keys:Array(String)}) AND has({rows:Array(String)}, concat(${key}, ' ', toString(kafka_offset)))`,
      query_params: { keys: rows.map(([id]) => id), rows: rows.map(([id, offset]) => `${id} ${offset}`) },
      clickhouse_settings: { mutations_sync: '2' },
    })
  }

  return { run }
}
