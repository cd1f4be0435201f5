import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { STAGES } from '../../../api/fraud/score/stages.ts'
import { ensureDevelopmentKey, mintToken } from '../../../api/kit/auth/development-key.ts'
import { BUFFER_HEAP_FLAGS } from '../../../kafka/client/heap-flags.ts'
import { fraudServices } from '../../../pipelines/fraud/service.ts'
import { profileKeys } from '../../../state/views/fraud/profiles.ts'
import { seededRandom } from '../../../tools/random/random.ts'
import { type NodeProcess, profileTo, startNode, untilReady } from '../../harness/node-process.ts'
import { cpuSeconds, peakRssMib } from '../../harness/process-stats.ts'
import { startServers } from '../../harness/servers.ts'
import { row } from '../../harness/table.ts'
import { type LoadResult, openLoad } from './load.ts'
import { benchPayment, benchProfile, type Spread } from './payments.ts'
import { readStages, stageQuantile } from './stages.ts'

export interface ScoreOptions {
  readonly users: number
  readonly perSecond: number
  readonly seconds: number
  readonly prof: string | undefined
}

const SEED = 7
const PAYMENTS_A_WEEK = 35
const SEEDED_AT_ONCE = 1_000
const WARM_UP_SECONDS = 5
const TOKEN_SECONDS = 3_600
const HIGHEST_P99_MS = 100
const STEP = 250
const REST_MS = 2_000
/** Of a small machine: see schemas/fraud/topics.ts. */
const PARTITION = 0
const API_THREADS = '16'

const ms = (value: number) => value.toFixed(1)

/** Measures scores of payments through an API with its workers, on separate servers. */
export async function measureScores(
  folder: string,
  { users, perSecond, seconds, prof }: ScoreOptions,
  print: (line: string) => void,
): Promise<void> {
  const servers = await startServers(folder)
  const stopping: (() => Promise<unknown>)[] = [() => servers.stop()]
  try {
    const key = await ensureDevelopmentKey(folder)
    const workers: NodeProcess[] = []
    const pipelines = fraudServices.map(({ name }) => name).join(',')
    for (const role of ['deciding', 'bulk']) {
      const settings = { PIPELINES: pipelines, WORKER_ROLE: role, STATE_DIR: join(folder, 'state', role), LOG_LEVEL: 'info' }
      const worker = await startNode('pipelines/main.ts', BUFFER_HEAP_FLAGS, { ...servers.env, ...settings }, 'host_started')
      workers.push(worker)
      stopping.push(() => worker.stop())
    }
    const settings = {
      API_SERVICES: 'fraud',
      API_PORT: '0',
      API_OPERATIONS_PORT: '0',
      LOG_LEVEL: 'info',
      UV_THREADPOOL_SIZE: API_THREADS,
    }
    const api = await startNode('api/main.ts', profileTo(prof), { ...servers.env, ...settings }, 'api_started')
    stopping.push(() => api.stop())
    const url = api.line.url as string
    await untilReady(...workers.map(({ line }) => `http://127.0.0.1:${line.health_port}`), url)
    const redis = new Redis(servers.addresses.redis)
    stopping.push(async () => redis.disconnect())
    await seedProfiles(redis, users)

    const claims = { subject: 'bench', scope: 'internal', username: undefined, issuer: 'millrace', audience: 'millrace' }
    const token = await mintToken(key, { ...claims, lifetimeSeconds: TOKEN_SECONDS, now: Date.now() })
    const random = seededRandom(SEED)
    const load = (spread: Spread, rate: number, duration: number) =>
      openLoad({
        url: `${url}/api/v1/transactions/score`,
        headers: { authorization: `Bearer ${token}` },
        perSecond: rate,
        seconds: duration,
        body: () => benchPayment(users, spread, random),
      })

    await load('spread', perSecond / 2, WARM_UP_SECONDS)
    print(row(['payments', 'answers/s', 'P50, ms', 'P99, ms', 'longest, ms', 'failures', 'CPU of the API']))
    print(row(['---', '--:', '--:', '--:', '--:', '--:', '--:']))
    const operations = api.line.operations_url as string
    const report = async (what: string, measure: () => Promise<LoadResult>) => {
      const cpu = cpuSeconds(api.pid)
      const start = performance.now()
      const result = await measure()
      const share = ((cpuSeconds(api.pid) - cpu) * 1_000) / (performance.now() - start)
      const { rate, p50, p99, most, failures } = result
      print(row([what, rate.toFixed(0), ms(p50), ms(p99), ms(most), failures, `${(100 * share).toFixed(0)} %`]))
      await delay(REST_MS)
      return result
    }
    const before = await readStages(operations)
    await report('spread', () => load('spread', perSecond, seconds))
    const after = await readStages(operations)
    await report('hot IP', () => load('hot IP', perSecond, seconds))
    await report('hot merchant', () => load('hot merchant', perSecond, seconds))
    for (let rate = perSecond + STEP; ; rate += STEP) {
      const { p99, failures } = await report(`spread, ${rate}/s`, () => load('spread', rate, seconds))
      if (p99 > HIGHEST_P99_MS || failures > 0) break
    }
    print(`\nPeak memory of the API: ${peakRssMib(api.pid)} MiB\n`)
    print(row(['stage at the first rate, ms up to', 'P50', 'P99']))
    print(row(['---', '--:', '--:']))
    for (const stage of STAGES) {
      const buckets = after.get(stage)!
      print(row([stage, stageQuantile(before.get(stage), buckets, 0.5), stageQuantile(before.get(stage), buckets, 0.99)]))
    }
  } finally {
    for (const stop of stopping.toReversed()) await stop()
  }
}

/** Writes the profiles of users with a week of payments, as the sink does. */
async function seedProfiles(redis: Redis, users: number): Promise<void> {
  const random = seededRandom(SEED)
  const now = Date.now()
  for (let from = 0; from < users; from += SEEDED_AT_ONCE) {
    const pipeline = redis.pipeline()
    for (let user = from; user < Math.min(users, from + SEEDED_AT_ONCE); user++) {
      pipeline.set(profileKeys(PARTITION, `user:u${user}`).profile, benchProfile(PAYMENTS_A_WEEK, now, random))
    }
    await pipeline.exec()
  }
}
