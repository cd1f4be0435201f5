import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { ensureDevelopmentKey, mintToken } from '../../../api/kit/auth/development-key.ts'
import type { Component } from '../../../deploy/local/component.ts'
import type { BrokerSettings } from '../../../deploy/local/kafka/settings.ts'
import { waitUntil } from '../../../deploy/local/wait.ts'
import { matchesServices } from '../../../pipelines/matches/service.ts'
import { matchesSchemas } from '../../../schemas/matches/topics.ts'
import type { AnyTopic } from '../../../schemas/topic.ts'
import { guardedFolder } from '../../stack/folder.ts'
import { testStack, uniqueName } from '../../stack/index.ts'
import { provisionService } from '../../stack/provision.ts'
import { newKafka, newRedis, startedRegistry } from '../../stack/servers.ts'
import { startApiProcess } from '../api-process.ts'
import { supervisedWorker } from '../supervised-worker.ts'
import { startWorkerProcess } from '../worker-process.ts'
import { pushReceiver } from './push-receiver.ts'

/** How long a dozen processes may take to start on a busy machine. */
const READY = { timeoutMs: 90_000, intervalMs: 50 }

/** How long a swipe waits for Kafka, in ms. */
const SWIPE_WAIT_MS = 1_000

export interface Asked {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary fields of bodies
  readonly body: any
}

/** A user with a token. */
export interface TestUser {
  readonly id: string
  readonly token: string
  ask(method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<Asked>
}

export interface MatchesSystemOptions {
  /** Number of API processes. Default 2. */
  readonly apiCount?: number
  /** Number of worker processes. Default 1. */
  readonly workerCount?: number
  /**
   * If true, topics with many partitions in production have several partitions in this system. By default, each of
   * these topics has one partition.
   */
  readonly isPartitioned?: boolean
  readonly brokerSettings?: BrokerSettings
  /**
   * Called with the address of the broker once the topics exist, before anything uses them, for example to change
   * their configuration.
   */
  readonly onTopics?: (brokers: string) => Promise<void>
  /**
   * URL of a registry to use, such as the shared one. By default, a separate registry is started. It keeps its schemas
   * on the broker, so that a test that stops the broker also affects the registry.
   */
  readonly registry?: string
  /** Additional settings of the worker and the APIs. */
  readonly env?: Readonly<Record<string, string>>
}

export type MatchesSystem = Awaited<ReturnType<typeof matchesSystem>>

/**
 * Maps partition counts in production to those in these tests. The counts are lower, but still differ between topics.
 */
const PARTITIONS: ReadonlyMap<number | undefined, number> = new Map([
  [200, 3],
  [64, 2],
  [50, 2],
])

/**
 * Starts real servers, workers with all pipelines of the match feed, API processes, and a receiver of push
 * notifications.
 */
export async function matchesSystem(options: MatchesSystemOptions = {}) {
  const { apiCount = 2, workerCount = 1, isPartitioned = false, env: more = {} } = options
  const folder = guardedFolder()
  const kafka: Component = await newKafka(folder.path, 'kafka', options.brokerSettings)
  const redis: Component = await newRedis(folder.path)
  await Promise.all([kafka.start(), redis.start()])
  const registry = options.registry ?? (await startedRegistry(folder.path, kafka.address))
  const partitionsOf = ({ partitions, productionPartitions }: AnyTopic) =>
    isPartitioned ? (PARTITIONS.get(productionPartitions) ?? partitions) : partitions
  await provisionService(kafka.address, registry, [matchesSchemas], matchesServices, partitionsOf)
  await options.onTopics?.(kafka.address)
  const clickhouse = await testStack().clickhouse()
  const database = uniqueName('matches').replaceAll('-', '_')
  const rowsOf = async (query: string) => {
    const answer = await fetch(`${clickhouse}/?database=${database}`, { method: 'POST', body: `${query} FORMAT JSON` })
    if (!answer.ok) throw new Error(await answer.text())
    return ((await answer.json()) as { data: Record<string, unknown>[] }).data
  }
  await fetch(`${clickhouse}/`, { method: 'POST', body: `CREATE DATABASE ${database}` })
  const pushes = await pushReceiver()
  const env = {
    ...pushes.env,
    KAFKA_BROKERS: kafka.address,
    REDIS_URL: redis.address,
    SCHEMA_REGISTRY_URL: registry,
    CLICKHOUSE_URL: clickhouse,
    CLICKHOUSE_DATABASE: database,
    API_SERVICES: 'matches',
    // On a busy machine, acknowledgements take longer than the default limit of 25 ms, and most tests do not test this
    // limit.
    SWIPE_WAIT_MS: String(SWIPE_WAIT_MS),
    // Redis, too, may respond later than the default limit on a busy machine.
    SWIPE_CHECK_MS: '1000',
    PIPELINES: 'matches,match-users',
    ...more,
  }
  const workers = await Promise.all(
    Array.from({ length: workerCount }, (_, index) =>
      supervisedWorker(folder, () => startWorkerProcess(folder.path, { ...env, STATE_DIR: join(folder.path, `state-${index}`) })),
    ),
  )
  const [worker] = workers
  const apis = await Promise.all(Array.from({ length: apiCount }, () => startApiProcess(folder.path, env)))
  for (const each of workers) await waitUntil(() => each.isReady(), { what: 'the worker', ...READY })
  for (const api of apis) await waitUntil(async () => (await fetch(`${api.url}/readyz`)).ok, { what: 'the API', ...READY })
  const key = await ensureDevelopmentKey(folder.path)

  /**
   * Creates a user.
   * @param api index of the API process that receives the user's requests
   */
  async function user({ id = randomUUID() as string, scope = undefined as string | undefined, api = 0 } = {}): Promise<TestUser> {
    const claims = {
      subject: id,
      scope,
      username: undefined,
      issuer: 'millrace',
      audience: 'millrace',
      lifetimeSeconds: 3_600,
      now: Date.now(),
    }
    const token = await mintToken(key, claims)
    return {
      id,
      token,
      async ask(method, path, body, headers) {
        const response = await fetch(`${apis[api].url}/v1/${path}`, {
          method,
          headers: { authorization: `Bearer ${token}`, ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
          body: body === undefined ? undefined : JSON.stringify(body),
        })
        const text = await response.text()
        return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
      },
    }
  }

  /** Kills an API process with SIGKILL and replaces it with a new process. */
  async function restartApi(index: number): Promise<void> {
    const exited = once(apis[index].child, 'close')
    apis[index].child.kill('SIGKILL')
    await exited
    apis[index] = await startApiProcess(folder.path, env)
  }

  /** Returns how many pushes the first worker has dropped for the given reason. */
  async function droppedPushes(reason: string): Promise<number> {
    const text = await (await fetch(`${worker.url}/metrics`)).text()
    const line = new RegExp(`sink_deliveries_total\\{[^}]*outcome="dropped"[^}]*reason="${reason}"[^}]*\\} (\\d+)`).exec(text)
    return Number(line?.[1] ?? 0)
  }

  return { folder, kafka, redis, env, worker, workers, partitionsOf, apis, pushes, user, rowsOf, restartApi, droppedPushes }
}
