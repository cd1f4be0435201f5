import { type ClickHouseClient, ClickHouseLogLevel, createClient } from '@clickhouse/client'

export interface SinkClickhouseOptions {
  readonly url: string
  readonly database?: string
  readonly username?: string
  readonly password?: string
}

/**
 * How long ClickHouse may send nothing before a request fails, by default. The limit is long enough for a large insert
 * into a busy server. After a timeout, the sink reads its position to find out whether the insert was applied.
 */
const REQUEST_TIMEOUT_MS = 60_000
/** Maximum number of connections. Further requests wait in this process. */
const MAX_CONNECTIONS = 16

/**
 * Connects to the ClickHouse that a sink writes to. The sink handles failed requests, so the client neither retries nor
 * logs them.
 * @param timeoutMs see `REQUEST_TIMEOUT_MS`
 */
export function connectSinkClickhouse(options: SinkClickhouseOptions, timeoutMs = REQUEST_TIMEOUT_MS): ClickHouseClient {
  return createClient({
    ...options,
    application: 'millrace-sink',
    request_timeout: timeoutMs,
    max_open_connections: MAX_CONNECTIONS,
    log: { level: ClickHouseLogLevel.OFF },
  })
}
