import type { TableReader } from '../trends/trends.ts'

/** Raw clicks of one link, read by the API page by page: memory and the time of a query are bounded, however many there are. */

/** Rows of a page: about 1 MB of JSON. */
const PAGE_ROWS = 10_000
/** ClickHouse stops a query that takes longer: its caller has been told 503 by then. */
const MAX_EXECUTION_SECONDS = 5

export interface LinkClick {
  /** Epoch ms. */
  readonly clickedAt: number
  readonly referrer: string
  readonly country: string
  readonly browser: string
  readonly device: string
  readonly bot: boolean
}

/** Where the next page begins: behind the last row of the one before. */
export interface ClickCursor {
  /** Epoch ms. */
  readonly clickedAt: number
  readonly partition: number
  /** Decimal. */
  readonly offset: string
}

export interface ClickPage {
  readonly clicks: readonly LinkClick[]
  /** Undefined: this was the last one. */
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

/** The order is the table's own, so that a page is read where it lies. FINAL: each click once. */
const PAGE_QUERY = `
SELECT toUnixTimestamp64Milli(clicked_at), kafka_partition, toString(kafka_offset), referrer, country, browser, device, bot
FROM clicks FINAL
WHERE short_code = {code:String}
  AND clicked_at >= fromUnixTimestamp64Milli({from:Int64}) AND clicked_at < fromUnixTimestamp64Milli({to:Int64})
  AND (clicked_at, kafka_partition, kafka_offset) > (fromUnixTimestamp64Milli({afterTime:Int64}), {afterPartition:Int64}, {afterOffset:UInt64})
ORDER BY short_code, clicked_at, kafka_partition, kafka_offset
LIMIT {limit:UInt32}`

/** @param after the last page's `next`; undefined: from the beginning */
export async function readClicks(
  reader: TableReader,
  { code, from, to }: ClickRange,
  after: ClickCursor | undefined,
  limit: number = PAGE_ROWS,
): Promise<ClickPage> {
  const { clickedAt, partition, offset } = after ?? { clickedAt: from, partition: -1, offset: '0' }
  const result = await reader.query({
    query: PAGE_QUERY,
    query_params: { code, from, to, afterTime: clickedAt, afterPartition: partition, afterOffset: offset, limit },
    format: 'JSONCompactEachRow',
    clickhouse_settings: { output_format_json_quote_64bit_integers: 0, max_execution_time: MAX_EXECUTION_SECONDS },
  })
  const rows = await result.json<ClickRow>()
  const last = rows.at(-1)
  return {
    clicks: rows.map(([at, , , referrer, country, browser, device, bot]) => ({ clickedAt: at, referrer, country, browser, device, bot })),
    next: last === undefined || rows.length < limit ? undefined : { clickedAt: last[0], partition: last[1], offset: last[2] },
  }
}
