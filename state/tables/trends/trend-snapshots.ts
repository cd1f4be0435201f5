import type { TrendEntry, TrendOutput } from '../../../schemas/trends/types.ts'
import type { Row, Table } from '../table.ts'
import { isoMonth } from '../time.ts'

/** Number of ranks whose history is kept. Deeper ranks are only candidates for personalized lists. */
const SNAPSHOT_RANKS = 100
/** See docs/services/trends.md#topics-and-tables. */
const RETENTION_DAYS = 90

/**
 * The list of each region per minute: one row per (woeid, window_end, rank) for ranks up to 100, kept for 90 days. Fed
 * by `trend-output`. A posted list has a greater `version` and replaces the pipeline's list of the same window. If the
 * posted list is shorter, the remaining ranks hold an empty term.
 */
export const trendSnapshots: Table<number, TrendOutput> = {
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
  ],
  orderBy: '(woeid, window_end, rank)',
  version: 'version',
  partitionBy: 'toYYYYMM(window_end)',
  ttl: `window_end + INTERVAL ${RETENTION_DAYS} DAY`,
  rowsOf,
  partitionOf: (_woeid, list) => isoMonth(list.window_end),
}

function rowsOf(_woeid: number, list: TrendOutput | null): Row[] {
  if (list === null) return []
  const isPosted = list.source === 'endpoint'
  const rows = list.entries.slice(0, SNAPSHOT_RANKS).map((entry, index) => rowOf(list, index + 1, entry))
  if (isPosted) for (let rank = rows.length + 1; rank <= SNAPSHOT_RANKS; rank++) rows.push(rowOf(list, rank, undefined))
  return rows
}

function rowOf(list: TrendOutput, rank: number, entry: TrendEntry | undefined): Row {
  return {
    woeid: list.woeid,
    window_end: new Date(list.window_end).toISOString(),
    rank,
    term: entry?.term ?? '',
    name: entry?.name ?? '',
    tweet_volume: entry === undefined ? null : String(entry.tweet_volume),
    velocity: entry?.velocity ?? null,
    label: entry?.label ?? '',
    sample_ids: entry?.sample_tweets.map(String) ?? [],
    version: list.source === 'endpoint' ? 1 : 0,
  }
}
