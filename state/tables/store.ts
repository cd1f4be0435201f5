import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { type ClickHouseClient, ClickHouseError, type ClickHouseSettings } from '@clickhouse/client'
import { TargetUnavailableError } from '../unavailable.ts'
import { catchUpsStatement, forgetCatchUp, recordCatchUp } from './catch-ups.ts'
import { migrateTable } from './migrate.ts'
import type { InsertSource, RowBinary } from './row-binary.ts'
import { type AnyTable, type ClusterOptions, POSITION_COLUMNS, type Row, type TableDefinition } from './table.ts'
import { recordedTopicId, recordTopicId, topicIdsStatement } from './topic-ids.ts'

/** Rows from a range of offsets of one Kafka partition. All rows belong to the same partition of the table. */
export interface Insert {
  readonly topic: string
  readonly partition: number
  readonly rows: readonly OffsetRow[]
}

export interface OffsetRow {
  readonly offset: number
  readonly row: Row
}

/** Writes the rows of a sink to one table. */
export interface TableStore {
  /**
   * Creates or migrates the table.
   * @returns the table's identity, which changes when the table is dropped and created again
   */
  prepare(): Promise<string>
  /** Returns the offset after the last one in the table; undefined when it has no row of this Kafka partition. */
  position(topic: string, partition: number): Promise<number | undefined>
  /**
   * Writes all rows as one part, or no row at all. When the response is lost, `position` shows whether the rows were
   * written.
   */
  insert(insert: Insert): Promise<void>
  /** Writes the binary rows of a `BinaryTable`, with the same guarantee as `insert`. */
  insertBinary(rows: RowBinary): Promise<void>
  /**
   * Makes the later inserts of this Kafka partition differ from all earlier ones. Call this when the log has lost
   * records. Otherwise, ClickHouse would ignore an insert of new records with the same offsets, because it would take
   * the insert for a repetition.
   */
  forgetInserts(topic: string, partition: number): void
  /**
   * Records that the table contains this Kafka partition up to the end that the log had when reading began. Once all
   * partitions are recorded, readers may conclude from a missing row that the data does not exist. Call `prepare`
   * first.
   */
  noteCaughtUp(topic: string, partition: number): Promise<void>
  /**
   * Returns the recorded id of the topic from which this Kafka partition was read; undefined when no id is recorded.
   */
  topicId(topic: string, partition: number): Promise<string | undefined>
  /**
   * Records the id of the topic from which this Kafka partition is read. If another id was recorded, the partition no
   * longer counts as caught up. Call `prepare` and `topicId` first.
   */
  noteTopicId(topic: string, partition: number, id: string): Promise<void>
}

/**
 * Codes of errors by which ClickHouse reports a temporary condition. Any other code counts as a bug or a wrong
 * configuration, for example an unknown table or column, which no retry can fix.
 */
const PASSING = new Set([
  '3', // UNEXPECTED_END_OF_FILE
  '75', // CANNOT_WRITE_TO_FILE_DESCRIPTOR, for example because the disk is full
  '159', // TIMEOUT_EXCEEDED
  '164', // READONLY
  '173', // CANNOT_ALLOCATE_MEMORY
  '201', // QUOTA_EXCEEDED, until the interval of the quota ends
  '202', // TOO_MANY_SIMULTANEOUS_QUERIES
  '203', // NO_FREE_CONNECTION
  '209', // SOCKET_TIMEOUT
  '210', // NETWORK_ERROR
  '225', // NO_ZOOKEEPER
  '236', // ABORTED
  '241', // MEMORY_LIMIT_EXCEEDED
  '242', // TABLE_IS_READ_ONLY
  '243', // NOT_ENOUGH_SPACE
  '252', // TOO_MANY_PARTS
  '285', // TOO_FEW_LIVE_REPLICAS
  '286', // UNSATISFIED_QUORUM_FOR_PREVIOUS_WRITE
  '289', // REPLICA_IS_NOT_IN_QUORUM, while the replica has not fetched the last insert
  '319', // UNKNOWN_STATUS_OF_INSERT
  '341', // UNFINISHED
  '394', // QUERY_WAS_CANCELLED
  '416', // REPLICA_STATUS_CHANGED
  '425', // SYSTEM_ERROR
  '439', // CANNOT_SCHEDULE_TASK
  '473', // DEADLOCK_AVOIDED
  '499', // S3_ERROR, in tables that are stored in a bucket
  '517', // CANNOT_ASSIGN_ALTER, when several sinks migrate a replicated table
  '745', // SERVER_OVERLOADED
  '762', // HTTP_CONNECTION_LIMIT_REACHED
  '999', // KEEPER_EXCEPTION
])

/** Number of rows per block. It exceeds the number of rows of any insert, so that each insert is a single block. */
const ONE_BLOCK = '100000000'

const INSERT_SETTINGS: ClickHouseSettings = {
  // Since version 26.7, inserts are asynchronous by default, so a response would not mean that the rows are stored.
  async_insert: 0,
  // Parallel parsing, or a lower maximum size of blocks, would split one insert into several blocks.
  input_format_parallel_parsing: 0,
  max_insert_block_size: ONE_BLOCK,
  insert_deduplicate: 1,
  date_time_input_format: 'best_effort',
}
const QUORUM_INSERT: ClickHouseSettings = { insert_quorum: 'auto' as never, insert_quorum_parallel: 0 }
const QUORUM_READ: ClickHouseSettings = { select_sequential_consistency: '1' }

export function tableStore<K, V>(table: AnyTable<K, V>, client: ClickHouseClient, cluster: ClusterOptions): TableStore {
  const isReplicated = cluster.cluster !== undefined
  const insertSettings = isReplicated ? { ...INSERT_SETTINGS, ...QUORUM_INSERT } : INSERT_SETTINGS

  let identity = ''
  /** The ids of the topics from which the table is filled, by topic and partition. */
  const topicIds = new Map<string, string>()
  /** Texts that make inserts differ from earlier ones with the same offsets, by topic and partition. */
  const salts = new Map<string, string>()

  async function prepare(): Promise<string> {
    identity = await asking(async () => {
      await client.command({ query: catchUpsStatement(cluster) })
      await client.command({ query: topicIdsStatement(cluster) })
      return migrateTable(table as unknown as TableDefinition<never, never>, cluster, { client, newIdentity: randomUUID })
    })
    return identity
  }

  async function noteCaughtUp(topic: string, partition: number): Promise<void> {
    await asking(() => recordCatchUp(client, { table: table.name, identity, topic, partition }))
  }

  async function position(topic: string, partition: number): Promise<number | undefined> {
    const rows = await asking(async () => {
      const result = await client.query({
        query: `SELECT toString(max(kafka_offset)) AS last FROM ${table.name}
WHERE kafka_topic = {topic:String} AND kafka_partition = {partition:UInt32} GROUP BY kafka_topic, kafka_partition`,
        query_params: { topic, partition },
        format: 'JSONEachRow',
        clickhouse_settings: isReplicated ? QUORUM_READ : {},
      })
      return result.json<{ last: string }>()
    })
    return rows.length === 0 ? undefined : Number(rows[0].last) + 1
  }

  /**
   * Returns the deduplication token of an insert. ClickHouse ignores an insert that repeats a recent token. The token
   * contains the id of the topic if it is known, because a topic that was deleted and created again has other records
   * at the same offsets.
   */
  function tokenOf({ topic, partition }: InsertSource, firstOffset: number, lastOffset: number, rows: number): string {
    const key = sourceKey(topic, partition)
    const parts = [topicIds.get(key), topic, partition, firstOffset, lastOffset, rows, salts.get(key)]
    return parts.filter((part) => part !== undefined).join('-')
  }

  function forgetInserts(topic: string, partition: number): void {
    salts.set(sourceKey(topic, partition), randomUUID())
  }

  async function insert({ topic, partition, rows }: Insert): Promise<void> {
    const token = tokenOf({ topic, partition }, rows[0].offset, rows[rows.length - 1].offset, rows.length)
    await asking(() =>
      client.insert({
        table: table.name,
        values: rows.map(({ offset, row }) => ({ ...row, kafka_topic: topic, kafka_partition: partition, kafka_offset: offset })),
        format: 'JSONEachRow',
        clickhouse_settings: { ...insertSettings, insert_deduplication_token: token },
      }),
    )
  }

  async function insertBinary({ source, firstOffset, lastOffset, count, bytes }: RowBinary): Promise<void> {
    const columns = 'binaryColumns' in table ? [...table.binaryColumns, ...POSITION_COLUMNS] : []
    const token = tokenOf(source, firstOffset, lastOffset, count)
    await asking(async () => {
      const { stream } = await client.exec({
        query: `INSERT INTO ${table.name} (${columns.join(', ')}) FORMAT RowBinary`,
        // The array makes all bytes one chunk of the stream.
        values: Readable.from([bytes], { objectMode: false }),
        clickhouse_settings: { ...insertSettings, insert_deduplication_token: token },
      })
      // The connection is free again only after the empty response has been read.
      stream.resume()
      await finished(stream)
    })
  }

  async function topicId(topic: string, partition: number): Promise<string | undefined> {
    const place = { table: table.name, identity, topic, partition }
    const id = await asking(() => recordedTopicId(client, place, isReplicated ? QUORUM_READ : {}))
    if (id !== undefined) topicIds.set(sourceKey(topic, partition), id)
    return id
  }

  async function noteTopicId(topic: string, partition: number, id: string): Promise<void> {
    const place = { table: table.name, identity, topic, partition }
    const before = topicIds.get(sourceKey(topic, partition))
    await asking(async () => {
      if (before !== undefined && before !== id) await forgetCatchUp(client, place, cluster)
      await recordTopicId(client, { ...place, id }, isReplicated ? QUORUM_INSERT : {})
    })
    topicIds.set(sourceKey(topic, partition), id)
  }

  return { prepare, position, insert, insertBinary, forgetInserts, noteCaughtUp, topicId, noteTopicId }
}

function sourceKey(topic: string, partition: number): string {
  return `${topic}-${partition}`
}

async function asking<T>(question: () => Promise<T>): Promise<T> {
  try {
    return await question()
  } catch (error) {
    if (error instanceof ClickHouseError && !PASSING.has(error.code)) throw error
    if (error instanceof TypeError || error instanceof RangeError) throw error
    throw new TargetUnavailableError(`a request to ClickHouse failed: ${(error as Error).message}`, { cause: error })
  }
}
