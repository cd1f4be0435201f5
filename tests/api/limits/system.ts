import { type DelayingProxy, delayingProxy } from '../../../bench/limits/answer-proxy.ts'
import type { Component } from '../../../deploy/local/component.ts'
import { waitUntil } from '../../../deploy/local/wait.ts'
import { limitsServices } from '../../../pipelines/limits/service.ts'
import { limitsSchemas } from '../../../schemas/limits/topics.ts'
import { type GuardedFolder, guardedFolder } from '../../stack/folder.ts'
import { testStack } from '../../stack/index.ts'
import { provisionService } from '../../stack/provision.ts'
import { newKafka, newRedis } from '../../stack/servers.ts'
import { type ApiProcess, startApiProcess } from '../api-process.ts'
import { bearer } from '../development-token.ts'
import { startWorkerProcess, type WorkerProcess } from '../worker-process.ts'

const NODES = 3
const READY = { timeoutMs: 90_000, intervalMs: 50 }
/** Settings without a ClickHouse. The API needs an address, but decides requests without ClickHouse. */
const NO_CLICKHOUSE = { CLICKHOUSE_URL: 'http://127.0.0.1:1', PIPELINES: 'limits' }

/** Servers, one worker, and three API processes with the rate limit service. */
export interface LimitsSystem {
  readonly folder: GuardedFolder
  readonly redis: Component
  /** The proxy between the API and Redis. */
  readonly proxy: DelayingProxy
  readonly worker: WorkerProcess
  readonly apis: readonly ApiProcess[]
  /** Mints a token and returns an Authorization header. */
  token(subject: string, scope?: string): Promise<Record<string, string>>
}

/** @param env additional settings, such as the address of a ClickHouse */
export async function startLimitsSystem(env: Readonly<Record<string, string>> = NO_CLICKHOUSE): Promise<LimitsSystem> {
  const folder = guardedFolder()
  const kafka = await newKafka(folder.path)
  const redis = await newRedis(folder.path)
  const [registry] = await Promise.all([testStack().registry(), kafka.start(), redis.start()])
  await provisionService(kafka.address, registry, [limitsSchemas], limitsServices)
  const proxy = await delayingProxy(redis.address)
  const whole = {
    KAFKA_BROKERS: kafka.address,
    REDIS_URL: proxy.url,
    SCHEMA_REGISTRY_URL: registry,
    API_SERVICES: 'limits',
    ...env,
  }
  const worker = await startWorkerProcess(folder.path, whole)
  const apis = await Promise.all(Array.from({ length: NODES }, () => startApiProcess(folder.path, whole)))
  await waitUntil(worker.isReady, { what: 'the worker', ...READY })
  for (const api of apis) await waitUntil(async () => (await fetch(`${api.url}/readyz`)).ok, { what: 'the API', ...READY })
  return {
    folder,
    redis,
    proxy,
    worker,
    apis,
    token: (subject, scope) => bearer(folder.path, subject, scope),
  }
}

export async function send(api: ApiProcess, method: string, path: string, headers: Record<string, string>, body?: unknown) {
  const response = await fetch(`${api.url}/api/v1${path}`, {
    method,
    headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) }
}
