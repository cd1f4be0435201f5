import type { TrendVolume } from '../../../schemas/trends/types.ts'
import type { Table } from '../table.ts'
import { isoMonth } from '../time.ts'

/** As long as the snapshots: GET /v1/trends/{term}/history answers for at most 2,160 hours. */
const RETENTION_DAYS = 90

/**
 * How often each term was counted, per region and minute: each row holds the count so far, the greatest is the count. Fed by `trend-volumes`.
 */
export const trendVolumesTable: Table<string, TrendVolume> = {
  name: 'trend_volumes',
  columns: ['woeid Int32', 'term String', "minute DateTime('UTC')", 'volume UInt64'],
  orderBy: '(woeid, term, minute)',
  version: 'volume',
  partitionBy: 'toYYYYMM(minute)',
  ttl: `minute + INTERVAL ${RETENTION_DAYS} DAY`,
  rowsOf: (_key, cell) =>
    cell === null ? [] : [{ woeid: cell.woeid, term: cell.term, minute: new Date(cell.minute).toISOString(), volume: String(cell.volume) }],
  partitionOf: (_key, cell) => isoMonth(cell.minute),
}
