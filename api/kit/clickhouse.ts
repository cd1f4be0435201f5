import { ClickHouseError, ClickHouseLogLevel, createClient } from '@clickhouse/client'
import type { ClickhouseSettings } from '../../state/settings.ts'
import type { TableReader } from '../../state/tables/reader.ts'
import { ApiError, errors } from './errors.ts'
import type { ReadinessProbe } from './readiness.ts'

export interface Tables {
  readonly reader: TableReader
  readonly probe: ReadinessProbe
  close(): Promise<void>
}

/**
 * Time limit of a query. It includes the time for which the query waits for a connection. Otherwise, while ClickHouse
 * is slow, queries whose callers have long received an error would pile up and keep ClickHouse busy.
 */
const QUERY_TIMEOUT_MS = 6_000
const MAX_CONNECTIONS = 20
const UNKNOWN_TABLE = '60'
const MEMORY_LIMIT_EXCEEDED = '241'
/**
 * The message of a MEMORY_LIMIT_EXCEEDED error contains this text if the memory limit of the whole server was exceeded.
 * Without this text, the query has exceeded its own limit.
 */
const OF_SERVER = '(total)'

/**
 * Creates the client that reads the tables in ClickHouse. Turns each failure of a query into an ApiError.
 * @param timeoutMs time limit of a query
 */
export function connectTables(config: ClickhouseSettings, timeoutMs = QUERY_TIMEOUT_MS): Tables {
  // The client logs nothing, because the API itself logs each failure once.
  const client = createClient({
    log: { level: ClickHouseLogLevel.OFF },
    ...config,
    application: 'millrace-api',
    request_timeout: timeoutMs,
    max_open_connections: MAX_CONNECTIONS,
  })

  async function ask<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (cause) {
      if (cause instanceof ClickHouseError && cause.code === UNKNOWN_TABLE) throw new ApiError(errors.not_ready, { cause })
      if (cause instanceof ClickHouseError && cause.code === MEMORY_LIMIT_EXCEEDED && !cause.message.includes(OF_SERVER))
        throw new ApiError(errors.query_too_large, { cause })
      throw new ApiError(errors.unavailable, { message: 'The history store does not respond. Try again shortly.', cause })
    }
  }

  return {
    reader: {
      query: (request) =>
        ask(async () => {
          const result = await client.query({ ...request, abort_signal: AbortSignal.timeout(timeoutMs) })
          return { json: <Row>() => ask(() => result.json<Row>()) as Promise<Row[]> }
        }),
    },
    probe: {
      name: 'clickhouse',
      optional: true,
      async check() {
        const answer = await client.ping({ select: true })
        return answer.success ? undefined : answer.error.message
      },
    },
    close: () => client.close(),
  }
}
