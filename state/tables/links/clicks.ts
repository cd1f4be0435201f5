import type { ClickDetails } from '../../../schemas/links/types.ts'
import { readRows, type TableReader } from '../reader.ts'
import type { Table } from '../table.ts'
import { isoDay, isoTime } from '../time.ts'
import { clickDaysStatements } from './click-days.ts'

/** Retention of raw clicks in days: one quarter. The daily totals in `click_days` are kept longer. */
const RETENTION_DAYS = 90
/**
 * Number of rows per page. A page takes about 1 MB as JSON. The page size bounds the memory and the duration of a
 * query, regardless of a link's number of clicks.
 */
const PAGE_ROWS = 10_000
/**
 * Length of the first period that is searched for a page. ClickHouse reads the first block of every day in the searched
 * period, even if the first day fills the page. For a page of a popular link, only one day is therefore searched.
 */
const FIRST_PERIOD_MS = 24 * 3_600_000
/** Factor by which the periods grow until the page is full, so that a link with few clicks takes few queries. */
const PERIOD_GROWTH = 8

/**
 * Every counted click, one row each, kept for 90 days for analysts. Fed by `click-details`. Rows contain the visitor's
 * address only if the operator chooses to store addresses. The table is partitioned by day, so that the roll-up reads
 * only days that changed and expiry drops whole parts. Read it with FINAL.
 */
export const clicksTable: Table<string, ClickDetails> = {
  name: 'clicks',
  columns: [
    'short_code String',
    "clicked_at DateTime64(3, 'UTC')",
    'referrer String',
    'country LowCardinality(String)',
    'browser LowCardinality(String)',
    'device LowCardinality(String)',
    'bot Bool',
    'visitor FixedString(16)',
    'ip String',
    "inserted_at DateTime('UTC') DEFAULT now()",
  ],
  orderBy: '(short_code, clicked_at, kafka_partition, kafka_offset)',
  partitionBy: 'toDate(clicked_at)',
  ttl: `toDateTime(clicked_at) + INTERVAL ${RETENTION_DAYS} DAY`,
  parts: ['INDEX inserted inserted_at TYPE minmax'],
  derived: clickDaysStatements,
  rowsOf: (_code, click) => (click === null ? [] : [{ ...click, clicked_at: isoTime(click.clicked_at) }]),
  partitionOf: (_code, { clicked_at }) => isoDay(clicked_at),
}

export interface LinkClick {
  /** Epoch ms. */
  readonly clickedAt: number
  readonly referrer: string
  readonly country: string
  readonly browser: string
  readonly device: string
  readonly bot: boolean
}

/** The position after the last row of a page, where the next page begins. */
export interface ClickCursor {
  /** Epoch ms. */
  readonly clickedAt: number
  readonly partition: number
  /** The offset in decimal. */
  readonly offset: string
}

export interface ClickPage {
  readonly clicks: readonly LinkClick[]
  /** Where the next page begins; undefined after the last page. */
  readonly next: ClickCursor | undefined
}

export interface ClickRange {
  readonly code: string
  /** Epoch ms, inclusive. */
  readonly from: number
  /** Epoch ms, exclusive. */
  readonly to: number
}

type ClickRow = [
  at: number,
  partition: number,
  offset: string,
  referrer: string,
  country: string,
  browser: string,
  device: string,
  bot: boolean,
]

/**
 * The order is the table's sort order, so that few rows are sorted. FINAL returns each click once. The first condition
 * on the time follows from the last condition, but only the first lets ClickHouse skip days.
 */
const PAGE_QUERY = `
SELECT toUnixTimestamp64Milli(clicked_at), kafka_partition, toString(kafka_offset), referrer, country, browser, device, bot
FROM clicks FINAL
WHERE short_code = {code:String}
  AND clicked_at >= fromUnixTimestamp64Milli({afterTime:Int64}) AND clicked_at < fromUnixTimestamp64Milli({to:Int64})
  AND (clicked_at, kafka_partition, kafka_offset) > (fromUnixTimestamp64Milli({afterTime:Int64}), {afterPartition:Int64}, {afterOffset:UInt64})
ORDER BY short_code, clicked_at, kafka_partition, kafka_offset
LIMIT {limit:UInt32}`

/** @param after the `next` of the previous page; undefined selects the first page */
export async function readClicks(
  reader: TableReader,
  { code, from, to }: ClickRange,
  after: ClickCursor | undefined,
  limit: number = PAGE_ROWS,
): Promise<ClickPage> {
  const rows: ClickRow[] = []
  let at = after ?? beginningOf(from)
  for (let periodMs = FIRST_PERIOD_MS; rows.length < limit && at.clickedAt < to; periodMs *= PERIOD_GROWTH) {
    const end = Math.min(to, at.clickedAt + periodMs)
    const position = { afterTime: at.clickedAt, afterPartition: at.partition, afterOffset: at.offset }
    const params = { code, ...position, to: end, limit: limit - rows.length }
    rows.push(...(await readRows<ClickRow>(reader, PAGE_QUERY, params)))
    at = beginningOf(end)
  }
  const last = rows.at(-1)
  return {
    clicks: rows.map(([at, , , referrer, country, browser, device, bot]) => ({ clickedAt: at, referrer, country, browser, device, bot })),
    next: last === undefined || rows.length < limit ? undefined : { clickedAt: last[0], partition: last[1], offset: last[2] },
  }
}

/** Returns the position before all clicks at or after the given time. */
function beginningOf(clickedAt: number): ClickCursor {
  return { clickedAt, partition: -1, offset: '0' }
}
