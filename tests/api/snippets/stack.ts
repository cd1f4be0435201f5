import { join } from 'node:path'
import { ensureDevelopmentKey, mintToken } from '../../../api/kit/auth/development-key.ts'
import type { Component } from '../../../deploy/local/component.ts'
import type { BrokerSettings } from '../../../deploy/local/kafka/settings.ts'
import { waitUntil } from '../../../deploy/local/wait.ts'
import { snippetsServices } from '../../../pipelines/snippets/service.ts'
import { snippetsSchemas } from '../../../schemas/snippets/topics.ts'
import { guardedFolder } from '../../stack/folder.ts'
import { testStack, uniqueName } from '../../stack/index.ts'
import { provisionService } from '../../stack/provision.ts'
import { newClickhouse, newKafka, newRedis, startedRegistry } from '../../stack/servers.ts'
import { type ApiProcess, startApiProcess } from '../api-process.ts'
import { supervisedWorker } from '../supervised-worker.ts'
import { startWorkerProcess } from '../worker-process.ts'

/** Time limit for processes to notice that a server is down, and to catch up afterwards. */
export const SOON = { timeoutMs: 60_000, intervalMs: 50 }

export interface Asked {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary fields of bodies
  readonly body: any
}

export interface SnippetStackOptions {
  /** Address of a node of a Redis Cluster to use. By default, a separate Redis is started. */
  readonly redisCluster?: string
  readonly brokerSettings?: BrokerSettings
  /** Starts a ClickHouse that only this stack uses, so that a test can inspect its files. */
  readonly ownClickhouse?: boolean
  /** Number of API processes. Default 2. */
  readonly apiCount?: number
  /**
   * URL of a registry to use, such as the shared one. By default, a separate registry is started. It keeps its schemas
   * on the broker, so that a test that stops the broker also affects the registry.
   */
  readonly registry?: string
  /** Additional settings of the worker and the APIs. */
  readonly env?: Readonly<Record<string, string>>
  /**
   * Called with the address of the broker once the topics exist, before anything uses them, for example to change
   * their configuration.
   */
  readonly onTopics?: (brokers: string) => Promise<void>
}

/** Starts real servers, a worker and API processes for snippets. */
export async function snippetStack(options: SnippetStackOptions = {}) {
  const { redisCluster, apiCount = 2 } = options
  const folder = guardedFolder()
  const kafka: Component = await newKafka(folder.path, 'kafka', options.brokerSettings)
  const redis: Component | undefined = redisCluster === undefined ? await newRedis(folder.path) : undefined
  const clickhouse = options.ownClickhouse ? await newClickhouse(folder.path) : undefined
  await Promise.all([kafka.start(), redis?.start(), clickhouse?.start()])
  const registry = options.registry ?? (await startedRegistry(folder.path, kafka.address))
  await provisionService(kafka.address, registry, [snippetsSchemas], snippetsServices)
  await options.onTopics?.(kafka.address)
  const env = {
    KAFKA_BROKERS: kafka.address,
    REDIS_URL: redisCluster ?? (redis as Component).address,
    ...(redisCluster !== undefined && { REDIS_CLUSTER: '1' }),
    SCHEMA_REGISTRY_URL: registry,
    CLICKHOUSE_URL: clickhouse?.address ?? (await testStack().clickhouse()),
    CLICKHOUSE_DATABASE: uniqueName('snippets').replaceAll('-', '_'),
    API_SERVICES: 'snippets',
    PIPELINES: 'snippets,snippet-views',
    ...options.env,
  }
  const client = await fetch(`${env.CLICKHOUSE_URL}/?query=${encodeURIComponent(`CREATE DATABASE ${env.CLICKHOUSE_DATABASE}`)}`, {
    method: 'POST',
  })
  if (!client.ok) throw new Error(await client.text())
  const worker = await supervisedWorker(folder, () => startWorkerProcess(folder.path, env))
  const startApi = () => startApiProcess(folder.path, env)
  const apis: ApiProcess[] = []
  while (apis.length < apiCount) apis.push(await startApi())
  await waitUntil(() => worker.isReady(), { what: 'the worker', ...SOON })
  for (const api of apis) await waitUntil(async () => (await fetch(`${api.url}/readyz`)).ok, { what: 'the API', ...SOON })
  const key = await ensureDevelopmentKey(folder.path)
  let addresses = 0

  async function bearer(subject: string, username?: string): Promise<Record<string, string>> {
    const claims = {
      subject,
      scope: undefined,
      username,
      issuer: 'millrace',
      audience: 'millrace',
      lifetimeSeconds: 3_600,
      now: Date.now(),
    }
    return { authorization: `Bearer ${await mintToken(key, claims)}` }
  }

  /** Sends a request, by default from a new client address, so that no client reaches a rate limit. */
  async function send(
    method: string,
    path: string,
    options: { body?: BodyInit; headers?: Record<string, string>; api?: ApiProcess } = {},
  ): Promise<Asked> {
    const address = `10.${(addresses >> 16) & 255}.${(addresses >> 8) & 255}.${addresses++ & 255}`
    const { url } = options.api ?? apis[0]
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { 'x-forwarded-for': address, ...options.headers },
      body: options.body,
      redirect: 'manual',
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.includes('json') ?? false
    return { status: response.status, headers: response.headers, text, body: isJson && text !== '' ? JSON.parse(text) : undefined }
  }

  async function create(fields: object, headers: Record<string, string> = {}, path = '/api/v1/pastes'): Promise<Asked> {
    return await send('POST', path, { body: JSON.stringify(fields), headers: { 'content-type': 'application/json', ...headers } })
  }

  return {
    folder,
    kafka,
    /** The stack's own Redis; undefined if the caller passed a Redis. */
    redis,
    env,
    apis,
    bearer,
    send,
    create,
    blobFolder: join(folder.path, 'data', 'blobs'),
    worker,
    async restartApi(index: number) {
      apis[index] = await startApi()
    },
    finish: () => folder.finish(),
  }
}

export type SnippetStack = Awaited<ReturnType<typeof snippetStack>>
