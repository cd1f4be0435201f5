import { createHash } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { Component } from '../component.ts'
import { LOOPBACK } from '../ports.ts'
import { type ServerPlace, serverComponent } from '../server.ts'
import { CLICKHOUSE_USER } from './password.ts'

const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url))
/** Time limit for starting. Starting usually takes 0.4 s, but opening many data parts after a crash takes longer. */
const START_TIMEOUT_MS = 60_000
const STOP_GRACE_MS = 15_000
const HEALTH_TIMEOUT_MS = 2_000
/**
 * Number of libuv threads. Each query occupies one thread, so Node's default of four would allow only four concurrent
 * queries.
 */
const THREADS = 16

export interface ClickhouseOptions extends ServerPlace {
  readonly port: number
  /** Password of the user `default`. By default the password is empty, as in a new ClickHouse. */
  readonly password?: string
}

/** Describes a separate process that serves the embedded ClickHouse engine over ClickHouse's HTTP interface. */
export function clickhouseServerProcess(options: ClickhouseOptions): Component {
  const { password = '' } = options
  const address = `http://${LOOPBACK}:${options.port}`
  return serverComponent({
    name: 'clickhouse',
    ...options,
    address,
    // The fingerprint includes the password, so that a process that an earlier version left running without a password
    // is not reused.
    fingerprint: `${address} ${createHash('sha256').update(password).digest('hex')}`,
    ports: { CLICKHOUSE_PORT: options.port },
    startTimeoutMs: START_TIMEOUT_MS,
    stopGraceMs: STOP_GRACE_MS,
    prepare: async () => ({
      command: process.execPath,
      args: [MAIN],
      env: {
        CLICKHOUSE_PORT: String(options.port),
        CLICKHOUSE_DATA: options.dataDir,
        CLICKHOUSE_PASSWORD: password,
        UV_THREADPOOL_SIZE: String(THREADS),
      },
    }),
    async isHealthy() {
      const response = await fetch(`${address}/?query=SELECT%201`, {
        headers: { 'x-clickhouse-user': CLICKHOUSE_USER, 'x-clickhouse-key': password },
        signal: AbortSignal.timeout(HEALTH_TIMEOUT_MS),
      })
      return (await response.text()) === '1\n'
    },
  })
}
