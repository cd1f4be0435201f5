import type { BinaryTable } from '../table.ts'
import { isoMonth } from '../time.ts'
import type { RareVolumeBytes } from './rare-volume-bytes.ts'
import { VOLUMES_KEPT } from './trend-volumes.ts'

const ADDS_AS = 'adds_as String'

/**
 * The counts of rare terms per minute. A row contains the counts of all regions so far. Of several rows with the same
 * term, minute and `adds_as`, the row with the highest total is final. A term has few rows in this table, so the rows
 * need not be sorted by region. When a term becomes frequent, its minutes are also in `trend_volumes`, with counts that
 * are at least as high. Rows whose `adds_as` is not empty contain late contributions, which arrived when the earlier
 * count of their minute was no longer known. The counts in these rows are added to those in other rows. Fed by
 * `trend-rare-volumes`.
 */
export const trendRareVolumesTable: BinaryTable<number, RareVolumeBytes> = {
  name: 'trend_rare_volumes',
  columns: ['term String', "minute DateTime('UTC')", 'total UInt32', 'woeids Array(Int32)', 'volumes Array(UInt32)', ADDS_AS],
  orderBy: '(term, minute, adds_as)',
  version: 'total',
  partitionBy: 'toYYYYMM(minute)',
  ttl: VOLUMES_KEPT,
  migrations: [
    {
      id: '002-added-rows',
      statements: ({ onCluster }) => [
        // The column has no default expression, because ClickHouse allows no new column with a default in a sorting
        // key.
        `ALTER TABLE trend_rare_volumes${onCluster} ADD COLUMN IF NOT EXISTS ${ADDS_AS}, MODIFY ORDER BY (term, minute, adds_as)`,
      ],
    },
  ],
  binaryColumns: ['term', 'minute', 'woeids', 'volumes', 'total', 'adds_as'],
  writeRows(_key, batch, offset, rows) {
    const { values } = rows
    batch.eachRow(({ termStart, termEnd, minute, woeids, volumes }) => {
      values.textBytes(batch.buffer, termStart, termEnd)
      values.dateTime(minute)
      values.length(woeids.length)
      for (const woeid of woeids) values.uint32(woeid)
      values.length(volumes.length)
      let total = 0
      for (const volume of volumes) {
        values.uint32(volume)
        // Every contribution is also counted worldwide, so the worldwide volume, which is the total, is the largest.
        if (volume > total) total = volume
      }
      values.uint32(total)
      values.text(batch.addsAs)
      rows.endRow(offset)
    })
  },
  partitionOf: (_key, { firstMinute }) => isoMonth(firstMinute),
}
