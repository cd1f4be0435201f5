import type { TrendListBytes } from '../../../schemas/trends/trend-list-bytes.ts'
import { readRows, type TableReader } from '../reader.ts'
import type { RowBinary } from '../row-binary.ts'
import type { BinaryTable, Migration } from '../table.ts'
import { isoMonth } from '../time.ts'
import { ENTRY_COLUMNS, writeEntry, writeNoEntry } from './snapshot-entry.ts'

/** Number of ranks whose history is kept. Lower ranks appear only in personal lists and in place of hidden terms. */
const SNAPSHOT_RANKS = 100
/** See docs/services/trends.md#topics-and-tables. */
const RETENTION_DAYS = 90
const MS_PER_SECOND = 1_000
/** The maximum number of seconds that a DateTime can store. */
const MAX_SECONDS = 2 ** 32 - 1

/** Columns that are null in rows that were written before the columns existed. */
const LATER_COLUMNS = [
  'volume_24h Nullable(Int64)',
  'velocity_vs_usual Nullable(Float64)',
  'score Nullable(Float64)',
  "trending_since Nullable(DateTime64(3, 'UTC'))",
]

/** Columns that are null or empty in rows that were written before the columns existed. */
const TOPIC_COLUMNS = ['users Nullable(Int64)', 'variants Array(String)']

/**
 * The list of each region per minute: one row per (woeid, window_end, rank) for ranks up to 100, kept for 90 days. Fed
 * by `trend-output`. A posted list has a higher `version` and replaces the pipeline's list of the same window. If the
 * posted list is shorter, the remaining ranks have an empty term. An empty list has one row, with an empty term, so
 * that it differs from a missing list.
 */
export const trendSnapshots: BinaryTable<number, TrendListBytes> = {
  name: 'trend_snapshots',
  columns: [
    'woeid Int32',
    "window_end DateTime('UTC')",
    'rank Int16',
    'term String',
    'name String',
    'tweet_volume Nullable(Int64)',
    'velocity Nullable(Float64)',
    'label LowCardinality(String)',
    'sample_ids Array(Int64)',
    'version UInt8',
    ...LATER_COLUMNS,
    ...TOPIC_COLUMNS,
  ],
  orderBy: '(woeid, window_end, rank)',
  version: 'version',
  partitionBy: 'toYYYYMM(window_end)',
  ttl: `window_end + INTERVAL ${RETENTION_DAYS} DAY`,
  migrations: [addition('002-entry-fields', LATER_COLUMNS), addition('003-topics', TOPIC_COLUMNS)],
  binaryColumns: ['woeid', 'window_end', 'rank', 'version', ...ENTRY_COLUMNS],
  writeRows,
  partitionOf: (_woeid, list) => isoMonth(list.window_end),
}

function addition(id: string, columns: readonly string[]): Migration {
  const added = columns.map((column) => `ADD COLUMN IF NOT EXISTS ${column}`).join(', ')
  return { id, statements: ({ onCluster }) => [`ALTER TABLE trend_snapshots${onCluster} ${added}`] }
}

function writeRows(_woeid: number, list: TrendListBytes, offset: number, rows: RowBinary): void {
  const { values } = rows
  const isPosted = list.source === 'endpoint'
  const begin = (rank: number) => {
    values.uint32(list.woeid)
    values.dateTime(list.window_end)
    values.uint16(rank)
    values.uint8(isPosted ? 1 : 0)
  }
  list.eachOf(SNAPSHOT_RANKS, (start, end, rank) => {
    begin(rank)
    writeEntry(list.body, start, end, values)
    rows.endRow(offset)
  })
  const filledUpTo = isPosted ? SNAPSHOT_RANKS : 1
  for (let rank = list.length + 1; rank <= filledUpTo; rank++) {
    begin(rank)
    writeNoEntry(values)
    rows.endRow(offset)
  }
}

export interface SnapshotEntry {
  readonly term: string
  readonly name: string
  readonly tweet_volume: number
  readonly velocity: number
  /** Empty if there is none. */
  readonly label: string
  readonly sample_tweets: readonly string[]
  /** This field and the next three are null in rows that were written before their columns existed. */
  readonly volume_24h: number | null
  readonly velocity_vs_usual: number | null
  /** Epoch ms. */
  readonly trending_since: number | null
  readonly users: number | null
  /** Empty in rows that were written before this column existed. */
  readonly variants: readonly string[]
}

export interface Snapshot {
  /** Epoch ms. */
  readonly windowEnd: number
  /** Best first, at most 100. */
  readonly entries: readonly SnapshotEntry[]
}

export interface SnapshotRange {
  readonly woeid: number
  /** Bounds of the window's end in seconds since 1970, both inclusive. */
  readonly from: number
  readonly to: number
}

const SNAPSHOT_QUERY = `
SELECT
  toUnixTimestamp(window_end), term, name, tweet_volume, velocity, label, arrayMap(id -> toString(id), sample_ids),
  volume_24h, velocity_vs_usual, toUnixTimestamp64Milli(trending_since), users, variants
FROM trend_snapshots FINAL
WHERE woeid = {woeid:Int32} AND window_end = (
  SELECT max(window_end)
  FROM trend_snapshots
  WHERE woeid = {woeid:Int32} AND window_end >= toDateTime({from:UInt32}) AND window_end <= toDateTime({to:UInt32})
)
ORDER BY rank`

type SnapshotRow = [
  windowEnd: number,
  term: string,
  name: string,
  tweet_volume: number,
  velocity: number,
  label: string,
  sample_tweets: string[],
  volume_24h: number | null,
  velocity_vs_usual: number | null,
  trending_since: number | null,
  users: number | null,
  variants: string[],
]

/** @returns the newest snapshot in the range; undefined if there is none */
export async function readSnapshot(reader: TableReader, { woeid, from, to }: SnapshotRange): Promise<Snapshot | undefined> {
  if (to < 0 || from > MAX_SECONDS) return undefined
  const params = { woeid, from: Math.max(0, from), to: Math.min(MAX_SECONDS, to) }
  const rows = await readRows<SnapshotRow>(reader, SNAPSHOT_QUERY, params)
  if (rows.length === 0) return undefined
  return { windowEnd: rows[0][0] * MS_PER_SECOND, entries: rows.filter(([, term]) => term !== '').map(entryOf) }
}

function entryOf(row: SnapshotRow): SnapshotEntry {
  const [, term, name, tweet_volume, velocity, label, sample_tweets, volume_24h, velocity_vs_usual, trending_since, users, variants] = row
  return { term, name, tweet_volume, velocity, label, sample_tweets, volume_24h, velocity_vs_usual, trending_since, users, variants }
}
