import { WORKER_NICE } from '../../deploy/local/worker-nice.ts'
import { brokerProxy } from '../../tests/kafka/client/broker-proxy.ts'
import { liftSeededLimits } from '../harness/lift-limits.ts'
import { startApiProcess, startWorkerProcess, untilReady } from '../harness/node-process.ts'
import { startServers, WITHOUT_CLICKHOUSE } from '../harness/servers.ts'

/** A running API process. */
export interface LinksApi {
  readonly url: string
  /** Base URL of the process's metrics. */
  readonly operationsUrl: string
  readonly shortUrl: string
  readonly pid: number
}

/** Separate servers, one worker that decides commands, one API, and a second API with an adjustable delay to Kafka. */
export interface LinksServers {
  readonly api: LinksApi
  /**
   * An API that reaches Kafka through a proxy. The proxy delays messages in each direction by the time in ms that was
   * last passed to `slowDown`.
   */
  readonly slowApi: LinksApi
  slowDown(ms: number): void
  readonly workerUrl: string
  readonly redisUrl: string
  readonly brokerPid: number
  readonly pids: Readonly<Record<'api' | 'worker' | 'broker' | 'redis', number>>
  stop(): Promise<void>
}

/** @param host the host name in requests for short links */
export async function startLinksServers(folder: string, host: string): Promise<LinksServers> {
  const servers = await startServers(folder, WITHOUT_CLICKHOUSE)
  const { addresses, pids, env, stop } = servers
  await liftSeededLimits(servers)
  const worker = await startWorkerProcess([], {
    ...env,
    PIPELINES: 'links',
    WORKER_ROLE: 'deciding',
    WORKER_NICE: String(WORKER_NICE.deciding),
    LOG_LEVEL: 'info',
  })
  const proxy = await brokerProxy(addresses.kafka, { remember: false })

  // Starts an API that logs one line per request, as in production. This process reads the log from a pipe.
  async function startApi(brokers: string) {
    const settings = { API_SERVICES: 'links', API_PORT: '0', SHORT_PORT: '0', SHORT_DOMAINS: host, LOG_LEVEL: 'info' }
    const started = await startApiProcess([], { ...env, ...settings, KAFKA_BROKERS: brokers })
    return {
      ...started,
      url: started.line.url as string,
      shortUrl: started.line.short_url as string,
      operationsUrl: started.line.operations_url as string,
    }
  }

  const [api, slowApi] = [await startApi(addresses.kafka), await startApi(proxy.address)]
  const workerUrl = `http://127.0.0.1:${worker.line.health_port}`
  await untilReady(workerUrl, api.url, slowApi.url)
  return {
    api,
    slowApi,
    slowDown: proxy.delay,
    workerUrl,
    redisUrl: addresses.redis,
    brokerPid: pids.kafka,
    pids: { api: api.pid, worker: worker.pid, broker: pids.kafka, redis: pids.redis },
    async stop() {
      await Promise.all([api.stop(), slowApi.stop()])
      await proxy.close()
      await worker.stop()
      await stop()
    },
  }
}
