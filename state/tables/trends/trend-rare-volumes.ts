import type { TrendRareVolumes } from '../../../schemas/trends/types.ts'
import type { Table } from '../table.ts'
import { isoMonth } from '../time.ts'
import { VOLUMES_KEPT } from './trend-volumes.ts'

/**
 * The counts of rare terms per minute, with one row for all regions. Each row holds the counts so far, and the one with
 * the greatest total is final. As a term has few such rows, queries need no order by region. When a term becomes
 * frequent, its minutes are also in `trend_volumes`, with counts that are not smaller. Fed by `trend-rare-volumes`.
 */
export const trendRareVolumesTable: Table<number, TrendRareVolumes> = {
  name: 'trend_rare_volumes',
  columns: ['term String', "minute DateTime('UTC')", 'total UInt32', 'woeids Array(Int32)', 'volumes Array(UInt32)'],
  orderBy: '(term, minute)',
  version: 'total',
  partitionBy: 'toYYYYMM(minute)',
  ttl: VOLUMES_KEPT,
  rowsOf: (_key, batch) =>
    (batch?.rows ?? []).map(({ term, minute, woeids, volumes }) => ({
      term,
      minute: new Date(minute).toISOString(),
      // Every contribution counts in the world.
      total: Math.max(...volumes),
      woeids,
      volumes,
    })),
  partitionOf: (_key, { rows }) => isoMonth(rows[0].minute),
}
