import { request } from 'node:http'
import type { Component } from '../../../deploy/local/component.ts'
import { waitUntil } from '../../../deploy/local/wait.ts'
import { linksServices } from '../../../pipelines/links/service.ts'
import { linkCommands, linkDecisions, linksSchemas, userLinks } from '../../../schemas/links/topics.ts'
import { type GuardedFolder, guardedFolder } from '../../stack/folder.ts'
import { provisionService } from '../../stack/provision.ts'
import { newKafka, newRedis, startedRegistry } from '../../stack/servers.ts'
import { type ApiProcess, startApiProcess } from '../api-process.ts'
import { type SupervisedWorker, supervisedWorker } from '../supervised-worker.ts'
import { startWorkerProcess } from '../worker-process.ts'

/**
 * Servers, one worker that decides commands, and two API instances. Kafka, the worker, the API instances and the
 * system's own Redis are separate processes that a test can kill.
 */
export interface LinksSystem {
  readonly folder: GuardedFolder
  readonly kafka: Component
  /** The system's own Redis; undefined if the caller passed a Redis. */
  readonly redis: Component | undefined
  readonly env: Readonly<Record<string, string>>
  readonly worker: SupervisedWorker
  readonly apis: ApiProcess[]
  /** Resolves when links can be created and read through every instance. */
  ready(): Promise<void>
  restartApi(index: number): Promise<void>
}

export interface LinksSystemOptions {
  /** Address of a node of a Redis Cluster to use. By default, a separate Redis is started. */
  readonly redisCluster?: string
  /**
   * URL of a registry to use, such as the shared one. By default, a separate registry is started. It keeps its schemas
   * on the broker, so that a test that stops the broker also affects the registry.
   */
  readonly registry?: string
  readonly env?: Readonly<Record<string, string>>
}

/** How long a dozen processes may take to start on a busy machine. */
const READY_TIMEOUT_MS = 90_000
/** An address where no ClickHouse runs. The links service must have an address, but works without ClickHouse. */
const NO_CLICKHOUSE = 'http://127.0.0.1:1'
const APIS = 2
/** Number of partitions of each topic in `SPREAD`. One would be enough on one machine, but production has several. */
const PARTITIONS = 4
const SPREAD: ReadonlySet<string> = new Set([linkCommands, linkDecisions, userLinks].map(({ name }) => name))

export async function startLinksSystem(options: LinksSystemOptions = {}): Promise<LinksSystem> {
  const folder = guardedFolder()
  const kafka = await newKafka(folder.path)
  const redis = options.redisCluster === undefined ? await newRedis(folder.path) : undefined
  await Promise.all([kafka.start(), redis?.start()])
  const registry = options.registry ?? (await startedRegistry(folder.path, kafka.address))
  await provisionService(kafka.address, registry, [linksSchemas], linksServices, ({ name, partitions }) =>
    SPREAD.has(name) ? PARTITIONS : partitions,
  )
  const env = {
    KAFKA_BROKERS: kafka.address,
    REDIS_URL: options.redisCluster ?? (redis as Component).address,
    ...(options.redisCluster !== undefined && { REDIS_CLUSTER: '1' }),
    SCHEMA_REGISTRY_URL: registry,
    CLICKHOUSE_URL: NO_CLICKHOUSE,
    API_SERVICES: 'links',
    PIPELINES: 'links',
    WORKER_ROLE: 'deciding',
    SHORT_DOMAINS: 'sho.rt,https://go.example',
    ...options.env,
  }
  const startApi = () => startApiProcess(folder.path, env)
  const system: LinksSystem = {
    folder,
    kafka,
    redis,
    env,
    worker: await supervisedWorker(folder, () => startWorkerProcess(folder.path, env)),
    apis: await Promise.all(Array.from({ length: APIS }, startApi)),
    async ready() {
      await waitUntil(() => system.worker.isReady(), { what: 'the worker', timeoutMs: READY_TIMEOUT_MS })
      for (const api of system.apis)
        await waitUntil(async () => (await fetch(`${api.url}/readyz`)).ok, { what: 'the API', timeoutMs: READY_TIMEOUT_MS })
    },
    async restartApi(index) {
      system.apis[index] = await startApi()
    },
  }
  await system.ready()
  return system
}

export interface Sent {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary fields of bodies
  readonly body: any
}

export async function send(
  api: ApiProcess,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Sent> {
  const response = await fetch(`${api.url}${path}`, {
    method,
    headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) }
}

export interface Visit {
  readonly status: number
  readonly location: string | undefined
  readonly cacheControl: string | undefined
}

/** Requests a redirect, like a browser. */
export async function visit(api: ApiProcess, code: string, host = 'sho.rt'): Promise<Visit> {
  const { hostname, port } = new URL(api.shortUrl as string)
  return await new Promise((resolve, reject) => {
    const asked = request({ hostname, port, path: `/${code}`, headers: { host } }, (response) => {
      response.resume()
      const { location, 'cache-control': cacheControl } = response.headers
      response.on('end', () => resolve({ status: response.statusCode as number, location, cacheControl }))
    })
    asked.on('error', reject).end()
  })
}
