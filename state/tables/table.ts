import type { RowBinary } from './row-binary.ts'

/** A row as JSON. Integers beyond 2^53 are strings; times are epoch ms (DateTime64(3)) or ISO 8601. */
export type Row = { readonly [column: string]: RowValue }
type RowValue = string | number | boolean | null | readonly RowValue[] | { readonly [key: string]: RowValue }

/**
 * The definition of a ClickHouse table that a sink fills from topics. In addition to its declared columns, the table
 * has `kafka_topic`, `kafka_partition` and `kafka_offset`. The sink derives its position from these columns, so rows
 * and position are written in one step.
 */
export interface TableDefinition<K, V> {
  readonly name: string
  /**
   * Column definitions in ClickHouse syntax, such as `woeid Int32`. They describe the newest form; `migrations` update
   * older tables.
   */
  readonly columns: readonly string[]
  /**
   * The columns that identify a row. Of several rows with equal values in these columns, the one with the highest value
   * in the `version` column (default: `kafka_offset`) is valid.
   */
  readonly orderBy: string
  readonly version?: string
  /** Partition expression, such as `toYYYYMM(window_end)`. */
  readonly partitionBy: string
  readonly ttl?: string
  /** Further clauses of the table definition, such as indexes and projections. */
  readonly parts?: readonly string[]
  /** Number of rows per granule, the smallest unit that ClickHouse reads. Default 8,192. */
  readonly granuleRows?: number
  /**
   * Statements that create roll-ups and views of the table. They run at every start, after the table has been created,
   * so each must be idempotent (IF NOT EXISTS). To change a roll-up or view, give it a new name and drop the old one in
   * a migration.
   */
  readonly derived?: (cluster: ClusterOptions) => readonly string[]
  /** Migrations in the order in which they were added. Never change an existing one. */
  readonly migrations?: readonly Migration[]
  /**
   * Returns a value that differs whenever `partitionBy` differs. The sink splits inserts by this value, so that each
   * insert goes into one partition of the table and is one atomic part.
   */
  partitionOf(key: K, value: V): string | number
  /** How long rows may wait for further rows of the same insert, in ms. Default 1,000. */
  readonly lingerMs?: number
}

/** A table whose rows are inserted as JSON. */
export interface Table<K, V> extends TableDefinition<K, V> {
  /**
   * Returns the rows of one record, if it has any. All rows of a record must be in one partition of the table.
   * @param value null for a tombstone
   */
  rowsOf(key: K, value: V | null): readonly Row[]
}

/**
 * A table whose rows are inserted in ClickHouse's RowBinary format, for tables with thousands of new rows per second. A
 * row costs the sink and ClickHouse a fraction of what it costs as JSON, but nothing checks that the values fit the
 * columns.
 */
export interface BinaryTable<K, V> extends TableDefinition<K, V> {
  /** The names of the columns that `writeRows` writes, in this order. */
  readonly binaryColumns: readonly string[]
  /**
   * Writes the rows of one record, if it has any, and ends each row with `endRow(offset)`. All rows of a record must be
   * in one partition of the table.
   */
  writeRows(key: K, value: V, offset: number, rows: RowBinary): void
}

export type AnyTable<K, V> = Table<K, V> | BinaryTable<K, V>

/**
 * The columns that every table has in addition to its declared columns, in the order in which `RowBinary.endRow` writes
 * them.
 */
export const POSITION_COLUMNS = ['kafka_topic', 'kafka_partition', 'kafka_offset'] as const

/** A change to an existing table. */
export interface Migration {
  /** Unique within the table, such as `002-add-label`. */
  readonly id: string
  statements(ddl: DdlParts): readonly string[]
}

/** The parts of DDL statements that differ in a cluster. */
export interface DdlParts {
  /** Empty, or ` ON CLUSTER 'name'`, which follows the table's name. */
  readonly onCluster: string
}

export interface ClusterOptions {
  /** Name of the cluster in ClickHouse's configuration. Its tables are replicated. Undefined for a single server. */
  readonly cluster: string | undefined
}

/** Number of recent inserts per table that ClickHouse deduplicates by token. */
const DEDUPLICATION_WINDOW = 1_000

/** ClickHouse's own default. */
const DEFAULT_GRANULE_ROWS = 8_192

const POSITION_PARTS = [
  'kafka_topic LowCardinality(String)',
  'kafka_partition UInt32',
  'kafka_offset UInt64',
  // The projection has one row per Kafka partition and part. Without it, every start of a sink would read the whole
  // table.
  'PROJECTION kafka_position (SELECT kafka_topic, kafka_partition, max(kafka_offset) GROUP BY kafka_topic, kafka_partition)',
]

export function ddlParts({ cluster }: ClusterOptions): DdlParts {
  // Names such as `eu-west-1` and the macro `{cluster}` are valid only in quotes.
  return { onCluster: cluster === undefined ? '' : ` ON CLUSTER '${cluster}'` }
}

/**
 * Returns an engine of the `MergeTree` family, replicated in a cluster.
 * @param version the version column of a ReplacingMergeTree
 */
export function engineOf(
  family: 'MergeTree' | 'ReplacingMergeTree' | 'AggregatingMergeTree',
  cluster: ClusterOptions,
  version?: string,
): string {
  if (cluster.cluster === undefined) return version === undefined ? family : `${family}(${version})`
  const place = "'/clickhouse/tables/{uuid}/{shard}', '{replica}'"
  return version === undefined ? `Replicated${family}(${place})` : `Replicated${family}(${place}, ${version})`
}

/**
 * @param identity stored as the table's comment; a table that was dropped and created again has a different identity
 */
export function createStatement(table: TableDefinition<never, never>, identity: string, cluster: ClusterOptions): string {
  const { name, columns, parts = [], granuleRows = DEFAULT_GRANULE_ROWS, orderBy, partitionBy, ttl, version = 'kafka_offset' } = table
  const engine = engineOf('ReplacingMergeTree', cluster, version)
  const window = cluster.cluster !== undefined ? 'replicated_deduplication_window' : 'non_replicated_deduplication_window'
  return `
CREATE TABLE IF NOT EXISTS ${name}${ddlParts(cluster).onCluster} (
  ${[...columns, ...POSITION_PARTS, ...parts].join(',\n  ')}
)
ENGINE = ${engine}
PARTITION BY ${partitionBy}
ORDER BY ${orderBy}
${ttl === undefined ? '' : `TTL ${ttl}\n`}SETTINGS index_granularity = ${granuleRows}, ${window} = ${DEDUPLICATION_WINDOW}, deduplicate_merge_projection_mode = 'rebuild'
COMMENT '${identity}'`
}
