import { loadavg } from 'node:os'
import { join } from 'node:path'
import { STAGES } from '../../../api/fraud/score/stages.ts'
import { ensureDevelopmentKey, mintToken } from '../../../api/kit/auth/development-key.ts'
import { WORKER_NICE } from '../../../deploy/local/worker-nice.ts'
import { fraudServices } from '../../../pipelines/fraud/service.ts'
import { seededRandom } from '../../../tools/random/random.ts'
import { benchTransport } from '../../harness/broker.ts'
import { profileTo, startApiProcess, startWorkerProcess, untilReady } from '../../harness/node-process.ts'
import { childPids, cpuSeconds, peakRssMib } from '../../harness/process-stats.ts'
import { untilQuiet } from '../../harness/quiet.ts'
import { type BenchServers, startServers } from '../../harness/servers.ts'
import { median, row } from '../../harness/table.ts'
import { type HttpPool, httpPool } from './http-pool.ts'
import { type LoadResult, openLoad } from './load.ts'
import { benchPayments, type Spread } from './payments.ts'
import { seedBlocklist, seedProfiles, seedRules } from './seed.ts'
import { readStages, stageQuantile } from './stages.ts'

export interface ScoreOptions {
  readonly users: number
  readonly entries: number
  readonly perSecond: number
  readonly seconds: number
  readonly rounds: number
  readonly prof: string | undefined
}

const SEED = 7
/**
 * Duration of the warm-up. For about a minute after its start, the broker's JVM compiles code, which keeps most of a
 * core busy.
 */
const WARM_UP_SECONDS = 60
const TOKEN_SECONDS = 3_600
/** Number of connections, similar to the number that a load balancer opens. */
const CONNECTIONS = 128
const HIGHEST_P99_MS = 100
const STEP = 250
const MS_PER_SECOND = 1_000
const API_THREADS = '16'
const SPREADS: readonly Spread[] = ['spread', 'hot IP', 'hot merchant']

interface Measured extends LoadResult {
  /** CPU time that each process used, in seconds per second. */
  readonly cpu: Readonly<Record<string, number>>
  /** Load average of the machine before the round. */
  readonly load: number
}

type Say = (line: string) => void

/** A running API and all servers and processes that scoring needs. */
interface System {
  readonly pid: number
  readonly operations: string
  measure(spread: Spread, perSecond: number, seconds: number): Promise<Measured>
  stop(): Promise<void>
}

/** Measures the scoring of payments through an API with its workers, on separate servers. */
export async function measureScores(folder: string, options: ScoreOptions, say: Say): Promise<void> {
  const system = await startSystem(folder, options, say)
  try {
    await measureAll(system, options, say)
  } finally {
    await system.stop()
  }
}

async function measureAll({ measure, pid, operations }: System, { perSecond, seconds, rounds }: ScoreOptions, say: Say): Promise<void> {
  await measure('spread', perSecond, WARM_UP_SECONDS)
  const found = new Map<Spread, Measured[]>(SPREADS.map((spread) => [spread, []]))
  const before = await readStages(operations)
  for (let round = 0; round < rounds; round++) {
    for (const spread of SPREADS) found.get(spread)!.push(await measure(spread, perSecond, seconds))
  }
  const after = await readStages(operations)
  say(
    row([
      'payments',
      'answers/s',
      'P50, ms',
      'P99, ms',
      'longest, ms',
      'degraded',
      'reviewed',
      'failures',
      'CPU of the API',
      'load before',
    ]),
  )
  say(row(['---', '--:', '--:', '--:', '--:', '--:', '--:', '--:', '--:', '--:']))
  for (const [spread, results] of found) say(resultRow(`${spread}, ${perSecond}/s`, results))
  for (let rate = perSecond + STEP; ; rate += STEP) {
    const results: Measured[] = []
    for (let round = 0; round < rounds; round++) results.push(await measure('spread', rate, seconds))
    say(resultRow(`spread, ${rate}/s`, results))
    if (median(results.map(({ p99 }) => p99)) > HIGHEST_P99_MS || results.some(({ failures }) => failures.size > 0)) break
  }
  say(`\nms of CPU per payment at ${perSecond}/s: ${cpuOf(found.get('spread')!)}`)
  say(`\nPeak memory of the API: ${peakRssMib(pid)} MiB\n`)
  say(row([`stage at ${perSecond}/s, upper bounds in ms`, 'P50', 'P99']))
  say(row(['---', '--:', '--:']))
  for (const stage of STAGES) {
    const [earlier, buckets] = [before.get(stage), after.get(stage)!]
    say(row([stage, stageQuantile(earlier, buckets, 0.5), stageQuantile(earlier, buckets, 0.99)]))
  }
}

function cpuOf(results: readonly Measured[]): string {
  const names = Object.keys(results[0].cpu)
  return names.map((name) => `${name} ${median(results.map(({ cpu, rate }) => (cpu[name] * MS_PER_SECOND) / rate)).toFixed(2)}`).join(', ')
}

function resultRow(what: string, results: readonly Measured[]): string {
  const middle = (of: (result: Measured) => number, digits: number) => {
    const values = results.map(of)
    const [least, most] = [Math.min(...values), Math.max(...values)].map((value) => value.toFixed(digits))
    return `${median(values).toFixed(digits)} (${least}-${most})`
  }
  const failures = results.flatMap((result) => [...result.failures].map(([code, count]) => `${count} × ${code}`))
  return row([
    what,
    middle(({ rate }) => rate, 0),
    middle(({ p50 }) => p50, 1),
    middle(({ p99 }) => p99, 1),
    Math.max(...results.map(({ most }) => most)).toFixed(0),
    `${middle(({ degraded }) => 100 * degraded, 2)} %`,
    `${middle(({ reviewed }) => 100 * reviewed, 1)} %`,
    failures.join('; ') || 0,
    `${middle(({ cpu }) => 100 * cpu.API, 0)} %`,
    middle(({ load }) => load, 1),
  ])
}

async function startSystem(folder: string, options: ScoreOptions, say: Say): Promise<System> {
  const stopping: (() => unknown)[] = []
  async function stop(): Promise<void> {
    for (const end of stopping.toReversed()) await end()
  }
  try {
    const servers = await startServers(folder)
    stopping.push(servers.stop)
    await seedTopics(servers, options.entries)
    const workers: string[] = []
    const pids: [string, number][] = Object.entries(servers.pids)
    for (const role of ['deciding', 'bulk'] as const) {
      const pipelines = fraudServices.filter((service) => service.role === role).map(({ name }) => name)
      const settings = {
        PIPELINES: pipelines.join(','),
        WORKER_NICE: String(WORKER_NICE[role]),
        STATE_DIR: join(folder, 'state', role),
        LOG_LEVEL: 'info',
      }
      const worker = await startWorkerProcess(profileTo(options.prof), { ...servers.env, ...settings })
      stopping.push(worker.stop)
      pids.push([`${role} worker`, worker.pid])
      workers.push(`http://127.0.0.1:${worker.line.health_port}`)
    }
    const own = { API_SERVICES: 'fraud', API_PORT: '0', API_OPERATIONS_PORT: '0', LOG_LEVEL: 'info', UV_THREADPOOL_SIZE: API_THREADS }
    const api = await startApiProcess(profileTo(options.prof), { ...servers.env, ...own })
    stopping.push(api.stop)
    const url = api.line.url as string
    await untilReady(...workers, url)
    pids.push(['API', api.pid], ...childPids(api.pid).map((pid): [string, number] => ['models', pid]), ['load', process.pid])
    const bytes = await seedProfiles(servers.addresses.redis, options.users)
    say(`A user's profile has ${bytes.toFixed(0)} bytes on average.\n`)
    const pool = await connected(folder, url)
    stopping.push(pool.close)
    const payment = benchPayments(options.users, seededRandom(SEED))
    return {
      pid: api.pid,
      operations: api.line.operations_url as string,
      async measure(spread, perSecond, seconds) {
        await untilQuiet()
        const [load] = loadavg()
        const before = pids.map(([, pid]) => cpuSeconds(pid))
        const start = performance.now()
        const result = await openLoad({ pool, perSecond, seconds, body: () => payment(spread) })
        const took = (performance.now() - start) / MS_PER_SECOND
        const cpu = pids.map(([name, pid], index) => [name, (cpuSeconds(pid) - before[index]) / took])
        return { ...result, load, cpu: Object.fromEntries(cpu) }
      },
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

async function seedTopics({ addresses }: BenchServers, entries: number): Promise<void> {
  const transport = benchTransport(addresses.kafka)
  await transport.connect()
  await seedRules(transport, addresses.registry, seededRandom(SEED))
  await seedBlocklist(transport, addresses.registry, entries)
  await transport.close()
}

async function connected(folder: string, url: string): Promise<HttpPool> {
  const claims = { subject: 'bench', scope: 'internal', username: undefined, issuer: 'millrace', audience: 'millrace' }
  const token = await mintToken(await ensureDevelopmentKey(folder), { ...claims, lifetimeSeconds: TOKEN_SECONDS, now: Date.now() })
  return httpPool(new URL(`${url}/api/v1/transactions/score`), CONNECTIONS, { authorization: `Bearer ${token}` })
}
