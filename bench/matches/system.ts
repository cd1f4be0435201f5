import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Admin } from '@platformatic/kafka'
import { Redis } from 'ioredis'
import { ensureDevelopmentKey, mintToken } from '../../api/kit/auth/development-key.ts'
import { WORKER_NICE } from '../../deploy/local/worker-nice.ts'
import { registryClient } from '../../kafka/registry.ts'
import type { SchemaRegistry } from '../../kafka/registry-interface.ts'
import type { Transport } from '../../kafka/transport.ts'
import { expectedDataFolder } from '../../scripts/config.ts'
import { loadPeople, type People } from '../../tools/people/people.ts'
import { benchTransport } from '../harness/broker.ts'
import { liftSeededLimits } from '../harness/lift-limits.ts'
import { type NodeProcess, profileTo, startApiProcess, startWorkerProcess, untilReady } from '../harness/node-process.ts'
import { cpuSeconds } from '../harness/process-stats.ts'
import { type BenchServers, startServers } from '../harness/servers.ts'
import { lags } from '../trends/progress.ts'
import { seedPeople } from './seed.ts'

/**
 * Separate servers, an API, a deciding worker and a bulk worker, filled with the public profiles, or with generated
 * ones if these are missing.
 */
export interface MatchesSystem extends People {
  readonly servers: BenchServers
  readonly api: { readonly url: string; readonly pid: number }
  /** The two workers. Parts of the benchmark send signals to them. */
  readonly workers: readonly NodeProcess[]
  readonly transport: Transport
  readonly registry: SchemaRegistry
  readonly redis: Redis
  /** Returns the headers of a user's requests. A token is created at the first call with this user and scope. */
  headersOf(userId: string, scope?: string): Promise<Record<string, string>>
  /** CPU seconds so far, by process. */
  cpu(): Readonly<Record<string, number>>
  /**
   * Waits until the pipelines and sinks of `groups` have processed everything. The default is every group except the
   * group of the sink that sends pushes.
   */
  untilIdle(groups?: readonly string[]): Promise<void>
  stop(): Promise<void>
}

export interface MatchesSystemOptions {
  readonly profiles: number
  /** Folder for .cpuprofile files. */
  readonly prof: string | undefined
  /** Additional environment variables of the workers. */
  readonly workerEnv: Readonly<Record<string, string>>
}

/** Consumer groups of the topologies, followed by the groups of the sinks. */
export const TOPOLOGY_GROUPS = ['match-users', 'match-pairs', 'match-profiles']
const SINK_GROUPS = [
  'match-users-view',
  'match-pairs-view',
  'match-index-view',
  'match-swipes-table',
  'matches-table',
  'match-deletions-table',
  'match-stack-refills',
]
const IDLE_POLL_MS = 100
/**
 * Number of consecutive polls without lag after which the pipelines count as idle. One poll is not enough, because a
 * stage also has no lag just before the previous stage writes to it.
 */
const IDLE_POLLS = 3
const IDLE_TIMEOUT_MS = 600_000
const TOKEN_SECONDS = 12 * 3_600
const API_THREADS = '16'

export async function startMatchesSystem(folder: string, options: MatchesSystemOptions): Promise<MatchesSystem> {
  const servers = await startServers(folder)
  const { env, pids, addresses } = servers
  const stopping: (() => Promise<unknown>)[] = [() => servers.stop()]
  const stop = async () => {
    for (const one of stopping.toReversed()) await one()
  }
  try {
    await liftSeededLimits(servers)
    const key = await ensureDevelopmentKey(folder)
    const profile = profileTo(options.prof)
    const workers: NodeProcess[] = []
    for (const role of ['deciding', 'bulk'] as const) {
      const settings = {
        PIPELINES: 'matches,match-users',
        WORKER_ROLE: role,
        WORKER_NICE: String(WORKER_NICE[role]),
        STATE_DIR: join(folder, 'state', role),
        LOG_LEVEL: 'info',
      }
      const worker = await startWorkerProcess(profile, { ...env, ...settings, ...options.workerEnv })
      workers.push(worker)
      stopping.push(() => worker.stop())
    }
    const apiSettings = { API_SERVICES: 'matches', API_PORT: '0', LOG_LEVEL: 'info', UV_THREADPOOL_SIZE: API_THREADS }
    const api = await startApiProcess(profile, { ...env, ...apiSettings })
    stopping.push(() => api.stop())
    const url = api.line.url as string
    await untilReady(...workers.map(({ line }) => `http://127.0.0.1:${line.health_port}`), url)
    const transport = benchTransport(addresses.kafka)
    await transport.connect()
    stopping.push(() => transport.close())
    const redis = new Redis(addresses.redis)
    stopping.push(async () => redis.disconnect())
    const admin = new Admin({ clientId: 'bench', bootstrapBrokers: [addresses.kafka] })
    stopping.push(() => admin.close())
    const registry = registryClient({ url: addresses.registry })
    const people = await loadPeople(expectedDataFolder(), options.profiles, Date.now())
    const tokens = new Map<string, Promise<string>>()

    async function untilIdle(groups: readonly string[] = [...TOPOLOGY_GROUPS, ...SINK_GROUPS]): Promise<void> {
      const deadline = Date.now() + IDLE_TIMEOUT_MS
      for (let idle = 0; idle < IDLE_POLLS; ) {
        await delay(IDLE_POLL_MS)
        const waiting = (await Promise.all(groups.map((group) => lags(admin, transport, group)))).flatMap((found) => [...found])
        idle = waiting.every(([, lag]) => lag <= 0) ? idle + 1 : 0
        if (Date.now() > deadline)
          throw new Error(`records were still unprocessed after ${IDLE_TIMEOUT_MS} ms; lags: ${JSON.stringify(waiting)}`)
      }
    }

    await seedPeople({ transport, registry }, people.people)
    await untilIdle()
    return {
      ...people,
      servers,
      api: { url, pid: api.pid },
      workers,
      transport,
      registry,
      redis,
      async headersOf(userId, scope) {
        const now = Date.now()
        const claims = { subject: userId, issuer: 'millrace', audience: 'millrace', lifetimeSeconds: TOKEN_SECONDS, now }
        const name = `${userId} ${scope ?? ''}`
        const token = tokens.get(name) ?? mintToken(key, { ...claims, ...(scope && { scope }) })
        tokens.set(name, token)
        return { authorization: `Bearer ${await token}` }
      },
      cpu: () => ({
        API: cpuSeconds(api.pid),
        deciding: cpuSeconds(workers[0].pid),
        bulk: cpuSeconds(workers[1].pid),
        broker: cpuSeconds(pids.kafka),
        Redis: cpuSeconds(pids.redis),
        ClickHouse: cpuSeconds(pids.clickhouse),
      }),
      untilIdle,
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}
