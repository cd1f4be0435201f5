import { ensureDevelopmentKey, mintToken } from '../../../api/kit/auth/development-key.ts'
import { waitUntil } from '../../../deploy/local/wait.ts'
import { catalogServices } from '../../../pipelines/catalog/service.ts'
import { catalogSchemas } from '../../../schemas/catalog/topics.ts'
import { recommendationsSchemas } from '../../../schemas/recommendations/topics.ts'
import { guardedFolder } from '../../stack/folder.ts'
import { testStack, uniqueName } from '../../stack/index.ts'
import { provisionService } from '../../stack/provision.ts'
import { newKafka, newRedis } from '../../stack/servers.ts'
import { startApiProcess } from '../api-process.ts'
import { supervisedWorker } from '../supervised-worker.ts'
import { startWorkerProcess } from '../worker-process.ts'

/** Time limit for processes to become ready and to catch up. */
export const SOON = { timeoutMs: 60_000, intervalMs: 50 }
const TOKEN_SECONDS = 3_600

export interface Asked {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary fields of bodies
  readonly body: any
}

export interface CatalogStackOptions {
  readonly pipelines?: string
  /** Number of API processes. Default 1. */
  readonly apiCount?: number
  /** Additional settings of the worker and the APIs. */
  readonly env?: Readonly<Record<string, string>>
}

/** Starts real servers, a worker and API processes for the catalogue. */
export async function catalogStack({
  pipelines = 'catalog-products,catalog-inventory,catalog',
  apiCount = 1,
  env: more = {},
}: CatalogStackOptions = {}) {
  const folder = guardedFolder()
  const kafka = await newKafka(folder.path, 'kafka')
  const redis = await newRedis(folder.path)
  const [registry] = await Promise.all([testStack().registry(), kafka.start(), redis.start()])
  await provisionService(kafka.address, registry, [catalogSchemas, recommendationsSchemas], catalogServices)
  const clickhouse = await testStack().clickhouse()
  const database = uniqueName('catalog').replaceAll('-', '_')
  const env: Record<string, string> = {
    KAFKA_BROKERS: kafka.address,
    REDIS_URL: redis.address,
    SCHEMA_REGISTRY_URL: registry,
    CLICKHOUSE_URL: clickhouse,
    CLICKHOUSE_DATABASE: database,
    API_SERVICES: 'catalog',
    PIPELINES: pipelines,
    ...more,
  }

  async function query(sql: string, inDatabase = database): Promise<unknown[][]> {
    const response = await fetch(`${clickhouse}/?database=${inDatabase}&default_format=JSONCompact`, { method: 'POST', body: sql })
    if (!response.ok) throw new Error(await response.text())
    const text = await response.text()
    return text === '' ? [] : (JSON.parse(text) as { data: unknown[][] }).data
  }

  await query(`CREATE DATABASE ${database}`, 'default')
  const worker = await supervisedWorker(folder, () => startWorkerProcess(folder.path, env))
  const apis = await Promise.all(Array.from({ length: apiCount }, () => startApiProcess(folder.path, env)))
  await waitUntil(() => worker.isReady(), { what: 'the worker', ...SOON })
  for (const { url } of apis) await waitUntil(async () => (await fetch(`${url}/readyz`)).ok, { what: 'the API', ...SOON })
  const key = await ensureDevelopmentKey(folder.path)

  async function bearer(subject: string, scope: string): Promise<Record<string, string>> {
    const common = { username: undefined, issuer: 'millrace', audience: 'millrace', lifetimeSeconds: TOKEN_SECONDS }
    return { authorization: `Bearer ${await mintToken(key, { ...common, subject, scope, now: Date.now() })}` }
  }

  async function send(
    method: string,
    path: string,
    {
      body,
      headers,
      api = 0,
    }: { readonly body?: unknown; readonly headers?: Readonly<Record<string, string>>; readonly api?: number } = {},
  ): Promise<Asked> {
    const response = await fetch(`${apis[api].url}/api/v1/${path}`, {
      method,
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) }
  }

  return { folder, kafka, redis, env, apis, worker, bearer, send, query, finish: () => folder.finish() }
}

export type CatalogStack = Awaited<ReturnType<typeof catalogStack>>
