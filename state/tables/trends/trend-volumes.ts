import type { TrendVolume } from '../../../schemas/trends/types.ts'
import { readRows, type TableReader } from '../reader.ts'
import type { BinaryTable } from '../table.ts'
import { isoMonth } from '../time.ts'

/** Retention in days. GET /v1/trends/{term}/history covers at most 2,160 hours. */
const RETENTION_DAYS = 90
export const VOLUMES_KEPT = `minute + INTERVAL ${RETENTION_DAYS} DAY`
const MS_PER_SECOND = 1_000

/**
 * The count of each frequent term per region and minute. Counts of rare terms are in `trend_rare_volumes`. Each row
 * contains the count so far, and the highest count is final. Fed by `trend-volumes`.
 */
export const trendVolumesTable: BinaryTable<string, TrendVolume> = {
  name: 'trend_volumes',
  columns: ['woeid Int32', 'term String', "minute DateTime('UTC')", 'volume UInt64'],
  orderBy: '(woeid, term, minute)',
  version: 'volume',
  partitionBy: 'toYYYYMM(minute)',
  ttl: VOLUMES_KEPT,
  binaryColumns: ['woeid', 'term', 'minute', 'volume'],
  writeRows(_key, { woeid, term, minute, volume }, offset, rows) {
    const { values } = rows
    values.uint32(woeid)
    values.text(term)
    values.dateTime(minute)
    values.uint64(volume)
    rows.endRow(offset)
  },
  partitionOf: (_key, cell) => isoMonth(cell.minute),
}

export interface VolumeRange {
  readonly woeid: number
  /** The folded term. */
  readonly term: string
  /** Start of the first step in epoch ms; a multiple of stepMs. */
  readonly from: number
  /** Epoch ms, exclusive. */
  readonly to: number
  /** Must be a multiple of one minute. */
  readonly stepMs: number
}

/** Condition that selects the minutes in the range. */
const IN_RANGE = 'minute >= toDateTime({from:UInt32}) AND minute < toDateTime({to:UInt32})'
const RARE_ROWS = `
SELECT minute, toUInt64(volumes[indexOf(woeids, {woeid:Int32})]) AS volume, adds_as
FROM trend_rare_volumes
WHERE term = {term:String} AND has(woeids, {woeid:Int32}) AND ${IN_RANGE}`
const STEP = 'intDiv(toUnixTimestamp(minute), {step:UInt32}) * {step:UInt32} AS step_start'

const VOLUMES_QUERY = `
SELECT ${STEP}, sum(most)
FROM (
  SELECT minute, max(volume) AS most
  FROM (
    SELECT minute, volume
    FROM trend_volumes
    WHERE woeid = {woeid:Int32} AND term = {term:String} AND ${IN_RANGE}
    UNION ALL
    SELECT minute, volume FROM (${RARE_ROWS} AND adds_as = '')
  )
  GROUP BY minute
)
GROUP BY step_start`

/**
 * Query for the rows that add to other rows. There are hardly any such rows, but reading them in the main query would
 * make that query a quarter more expensive.
 */
const ADDED_QUERY = `
SELECT ${STEP}, sum(most)
FROM (SELECT minute, adds_as, max(volume) AS most FROM (${RARE_ROWS} AND adds_as != '') GROUP BY minute, adds_as)
GROUP BY step_start`

type StepRow = [step: number, volume: number]

/** @returns volumes by the start of their step (epoch ms), without steps that have no events */
export async function readVolumes(reader: TableReader, { woeid, term, from, to, stepMs }: VolumeRange): Promise<Map<number, number>> {
  const params = { woeid, term, from: from / MS_PER_SECOND, to: to / MS_PER_SECOND, step: stepMs / MS_PER_SECOND }
  const [rows, added] = await Promise.all([
    readRows<StepRow>(reader, VOLUMES_QUERY, params),
    readRows<StepRow>(reader, ADDED_QUERY, params),
  ])
  const volumes = new Map<number, number>()
  for (const [step, volume] of rows) volumes.set(step * MS_PER_SECOND, volume)
  for (const [step, volume] of added) volumes.set(step * MS_PER_SECOND, (volumes.get(step * MS_PER_SECOND) ?? 0) + volume)
  return volumes
}
