import type { ClickHouseClient, ClickHouseSettings } from '@clickhouse/client'
import { type ClusterOptions, ddlParts } from './table.ts'

/**
 * Table that records, for each partition of a table's input, the id of the Kafka topic. In a topic that was deleted and
 * created again, the same offsets refer to other records. Kafka forgets the committed offsets of a deleted topic, so
 * the id is stored with the table and not with the offsets.
 */
const TOPIC_IDS_TABLE = 'table_topic_ids'

export interface FilledFrom {
  readonly table: string
  readonly identity: string
  readonly topic: string
  readonly partition: number
}

export function topicIdsStatement(cluster: ClusterOptions): string {
  const engine =
    cluster.cluster === undefined
      ? 'ReplacingMergeTree(recorded_at)'
      : `ReplicatedReplacingMergeTree('/clickhouse/tables/{uuid}/{shard}', '{replica}', recorded_at)`
  return `CREATE TABLE IF NOT EXISTS ${TOPIC_IDS_TABLE}${ddlParts(cluster).onCluster} (table_name String, identity String, kafka_topic String, kafka_partition UInt32, topic_id String, recorded_at DateTime64(3) DEFAULT now64(3))
ENGINE = ${engine}
ORDER BY (table_name, identity, kafka_topic, kafka_partition)`
}

/** Records the id of a topic, and replaces the id that was recorded for the partition before. */
export async function recordTopicId(
  client: ClickHouseClient,
  { table, identity, topic, partition, id }: FilledFrom & { readonly id: string },
  settings: ClickHouseSettings,
): Promise<void> {
  await client.insert({
    table: TOPIC_IDS_TABLE,
    columns: ['table_name', 'identity', 'kafka_topic', 'kafka_partition', 'topic_id'],
    values: [{ table_name: table, identity, kafka_topic: topic, kafka_partition: partition, topic_id: id }],
    format: 'JSONEachRow',
    clickhouse_settings: { async_insert: 0, ...settings },
  })
}

export async function recordedTopicId(
  client: ClickHouseClient,
  { table, identity, topic, partition }: FilledFrom,
  settings: ClickHouseSettings,
): Promise<string | undefined> {
  const result = await client.query({
    query: `SELECT topic_id FROM ${TOPIC_IDS_TABLE}
WHERE table_name = {table:String} AND identity = {identity:String} AND kafka_topic = {topic:String} AND kafka_partition = {partition:UInt32}
ORDER BY recorded_at DESC LIMIT 1`,
    query_params: { table, identity, topic, partition },
    format: 'JSONEachRow',
    clickhouse_settings: settings,
  })
  const [row] = await result.json<{ topic_id: string }>()
  return row?.topic_id
}
