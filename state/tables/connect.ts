import { type ClickHouseClient, ClickHouseLogLevel, createClient } from '@clickhouse/client'

export interface SinkClickhouseOptions {
  readonly url: string
  readonly database?: string
  readonly username?: string
  readonly password?: string
}

/** A large insert into a busy server; after it, the sink asks what has become of it. */
const REQUEST_TIMEOUT_MS = 60_000
/** One write at a time for each Kafka partition of a sink; more only wait here instead of there. */
const MAX_CONNECTIONS = 16

/** The ClickHouse that a sink writes to. Failed requests are the sink's business: the client neither repeats nor prints them. */
export function connectSinkClickhouse(options: SinkClickhouseOptions): ClickHouseClient {
  return createClient({
    ...options,
    application: 'millrace-sink',
    request_timeout: REQUEST_TIMEOUT_MS,
    max_open_connections: MAX_CONNECTIONS,
    log: { level: ClickHouseLogLevel.OFF },
  })
}
