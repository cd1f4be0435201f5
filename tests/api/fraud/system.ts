import { ensureDevelopmentKey, mintToken } from '../../../api/kit/auth/development-key.ts'
import type { Component } from '../../../deploy/local/component.ts'
import { provisionTopics } from '../../../deploy/local/provision.ts'
import { waitUntil } from '../../../deploy/local/wait.ts'
import { guardedFolder } from '../../stack/folder.ts'
import { testStack, uniqueName } from '../../stack/index.ts'
import { newKafka, newRedis, newRegistry } from '../../stack/servers.ts'
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
  /** The API process; default the first. */
  readonly api?: number
  /** Undefined: no token. */
  readonly token?: string
}

export type FraudSystem = Awaited<ReturnType<typeof fraudSystem>>

/** Starts real servers, a worker that runs all of fraud scoring, and API processes. */
export async function fraudSystem({ apiCount = 1, env: more = {} as Readonly<Record<string, string>> } = {}) {
  const folder = guardedFolder()
  const kafka: Component = await newKafka(folder.path)
  const redis: Component = await newRedis(folder.path)
  const registry: Component = await newRegistry(folder.path, kafka.address)
  await Promise.all([kafka.start(), redis.start()])
  await registry.start()
  await provisionTopics(kafka.address, registry.address)
  const clickhouse = await testStack().clickhouse()
  const database = uniqueName('fraud').replaceAll('-', '_')
  await fetch(`${clickhouse}/`, { method: 'POST', body: `CREATE DATABASE ${database}` })
  const env = {
    KAFKA_BROKERS: kafka.address,
    REDIS_URL: redis.address,
    SCHEMA_REGISTRY_URL: registry.address,
    CLICKHOUSE_URL: clickhouse,
    CLICKHOUSE_DATABASE: database,
    API_SERVICES: 'fraud',
    PIPELINES: (await import('../../../pipelines/fraud/service.ts')).fraudServices.map(({ name }) => name).join(','),
    ...more,
  }
  const worker = await supervisedWorker(folder, () => startWorkerProcess(folder.path, env))
  const apis = await Promise.all(Array.from({ length: apiCount }, () => startApiProcess(folder.path, env)))
  await waitUntil(() => worker.isReady(), { what: 'the worker', ...READY })
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

  return { folder, kafka, redis, env, worker, apis, token, ask }
}

/** A payment as a caller sends it. */
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
