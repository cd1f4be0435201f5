import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Admin } from '@platformatic/kafka'
import { Redis } from 'ioredis'
import { ensureDevelopmentKey, mintToken } from '../../../api/kit/auth/development-key.ts'
import { readManifest } from '../../../api/recommendations/model/manifest.ts'
import { waitUntil } from '../../../deploy/local/wait.ts'
import { WORKER_NICE } from '../../../deploy/local/worker-nice.ts'
import { registryClient } from '../../../kafka/registry.ts'
import { benchTransport } from '../../harness/broker.ts'
import { interrupted } from '../../harness/folder.ts'
import { liftSeededLimits } from '../../harness/lift-limits.ts'
import { type NodeProcess, profileTo, startApiProcess, startWorkerProcess, untilReady } from '../../harness/node-process.ts'
import { cpuSeconds } from '../../harness/process-stats.ts'
import { type BenchServers, startServers } from '../../harness/servers.ts'
import { lags } from '../../trends/progress.ts'
import type { PartInput } from './part.ts'
import { seedInteractions, seedItems, seedModel } from './seed.ts'

/** Separate servers, one worker and one API, filled with the items and users of a world. */
export interface RecommendationsSystem {
  readonly servers: BenchServers
  readonly env: Readonly<Record<string, string>>
  readonly api: NodeProcess
  readonly url: string
  /** Seconds from the start of the API process until it reported that it was ready. */
  readonly readySeconds: number
  readonly worker: NodeProcess
  readonly redis: Redis
  /** Headers of requests by a service that may request lists for any user. */
  readonly headers: Readonly<Record<string, string>>
  /** CPU seconds so far, by process. */
  cpu(): Readonly<Record<string, number>>
  stop(): Promise<void>
}

const GROUPS = [
  'user-features',
  'item-signals',
  'user-features-view',
  'item-neighbours-view',
  'recommendation-items-view',
  'interactions-table',
  'recommendations-served-table',
]
const POLL_MS = 500
/**
 * Number of consecutive polls without lag after which the pipelines count as idle. One poll is not enough, because a
 * stage also has no lag just before the previous stage writes to it.
 */
const IDLE_POLLS = 4
const IDLE_TIMEOUT_MS = 3_000_000
const READY_TIMEOUT_MS = 300_000
const MS_PER_SECOND = 1_000
const TOKEN_SECONDS = 12 * 3_600
const FRESH_TRENDS_MS = 31_000

/**
 * Starts servers that keep their data in a folder, and then a worker and an API. If the servers are empty, fills them
 * before it starts the worker.
 */
export async function startSystem({ world, bundle, values, folder: parent }: PartInput): Promise<RecommendationsSystem> {
  const folder = join(parent, `servers-${values.items}-${values.users}`)
  const seeded = join(folder, 'seeded')
  /** The version of the model in the topic, if items, interactions and a model were written in an earlier run. */
  const known = existsSync(seeded) ? readFileSync(seeded, 'utf8') : undefined
  const servers = await startServers(folder)
  const stopping: (() => Promise<unknown>)[] = [() => servers.stop()]
  const stop = async () => {
    for (const one of stopping.toReversed()) await one()
  }
  try {
    const transport = benchTransport(servers.addresses.kafka)
    await transport.connect()
    stopping.push(() => transport.close())
    const target = { transport, registry: registryClient({ url: servers.addresses.registry }) }
    if (known === undefined) {
      await liftSeededLimits(servers)
      await seedItems(target, world)
      await seedInteractions(target, world)
    }
    const { version } = await readManifest(bundle)
    if (known !== version) {
      await seedModel(target, bundle)
      placeBundle(bundle, join(folder, 'data', 'model-versions', `version-${version}`))
      writeFileSync(seeded, version)
    }
    const env = { ...servers.env, LOG_LEVEL: 'warn', RECOMMENDATIONS_TRAIN_HOURS: '0' }
    const profile = profileTo(values.prof)
    const workerSettings = { PIPELINES: 'recommendations', STATE_DIR: servers.home.state, WORKER_NICE: String(WORKER_NICE.bulk) }
    const worker = await startWorkerProcess(profile, { ...env, ...workerSettings, LOG_LEVEL: 'info' })
    stopping.push(() => worker.stop())
    const admin = new Admin({ clientId: 'bench', bootstrapBrokers: [servers.addresses.kafka] })
    stopping.push(() => admin.close())
    // If a run is interrupted during this wait, the next run with the same folder continues the wait.
    await Promise.race([untilProcessed(`http://127.0.0.1:${worker.line.health_port}`, admin, transport), interrupted])
    if (known === undefined) {
      // The first list of trending items is complete half a minute after the events.
      await delay(FRESH_TRENDS_MS)
    }
    const key = await ensureDevelopmentKey(folder)
    const apiEnv = { ...env, API_SERVICES: 'recommendations', API_PORT: '0', LOG_LEVEL: 'info' }
    const begun = performance.now()
    const api = await startApiProcess(profile, apiEnv)
    stopping.push(() => api.stop())
    const url = api.line.url as string
    await Promise.race([untilReady(url), interrupted])
    const readySeconds = (performance.now() - begun) / MS_PER_SECOND
    const redis = new Redis(servers.addresses.redis)
    stopping.push(async () => redis.disconnect())
    const identity = { subject: 'bench', issuer: 'millrace', audience: 'millrace', lifetimeSeconds: TOKEN_SECONDS, now: Date.now() }
    const headers = { authorization: `Bearer ${await mintToken(key, { ...identity, scope: 'internal' })}` }
    await Promise.race([untilTrained(url, headers), interrupted])
    const { pids } = servers
    return {
      servers,
      env: apiEnv,
      api,
      url,
      readySeconds,
      worker,
      redis,
      headers,
      cpu: () => ({
        API: cpuSeconds(api.pid),
        worker: cpuSeconds(worker.pid),
        broker: cpuSeconds(pids.kafka),
        Redis: cpuSeconds(pids.redis),
        ClickHouse: cpuSeconds(pids.clickhouse),
      }),
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Puts the files of a version into a host's folder, as if the host had fetched them. */
function placeBundle(bundle: string, place: string): void {
  rmSync(place, { recursive: true, force: true })
  mkdirSync(place, { recursive: true })
  for (const name of readdirSync(bundle)) linkSync(join(bundle, name), join(place, name))
}

/**
 * Waits until all records are processed. It first waits until the worker is ready, that is, until its sinks have caught
 * up once. After a million items have been written, this takes minutes.
 */
async function untilProcessed(worker: string, admin: Admin, transport: ReturnType<typeof benchTransport>): Promise<void> {
  const deadline = Date.now() + IDLE_TIMEOUT_MS
  const isReady = async () => (await fetch(`${worker}/readyz`)).ok
  await waitUntil(isReady, { what: 'the worker', timeoutMs: IDLE_TIMEOUT_MS, intervalMs: POLL_MS })
  for (let idle = 0; idle < IDLE_POLLS; ) {
    await delay(POLL_MS)
    const waiting = (await Promise.all(GROUPS.map((group) => lags(admin, transport, group)))).flatMap((found) => [...found])
    idle = waiting.every(([, lag]) => lag <= 0) ? idle + 1 : 0
    if (Date.now() > deadline)
      throw new Error(`records were still unprocessed after ${IDLE_TIMEOUT_MS} ms; lags: ${JSON.stringify(waiting)}`)
  }
}

/** Waits until lists come from the model in force. */
async function untilTrained(url: string, headers: Readonly<Record<string, string>>): Promise<void> {
  const deadline = Date.now() + READY_TIMEOUT_MS
  for (;;) {
    const answer = await fetch(`${url}/api/v1/recommendations?user_id=1`, { headers })
    const { model_version } = (await answer.json()) as { model_version?: string }
    if (model_version !== undefined && !model_version.startsWith('rules')) return
    if (Date.now() > deadline)
      throw new Error(
        `lists did not come from the trained model within ${READY_TIMEOUT_MS} ms: status ${answer.status}, model version ${model_version}`,
      )
    await delay(POLL_MS)
  }
}
