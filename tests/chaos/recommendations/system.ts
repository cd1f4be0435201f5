import { pino } from 'pino'
import { ensureDevelopmentKey, mintToken } from '../../../api/kit/auth/development-key.ts'
import { waitUntil } from '../../../deploy/local/wait.ts'
import { kafkaTransport } from '../../../kafka/client/index.ts'
import { registryClient } from '../../../kafka/registry.ts'
import { recommendationsServices } from '../../../pipelines/recommendations/service.ts'
import { systemRuntime } from '../../../runtime/system.ts'
import { catalogSchemas } from '../../../schemas/catalog/topics.ts'
import { recommendationsSchemas } from '../../../schemas/recommendations/topics.ts'
import { startApiProcess } from '../../api/api-process.ts'
import { supervisedWorker } from '../../api/supervised-worker.ts'
import { startWorkerProcess } from '../../api/worker-process.ts'
import { guardedFolder } from '../../stack/folder.ts'
import { testStack, uniqueName } from '../../stack/index.ts'
import { provisionService } from '../../stack/provision.ts'
import { newClickhouse, newKafka, newRedis, newRegistry } from '../../stack/servers.ts'
import { APIS } from './plan.ts'

const READY = { timeoutMs: 120_000, intervalMs: 50 }
/** Time limit of reads. It is longer than the default, so that most responses are complete on a busy machine. */
const READ_MS = '1000'

export type RecommendationsSystem = Awaited<ReturnType<typeof recommendationsSystem>>

export interface SystemOptions {
  readonly workerCount: number
  /** Whether to start a ClickHouse that no other test uses, so that it can be killed. */
  readonly hasOwnClickhouse: boolean
}

/** Starts real servers, workers with the topologies and sinks of recommendations, and API processes. */
export async function recommendationsSystem({ workerCount, hasOwnClickhouse }: SystemOptions) {
  const folder = guardedFolder()
  const kafka = await newKafka(folder.path)
  const redis = await newRedis(folder.path)
  const registry = await newRegistry(folder.path, kafka.address)
  const clickhouse = hasOwnClickhouse ? await newClickhouse(folder.path) : undefined
  await Promise.all([kafka.start(), redis.start(), clickhouse?.start()])
  await registry.start()
  await provisionService(kafka.address, registry.address, [recommendationsSchemas, catalogSchemas], recommendationsServices)
  const clickhouseUrl = clickhouse?.address ?? (await testStack().clickhouse())
  const database = uniqueName('recommendations').replaceAll('-', '_')
  await fetch(`${clickhouseUrl}/`, { method: 'POST', body: `CREATE DATABASE ${database}` })
  const env: Record<string, string> = {
    KAFKA_BROKERS: kafka.address,
    REDIS_URL: redis.address,
    SCHEMA_REGISTRY_URL: registry.address,
    CLICKHOUSE_URL: clickhouseUrl,
    CLICKHOUSE_DATABASE: database,
    API_SERVICES: 'recommendations',
    PIPELINES: 'recommendations',
    RECOMMENDATIONS_READ_MS: READ_MS,
  }
  const startWorker = (slot: number) => startWorkerProcess(folder.path, { ...env, WORKER_SLOT: String(slot) })
  const workers = await Promise.all(Array.from({ length: workerCount }, (_, slot) => supervisedWorker(folder, () => startWorker(slot))))
  const apis = await Promise.all(Array.from({ length: APIS }, () => startApiProcess(folder.path, env)))
  for (const worker of workers) await waitUntil(() => worker.isReady(), { what: 'the worker', ...READY })
  for (const api of apis) await waitUntil(async () => (await fetch(`${api.url}/readyz`)).ok, { what: 'the API', ...READY })
  const key = await ensureDevelopmentKey(folder.path)
  const runtime = systemRuntime(pino({ level: 'silent' }))
  const transport = kafkaTransport({ brokers: [kafka.address], clientId: 'chaos' }, { runtime })
  await transport.connect()

  /** Returns a token for the subject, with the scope `internal`. */
  function tokenOf(subject: string): Promise<string> {
    const common = { username: undefined, issuer: 'millrace', audience: 'millrace', lifetimeSeconds: 3 * 3_600 }
    return mintToken(key, { ...common, subject, scope: 'internal', now: Date.now() })
  }

  async function rowsOf(query: string): Promise<Record<string, unknown>[]> {
    const answer = await fetch(`${clickhouseUrl}/?database=${database}`, { method: 'POST', body: `${query} FORMAT JSON` })
    if (!answer.ok) throw new Error(await answer.text())
    return ((await answer.json()) as { data: Record<string, unknown>[] }).data
  }

  return {
    folder,
    kafka,
    redis,
    clickhouse,
    env,
    workers,
    apis,
    transport,
    registry: registryClient({ url: registry.address }),
    tokenOf,
    rowsOf,
    async finish() {
      await transport.close()
      await folder.finish()
    },
  }
}
