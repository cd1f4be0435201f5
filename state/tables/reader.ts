/** ClickHouse aborts queries that take longer than this. By then, the API has already responded with 503. */
const MAX_EXECUTION_SECONDS = 5

/** The part of a ClickHouse client that readers use. */
export interface TableReader {
  query(request: {
    query: string
    query_params: Record<string, unknown>
    format: 'JSONCompactEachRow'
    clickhouse_settings: Record<string, string | number>
  }): Promise<{ json<Row>(): Promise<Row[]> }>
}

/**
 * Runs one query and returns its rows as arrays, in the order of the selected columns. 64-bit integers are returned as
 * numbers, so convert those that may exceed 2^53 to text in the query.
 * @param settings additional ClickHouse settings for this query
 */
export async function readRows<Row>(
  reader: TableReader,
  query: string,
  params: Readonly<Record<string, unknown>>,
  settings: Readonly<Record<string, string | number>> = {},
): Promise<Row[]> {
  const result = await reader.query({
    query,
    query_params: { ...params },
    format: 'JSONCompactEachRow',
    clickhouse_settings: { output_format_json_quote_64bit_integers: 0, max_execution_time: MAX_EXECUTION_SECONDS, ...settings },
  })
  return await result.json<Row>()
}
