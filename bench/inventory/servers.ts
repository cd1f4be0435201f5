import { ensureDevelopmentKey, mintToken } from '../../api/kit/auth/development-key.ts'
import { WORKER_NICE } from '../../deploy/local/worker-nice.ts'
import { seedProducts } from '../../tests/api/catalog/seed-products.ts'
import { liftSeededLimits } from '../harness/lift-limits.ts'
import { startApiProcess, startWorkerProcess, untilReady } from '../harness/node-process.ts'
import { startServers, WITHOUT_CLICKHOUSE } from '../harness/servers.ts'

/** One API, one worker that decides commands, and the servers that they need. */
export interface InventoryServers {
  readonly apiUrl: string
  /** Base URL of the API's metrics. */
  readonly operationsUrl: string
  readonly workerUrl: string
  readonly redisUrl: string
  readonly token: string
  readonly pids: Readonly<Record<'api' | 'worker' | 'broker' | 'redis', number>>
  stop(): Promise<void>
}

const TOKEN_SECONDS = 3_600

/** @param products the products to create; their variants have no stock yet */
export async function startInventoryServers(folder: string, products: Parameters<typeof seedProducts>[1]): Promise<InventoryServers> {
  const servers = await startServers(folder, WITHOUT_CLICKHOUSE)
  const { addresses, pids, env } = servers
  await liftSeededLimits(servers)
  await seedProducts({ kafka: addresses.kafka, registry: addresses.registry }, products)
  const started: { stop(): Promise<void> }[] = []

  async function start(program: typeof startApiProcess, settings: Record<string, string>) {
    const process = await program([], { ...env, LOG_LEVEL: 'info', ...settings })
    started.unshift(process)
    return process
  }

  async function stop(): Promise<void> {
    for (const process of started) await process.stop()
    await servers.stop()
  }

  try {
    const settings = { PIPELINES: 'catalog-products,catalog-inventory', WORKER_ROLE: 'deciding', WORKER_NICE: String(WORKER_NICE.deciding) }
    const worker = await start(startWorkerProcess, settings)
    const api = await start(startApiProcess, { API_SERVICES: 'catalog', API_PORT: '0' })
    const [apiUrl, workerUrl] = [api.line.url as string, `http://127.0.0.1:${worker.line.health_port}`]
    await untilReady(workerUrl)
    const identity = { subject: 'bench', scope: 'internal', issuer: 'millrace', audience: 'millrace' }
    const token = await mintToken(await ensureDevelopmentKey(folder), { ...identity, lifetimeSeconds: TOKEN_SECONDS, now: Date.now() })
    return {
      apiUrl,
      operationsUrl: api.line.operations_url as string,
      workerUrl,
      redisUrl: addresses.redis,
      token,
      pids: { api: api.pid, worker: worker.pid, broker: pids.kafka, redis: pids.redis },
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}
