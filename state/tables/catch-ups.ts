import { randomUUID } from 'node:crypto'
import type { ClickHouseClient } from '@clickhouse/client'
import { readRows, type TableReader } from './reader.ts'
import { type ClusterOptions, ddlParts } from './table.ts'

/**
 * Table that records which Kafka partitions a table has caught up with. Until all partitions are recorded, the table is
 * still being built, so a missing row does not mean that the data does not exist. The records belong to the table's
 * identity, so a table that is dropped and created again starts without records.
 */
const CATCH_UPS_TABLE = 'table_catch_ups'

export interface CatchUp {
  readonly table: string
  readonly identity: string
  readonly topic: string
  readonly partition: number
}

export function catchUpsStatement(cluster: ClusterOptions): string {
  const engine =
    cluster.cluster === undefined ? 'ReplacingMergeTree' : `ReplicatedReplacingMergeTree('/clickhouse/tables/{uuid}/{shard}', '{replica}')`
  return `CREATE TABLE IF NOT EXISTS ${CATCH_UPS_TABLE}${ddlParts(cluster).onCluster} (table_name String, identity String, kafka_topic String, kafka_partition UInt32)
ENGINE = ${engine}
ORDER BY (table_name, identity, kafka_topic, kafka_partition)`
}

/** Records that a table has caught up with a Kafka partition. Recording the same partition again changes nothing. */
export async function recordCatchUp(client: ClickHouseClient, { table, identity, topic, partition }: CatchUp): Promise<void> {
  await client.insert({
    table: CATCH_UPS_TABLE,
    values: [{ table_name: table, identity, kafka_topic: topic, kafka_partition: partition }],
    format: 'JSONEachRow',
    // A replicated table drops an insert that repeats a recent one, even if the row of the recent one has been deleted.
    // A new token makes each insert unique.
    clickhouse_settings: { async_insert: 0, insert_deduplication_token: randomUUID() },
  })
}

/** Deletes the record of a Kafka partition, because its topic was recreated and the table has to be filled again. */
export async function forgetCatchUp(
  client: ClickHouseClient,
  { table, identity, topic, partition }: CatchUp,
  cluster: ClusterOptions,
): Promise<void> {
  await client.command({
    query: `ALTER TABLE ${CATCH_UPS_TABLE}${ddlParts(cluster).onCluster}
DELETE WHERE table_name = {table:String} AND identity = {identity:String} AND kafka_topic = {topic:String} AND kafka_partition = {partition:UInt32}`,
    query_params: { table, identity, topic, partition },
    clickhouse_settings: { mutations_sync: '2' },
  })
}

const CAUGHT_UP_QUERY = `
SELECT table_name, uniqExact(kafka_topic, kafka_partition)
FROM ${CATCH_UPS_TABLE}
WHERE (table_name, identity) IN (SELECT name, comment FROM system.tables WHERE database = currentDatabase() AND name IN {tables:Array(String)})
GROUP BY table_name`

/**
 * Returns how many Kafka partitions each table has caught up with under its current identity, in the order of `tables`.
 * The number is 0 for a table that does not exist.
 */
export async function caughtUpPartitions(reader: TableReader, ...tables: readonly string[]): Promise<number[]> {
  const rows = await readRows<[table: string, partitions: number]>(reader, CAUGHT_UP_QUERY, { tables })
  const byTable = new Map(rows)
  return tables.map((table) => byTable.get(table) ?? 0)
}
