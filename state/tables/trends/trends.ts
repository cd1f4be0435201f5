/**
 * How often each term was counted: read by the API. The table `trend_volumes` holds one or more rows per region, term and minute, each with
 * the count so far; the greatest is the count.
 */

const MS_PER_SECOND = 1_000
/** ClickHouse stops a query that takes longer: its caller has been told 503 by then. */
const MAX_EXECUTION_SECONDS = 5

export interface VolumeRange {
  readonly woeid: number
  /** Folded form. */
  readonly term: string
  /** Epoch ms, multiple of stepMs: the first step's start. */
  readonly from: number
  /** Epoch ms, exclusive. */
  readonly to: number
  /** A multiple of a minute. */
  readonly stepMs: number
}

/** What readers use of a ClickHouse client. */
export interface TableReader {
  query(request: {
    query: string
    query_params: Record<string, unknown>
    format: 'JSONCompactEachRow'
    clickhouse_settings: Record<string, string | number>
  }): Promise<{ json<Row>(): Promise<Row[]> }>
}

const VOLUMES_QUERY = `
SELECT intDiv(toUnixTimestamp(minute), {step:UInt32}) * {step:UInt32} AS step_start, sum(most)
FROM (
  SELECT minute, max(volume) AS most
  FROM trend_volumes
  WHERE woeid = {woeid:Int32} AND term = {term:String} AND minute >= toDateTime({from:UInt32}) AND minute < toDateTime({to:UInt32})
  GROUP BY minute
)
GROUP BY step_start`

/** @returns volumes by the start of their step (epoch ms); steps without events are absent */
export async function readVolumes(reader: TableReader, range: VolumeRange): Promise<Map<number, number>> {
  const result = await reader.query({
    query: VOLUMES_QUERY,
    query_params: {
      woeid: range.woeid,
      term: range.term,
      from: range.from / MS_PER_SECOND,
      to: range.to / MS_PER_SECOND,
      step: range.stepMs / MS_PER_SECOND,
    },
    format: 'JSONCompactEachRow',
    clickhouse_settings: { output_format_json_quote_64bit_integers: 0, max_execution_time: MAX_EXECUTION_SECONDS },
  })
  const rows = await result.json<[step: number, volume: number]>()
  return new Map(rows.map(([step, volume]) => [step * MS_PER_SECOND, volume]))
}
