import { setTimeout as delay } from 'node:timers/promises'
import { regions } from '../../schemas/trends/places/regions.ts'
import { cpuSeconds, machineCpuSeconds, peakRssMib } from '../harness/process-stats.ts'
import type { BenchServers } from '../harness/servers.ts'
import { type FreshnessFigures, measureFreshness, type TweetStream } from './freshness.ts'
import { repeatedTweets } from './recorded.ts'
import { watchLoop } from './restart.ts'
import { startWorkers } from './throughput.ts'

/** Results of a worker that receives recorded tweets at a steady rate. */
export interface SteadyFigures {
  readonly freshness: FreshnessFigures
  /** Greatest age of a served list, in ms. */
  readonly oldestMs: number
  /** Longest response time of the worker, in ms. */
  readonly stallMs: number
  /** CPU seconds that the worker used per second. */
  readonly workerCpu: number
  readonly otherCpu: number
  readonly peakRssMib: number
}

const MS_PER_SECOND = 1_000
const LOOK_EVERY_MS = 1_000

/**
 * Sends recorded tweets to an empty worker at `rate`, and reads the lists of all regions repeatedly during that time.
 */
export async function measureSteady(
  servers: BenchServers,
  { rate, seconds, nodeArguments }: { readonly rate: number; readonly seconds: number; readonly nodeArguments: readonly string[] },
): Promise<SteadyFigures> {
  const workers = await startWorkers(servers, 1, nodeArguments)
  const [worker] = workers
  try {
    const api = (await servers.startApi()).address
    const tweetAt = await repeatedTweets()
    const used = () => ({ worker: cpuSeconds(worker.pid), machine: machineCpuSeconds() })
    const before = used()
    const loop = watchLoop(worker)
    const ages = watchAges(api)
    const freshness = await measureFreshness(servers, api, { rate, seconds, open: (startAt) => steadyStream(tweetAt, rate, startAt) })
    const after = used()
    return {
      freshness,
      oldestMs: await ages.stop(),
      stallMs: await loop.stop(),
      workerCpu: (after.worker - before.worker) / freshness.seconds,
      otherCpu: (after.machine - before.machine - after.worker + before.worker) / freshness.seconds,
      peakRssMib: peakRssMib(worker.pid),
    }
  } finally {
    await Promise.all(workers.map((each) => each.stop()))
  }
}

function steadyStream(tweetAt: Awaited<ReturnType<typeof repeatedTweets>>, rate: number, startAt: number): TweetStream {
  let number = 0
  return {
    next() {
      const at = Math.floor(startAt + (number * MS_PER_SECOND) / rate)
      return { at, tweet: tweetAt(number++, at) }
    },
  }
}

/** Reads the list of each region repeatedly, and keeps the greatest age of a list. Skips regions without a list. */
function watchAges(api: string): { stop(): Promise<number> } {
  let oldestMs = 0
  let running = true
  async function look(woeid: number): Promise<void> {
    const response = await fetch(`${api}/v1/trends?woeid=${woeid}&limit=1`)
    const body = (await response.json()) as { as_of?: string }
    if (body.as_of !== undefined) oldestMs = Math.max(oldestMs, Date.now() - Date.parse(body.as_of))
  }
  async function watch(): Promise<void> {
    while (running) {
      for (const { woeid } of regions) await look(woeid)
      await delay(LOOK_EVERY_MS)
    }
  }
  const watching = watch()
  return {
    async stop() {
      running = false
      await watching
      return oldestMs
    },
  }
}
