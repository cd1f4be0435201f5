import { ensureDevelopmentKey, mintToken } from '../../../api/kit/auth/development-key.ts'
import type { Component } from '../../../deploy/local/component.ts'
import { waitUntil } from '../../../deploy/local/wait.ts'
import { WORKER_NICE } from '../../../deploy/local/worker-nice.ts'
import { fraudServices } from '../../../pipelines/fraud/service.ts'
import { fraudSchemas } from '../../../schemas/fraud/topics.ts'
import { guardedFolder } from '../../stack/folder.ts'
import { testStack, uniqueName } from '../../stack/index.ts'
import { provisionService } from '../../stack/provision.ts'
import { newClickhouse, newKafka, newRedis, startedRegistry } from '../../stack/servers.ts'
import { startApiProcess } from '../api-process.ts'
import { supervisedWorker } from '../supervised-worker.ts'
import { startWorkerProcess } from '../worker-process.ts'

/** How long the processes may take to start on a busy machine. */
const READY = { timeoutMs: 90_000, intervalMs: 50 }

const SCOPE = 'fraud:ops fraud:analyst internal'

export interface Asked {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary fields of bodies
  readonly body: any
}

export interface AskOptions {
  readonly body?: unknown
  /** Index of the API process. Default: the first. */
  readonly api?: number
  /**
   * Token of the caller; undefined for none. Default: a token with the scopes of operators, analysts and internal
   * callers.
   */
  readonly token?: string
}

export type FraudSystem = Awaited<ReturnType<typeof fraudSystem>>

export interface FraudSystemOptions {
  /** Number of API processes. Default 1. */
  readonly apiCount?: number
  /**
   * URL of a registry to use, such as the shared one. By default, a separate registry is started. It keeps its schemas
   * on the broker, so that a test that stops the broker also affects the registry.
   */
  readonly registry?: string
  /** Additional settings of the workers and the APIs. */
  readonly env?: Readonly<Record<string, string>>
  /** If true, starts a separate worker for each role, and a ClickHouse that no other test uses. */
  readonly isSplit?: boolean
}

/** Starts real servers, workers with all pipelines of fraud scoring, and API processes. */
export async function fraudSystem({ apiCount = 1, env: more = {}, isSplit = false, registry: given }: FraudSystemOptions = {}) {
  const folder = guardedFolder()
  const kafka: Component = await newKafka(folder.path)
  const redis: Component = await newRedis(folder.path)
  await Promise.all([kafka.start(), redis.start()])
  const registry = given ?? (await startedRegistry(folder.path, kafka.address))
  await provisionService(kafka.address, registry, [fraudSchemas], fraudServices)
  const clickhouseServer = isSplit ? await newClickhouse(folder.path) : undefined
  await clickhouseServer?.start()
  const clickhouse = clickhouseServer?.address ?? (await testStack().clickhouse())
  const database = uniqueName('fraud').replaceAll('-', '_')
  await fetch(`${clickhouse}/`, { method: 'POST', body: `CREATE DATABASE ${database}` })
  const env = {
    KAFKA_BROKERS: kafka.address,
    REDIS_URL: redis.address,
    SCHEMA_REGISTRY_URL: registry,
    CLICKHOUSE_URL: clickhouse,
    CLICKHOUSE_DATABASE: database,
    API_SERVICES: 'fraud',
    ...more,
  }
  const roles = isSplit ? (['bulk', 'deciding'] as const) : [undefined]
  const workers = await Promise.all(
    roles.map((role, slot) => supervisedWorker(folder, () => startWorkerProcess(folder.path, workerEnv(role, slot)))),
  )
  const apis = await Promise.all(Array.from({ length: apiCount }, () => startApiProcess(folder.path, env)))
  for (const worker of workers) await waitUntil(() => worker.isReady(), { what: 'the worker', ...READY })
  for (const api of apis) await waitUntil(async () => (await fetch(`${api.url}/readyz`)).ok, { what: 'the API', ...READY })
  const key = await ensureDevelopmentKey(folder.path)
  const token = await mintToken(key, {
    subject: 'analyst-1',
    scope: SCOPE,
    username: undefined,
    issuer: 'millrace',
    audience: 'millrace',
    lifetimeSeconds: 3_600,
    now: Date.now(),
  })

  function workerEnv(role: 'bulk' | 'deciding' | undefined, slot: number): Record<string, string> {
    const services = fraudServices.filter((service) => role === undefined || service.role === role)
    // As in `npm start`, requests have priority over bulk workers.
    const nice: Record<string, string> = role === undefined ? {} : { WORKER_NICE: String(WORKER_NICE[role]) }
    return { ...env, ...nice, WORKER_SLOT: String(slot), PIPELINES: services.map(({ name }) => name).join(',') }
  }

  async function rowsOf(query: string): Promise<Record<string, unknown>[]> {
    const answer = await fetch(`${clickhouse}/?database=${database}`, { method: 'POST', body: `${query} FORMAT JSON` })
    if (!answer.ok) throw new Error(await answer.text())
    return ((await answer.json()) as { data: Record<string, unknown>[] }).data
  }

  async function ask(method: string, path: string, options: AskOptions = {}): Promise<Asked> {
    const { body, api = 0 } = options
    const bearer = 'token' in options ? options.token : token
    const response = await fetch(`${apis[api].url}/api/v1/${path}`, {
      method,
      headers: {
        ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    })
    const text = await response.text()
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
  }

  return { folder, kafka, redis, clickhouse: clickhouseServer, env, token, workers, apis, ask, rowsOf }
}

/** Returns the request body for a payment. */
export function payment(id: string, more: object = {}) {
  return {
    transaction_id: id,
    timestamp: new Date().toISOString(),
    amount: 20,
    currency: 'USD',
    transaction_type: 'PURCHASE',
    payer: { user_id: 'u1' },
    device: { fingerprint_id: 'd1' },
    ...more,
  }
}
