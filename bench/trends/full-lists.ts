import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { waitUntil } from '../../deploy/local/wait.ts'
import { benchTransport } from '../harness/broker.ts'
import { cpuSeconds, machineCpuSeconds, peakRssMib } from '../harness/process-stats.ts'
import type { BenchServers } from '../harness/servers.ts'
import { fillingBacklog } from './backlog.ts'
import { type FreshnessFigures, measureFreshness } from './freshness.ts'
import { untilIdle } from './progress.ts'
import { measureBacklog, startWorkers, verifyContributions } from './throughput.ts'

/** Results with full lists: 500 terms in each of the 551 regions. */
export interface FullListFigures {
  /** Average CPU seconds for one renewal of all lists while no tweets arrive, by process. */
  readonly renewalCpu: Readonly<Record<Part, number>>
  /** CPU seconds that the worker used in each renewal. */
  readonly workerCpu: readonly number[]
  /** CPU seconds per second while tweets arrive at `rate`, including renewals, by process. */
  readonly liveCpu: Readonly<Record<Part, number>>
  readonly peakRssMib: number
  readonly stateMib: number
  readonly redisMib: number
  /** Maximum number of rows in trend_snapshots for one minute. */
  readonly snapshotRows: number
  /** Number of rows that each tweet adds to trend_volumes, on average, while freshness is measured. */
  readonly volumeRows: number
  readonly freshness: FreshnessFigures
}

type Part = 'worker' | 'broker' | 'redis' | 'clickhouse' | 'others'

const TERMS_PER_CITY = 500
const LISTS = 551
const RENEWAL_SECONDS = 30
const FIRST_LISTS_TIMEOUT_MS = 600_000
/**
 * How long to wait after a renewal starts: a third of the renewal interval. By then, the renewal has finished, and the
 * next one is not due yet.
 */
const AFTER_RENEWAL_MS = 10_000
const BYTES_PER_MIB = 1_048_576
const FULL = `SELECT count() FROM (SELECT woeid FROM trend_snapshots WHERE window_end = (SELECT max(window_end) FROM trend_snapshots) GROUP BY woeid HAVING count() >= 100)`

export async function measureFullLists(
  servers: BenchServers,
  options: { readonly rate: number; readonly seconds: number; readonly renewals: number; readonly nodeArguments: readonly string[] },
): Promise<FullListFigures> {
  const workers = await startWorkers(servers, 1, options.nodeArguments)
  const [worker] = workers
  const redis = new Redis(servers.addresses.redis)
  try {
    const backlog = fillingBacklog(TERMS_PER_CITY, Date.now())
    await measureBacklog(servers, workers, backlog)
    await verifyContributions(servers, workers, backlog.contributions)
    await waitUntil(async () => (await servers.query(FULL)) === LISTS, { what: 'full lists', timeoutMs: FIRST_LISTS_TIMEOUT_MS })
    const cpu = (): Record<Part, number> => {
      const { kafka, redis: redisPid, clickhouse } = servers.pids
      const parts = {
        worker: cpuSeconds(worker.pid),
        broker: cpuSeconds(kafka),
        redis: cpuSeconds(redisPid),
        clickhouse: cpuSeconds(clickhouse),
      }
      const mine = parts.worker + parts.broker + parts.redis + parts.clickhouse + cpuSeconds(process.pid)
      return { ...parts, others: machineCpuSeconds() - mine }
    }
    const used = (from: Record<Part, number>, to: Record<Part, number>, by: number) =>
      Object.fromEntries(Object.entries(to).map(([part, seconds]) => [part, (seconds - from[part as Part]) / by])) as Record<Part, number>
    await untilRenewed(servers)
    const quiet = cpu()
    const workerCpu: number[] = []
    for (let before = quiet.worker; workerCpu.length < options.renewals; before = cpuSeconds(worker.pid)) {
      await delay(RENEWAL_SECONDS * 1_000)
      workerCpu.push(cpuSeconds(worker.pid) - before)
    }
    const renewalCpu = used(quiet, cpu(), options.renewals)
    const api = await servers.startApi()
    const volumesBefore = await servers.query('SELECT count() FROM trend_volumes')
    const live = cpu()
    const freshness = await measureFreshness(servers, api.address, options)
    const liveCpu = used(live, cpu(), freshness.seconds)
    const volumesAfter = await servers.query('SELECT count() FROM trend_volumes')
    const memory = /^used_memory:(\d+)/m.exec(await redis.info('memory'))
    return {
      renewalCpu,
      workerCpu,
      liveCpu,
      peakRssMib: peakRssMib(worker.pid),
      stateMib: worker.stateBytes() / BYTES_PER_MIB,
      redisMib: Number(memory?.[1] ?? 0) / BYTES_PER_MIB,
      snapshotRows: await servers.query('SELECT max(c) FROM (SELECT count() AS c FROM trend_snapshots GROUP BY window_end)'),
      volumeRows: (volumesAfter - volumesBefore) / freshness.events,
      freshness,
    }
  } finally {
    redis.disconnect()
    await Promise.all(workers.map((each) => each.stop()))
  }
}

/**
 * Waits until two renewals are complete, so that the next one costs as much as usual. The first lists cost more,
 * because all of their terms (about 275,000 in full lists) are tracked for the first time.
 */
export async function untilRenewed(servers: BenchServers): Promise<void> {
  const transport = benchTransport(servers.addresses.kafka)
  await transport.connect()
  try {
    const period = RENEWAL_SECONDS * 1_000
    for (let renewal = 0; renewal < 2; renewal++) {
      await delay(period - (Date.now() % period) + AFTER_RENEWAL_MS)
      await untilIdle(servers.addresses.kafka, transport)
    }
  } finally {
    await transport.close()
  }
}
