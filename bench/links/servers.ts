import { waitUntil } from '../../deploy/local/wait.ts'
import { BUFFER_HEAP_FLAGS } from '../../kafka/client/heap-flags.ts'
import { brokerProxy } from '../../tests/kafka/client/broker-proxy.ts'
import { startBaseServers } from '../base-servers.ts'
import { startNode } from '../node-process.ts'

const READY_TIMEOUT_MS = 60_000

/** An instance of the API. */
export interface LinksApi {
  readonly url: string
  readonly shortUrl: string
  readonly pid: number
}

/** Servers of the benchmark's own, one worker that decides, one API and another one whose way to Kafka is long. */
export interface LinksServers {
  readonly api: LinksApi
  /** Every message from or to Kafka arrives so many ms later, from `slowDown` on. */
  readonly slowApi: LinksApi
  slowDown(ms: number): void
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
  const proxy = await brokerProxy(kafka.address, { remember: false })

  // A line per request, as in production, to a pipe that is read.
  async function startApi(brokers: string) {
    const settings = { API_SERVICES: 'links', API_PORT: '0', SHORT_PORT: '0', SHORT_DOMAINS: host, LOG_LEVEL: 'info' }
    const started = await startNode('api/main.ts', [], { ...env, ...settings, KAFKA_BROKERS: brokers }, 'api_started')
    return { ...started, url: started.line.url as string, shortUrl: started.line.short_url as string }
  }

  const [api, slowApi] = [await startApi(kafka.address), await startApi(proxy.address)]
  const workerUrl = `http://127.0.0.1:${worker.line.health_port}`
  for (const url of [workerUrl, api.url, slowApi.url])
    await waitUntil(async () => (await fetch(`${url}/readyz`)).ok, { what: url, timeoutMs: READY_TIMEOUT_MS })
  return {
    api,
    slowApi,
    slowDown: proxy.delay,
    workerUrl,
    redisUrl: redis.address,
    brokerPid: () => kafka.pid as number,
    pids: () => ({ api: api.pid, worker: worker.pid, broker: kafka.pid as number, redis: redis.pid as number }),
    async stop() {
      await Promise.all([api.stop(), slowApi.stop()])
      await proxy.close()
      await worker.stop()
      await stop()
    },
  }
}
