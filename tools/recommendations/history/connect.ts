import type { ClickHouseClient } from '@clickhouse/client'
import { connectSinkClickhouse, type SinkClickhouseOptions } from '../../../state/tables/connect.ts'

/** ClickHouse aborts a query for training data after this many seconds. */
export const QUERY_SECONDS = 600
/** How much longer the client waits, so that ClickHouse itself can report that a query took too long. */
const GRACE_MS = 10_000
const MS_PER_SECOND = 1_000

/**
 * Connects to ClickHouse for queries for training data. ClickHouse sends nothing until it has sorted all rows, so the
 * client must wait as long as a query may take.
 */
export function connectHistory(options: SinkClickhouseOptions): ClickHouseClient {
  return connectSinkClickhouse(options, QUERY_SECONDS * MS_PER_SECOND + GRACE_MS)
}
