/** A row as JSON: 64-bit integers as strings, times as epoch ms (DateTime64(3)) or ISO 8601. */
export type Row = { readonly [column: string]: RowValue }
type RowValue = string | number | boolean | null | readonly RowValue[] | { readonly [key: string]: RowValue }

/**
 * A ClickHouse table that a sink fills from topics. Beside its own columns it has `kafka_topic`, `kafka_partition` and `kafka_offset`:
 * the greatest offset in the table tells where the sink continues, so that an insert and its position are one step.
 */
export interface Table<K, V> {
  readonly name: string
  /** Column definitions in ClickHouse's words: `woeid Int32`. The newest form; older tables get there by `migrations`. */
  readonly columns: readonly string[]
  /** Identity of a row: rows that agree in it are one, the one with the greatest `version` column (default: `kafka_offset`). */
  readonly orderBy: string
  readonly version?: string
  /** Expression of ClickHouse's partitions, e.g. `toYYYYMM(window_end)`. */
  readonly partitionBy: string
  readonly ttl?: string
  /** Further parts of the definition: indexes, projections. */
  readonly parts?: readonly string[]
  /**
   * Statements for what is made from the table: roll-ups, views. Run at every start, after the table is there: each must be repeatable
   * (IF NOT EXISTS). One that changes gets a new name, and a migration drops the old one.
   */
  readonly derived?: (cluster: ClusterOptions) => readonly string[]
  /** In the order in which they came; never changed afterwards. */
  readonly migrations?: readonly Migration[]
  /**
   * Rows of one record; none is fine. All of them must lie in one partition of the table.
   * @param value null: a tombstone
   */
  rowsOf(key: K, value: V | null): readonly Row[]
  /** Differs whenever `partitionBy` differs: an insert never spans two partitions of the table, so that it is one atomic part. */
  partitionOf(key: K, value: V): string | number
}

/** A change of a table that exists already. */
export interface Migration {
  /** Unique within the table: `002-add-label`. */
  readonly id: string
  statements(ddl: DdlParts): readonly string[]
}

/** What a cluster writes differently. */
export interface DdlParts {
  /** Empty, or ` ON CLUSTER name`: follows the table's name. */
  readonly onCluster: string
}

export interface ClusterOptions {
  /** Name of the cluster in ClickHouse's configuration: tables are replicated. Undefined: one server. */
  readonly cluster: string | undefined
}

/** Repeated inserts that ClickHouse itself recognises by their token, per table: minutes of a busy sink. */
const DEDUPLICATION_WINDOW = 1_000

const POSITION_PARTS = [
  'kafka_topic LowCardinality(String)',
  'kafka_partition UInt32',
  'kafka_offset UInt64',
  // One row per partition and part: without it, every start of a sink would read the whole table.
  'PROJECTION kafka_position (SELECT kafka_topic, kafka_partition, max(kafka_offset) GROUP BY kafka_topic, kafka_partition)',
]

export function ddlParts({ cluster }: ClusterOptions): DdlParts {
  return { onCluster: cluster === undefined ? '' : ` ON CLUSTER ${cluster}` }
}

/** `MergeTree` family, replicated in a cluster. @param version column of a ReplacingMergeTree */
export function engineOf(
  family: 'MergeTree' | 'ReplacingMergeTree' | 'AggregatingMergeTree',
  cluster: ClusterOptions,
  version?: string,
): string {
  if (cluster.cluster === undefined) return version === undefined ? family : `${family}(${version})`
  const place = "'/clickhouse/tables/{uuid}/{shard}', '{replica}'"
  return version === undefined ? `Replicated${family}(${place})` : `Replicated${family}(${place}, ${version})`
}

/** @param identity kept as the table's comment; a table that was dropped and made again has another one */
export function createStatement(table: Table<never, never>, identity: string, cluster: ClusterOptions): string {
  const { name, columns, parts = [], orderBy, partitionBy, ttl, version = 'kafka_offset' } = table
  const engine = engineOf('ReplacingMergeTree', cluster, version)
  const window = cluster.cluster !== undefined ? 'replicated_deduplication_window' : 'non_replicated_deduplication_window'
  return `
CREATE TABLE IF NOT EXISTS ${name}${ddlParts(cluster).onCluster} (
  ${[...columns, ...POSITION_PARTS, ...parts].join(',\n  ')}
)
ENGINE = ${engine}
PARTITION BY ${partitionBy}
ORDER BY ${orderBy}
${ttl === undefined ? '' : `TTL ${ttl}\n`}SETTINGS ${window} = ${DEDUPLICATION_WINDOW}, deduplicate_merge_projection_mode = 'rebuild'
COMMENT '${identity}'`
}
