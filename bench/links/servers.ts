import { waitUntil } from '../../deploy/local/wait.ts'
import { BUFFER_HEAP_FLAGS } from '../../kafka/client/heap-flags.ts'
import { startBaseServers } from '../base-servers.ts'
import { startNode } from '../node-process.ts'

const READY_TIMEOUT_MS = 60_000

/** Servers of the benchmark's own, one worker that decides, one API. */
export interface LinksServers {
  readonly apiUrl: string
  readonly shortUrl: string
  readonly workerUrl: string
  readonly redisUrl: string
  readonly brokerPid: () => number
  readonly pids: () => Readonly<Record<'api' | 'worker' | 'broker' | 'redis', number>>
  stop(): Promise<void>
}

/** @param host that short links are asked for at */
export async function startLinksServers(folder: string, host: string): Promise<LinksServers> {
  const { kafka, redis, env, stop } = await startBaseServers(folder)
  const worker = await startNode(
    'pipelines/main.ts',
    BUFFER_HEAP_FLAGS,
    { ...env, PIPELINES: 'links', WORKER_ROLE: 'deciding', LOG_LEVEL: 'info' },
    'host_started',
  )
  // A line per request, as in production, to a pipe that is read.
  const api = await startNode(
    'api/main.ts',
    [],
    { ...env, API_SERVICES: 'links', API_PORT: '0', SHORT_PORT: '0', SHORT_DOMAINS: host, LOG_LEVEL: 'info' },
    'api_started',
  )
  const apiUrl = api.line.url as string
  const workerUrl = `http://127.0.0.1:${worker.line.health_port}`
  for (const url of [workerUrl, apiUrl])
    await waitUntil(async () => (await fetch(`${url}/readyz`)).ok, { what: url, timeoutMs: READY_TIMEOUT_MS })
  return {
    apiUrl,
    shortUrl: api.line.short_url as string,
    workerUrl,
    redisUrl: redis.address,
    brokerPid: () => kafka.pid as number,
    pids: () => ({ api: api.pid, worker: worker.pid, broker: kafka.pid as number, redis: redis.pid as number }),
    async stop() {
      await api.stop()
      await worker.stop()
      await stop()
    },
  }
}
