/** ClickHouse aborts queries that take longer than this, so that it does no work for callers that no longer wait. */
const MAX_EXECUTION_SECONDS = 5
/**
 * ClickHouse aborts queries that need more memory than this. The replay of an hour of traffic, which needs much memory,
 * takes less than 200 MB (bench/results.md). The queries on the 20 connections of an API process together get at most
 * 11 GB, a third of a node in the capacity plan (docs/operations.md).
 */
const MAX_MEMORY_BYTES = 512 * 1024 * 1024
/** Number of threads per query. It is small, so that a few slow queries do not take all cores of a node. */
const MAX_THREADS = 2

/** The method of a ClickHouse client that readers use. */
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
    clickhouse_settings: {
      output_format_json_quote_64bit_integers: 0,
      max_execution_time: MAX_EXECUTION_SECONDS,
      max_memory_usage: String(MAX_MEMORY_BYTES),
      max_threads: MAX_THREADS,
      ...settings,
    },
  })
  return await result.json<Row>()
}
