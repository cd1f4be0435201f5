import { setTimeout as delay } from 'node:timers/promises'
import { regions } from '../../schemas/trends/places/regions.ts'
import type { Tweet } from '../../schemas/trends/types.ts'
import { seededRandom } from '../../tools/random/random.ts'
import { cpuSeconds, machineCpuSeconds, peakRssMib } from '../harness/process-stats.ts'
import type { BenchServers } from '../harness/servers.ts'
import { type FreshnessFigures, measureFreshness, type TweetStream } from './freshness.ts'
import { drawnRegions, listFaults, servedLists } from './offline-lists.ts'
import { type RepeatedTweets, repeatedTweets } from './recorded.ts'
import { watchLoop } from './restart.ts'
import { startWorkers } from './throughput.ts'

/** Results of a worker that receives recorded tweets at a steady rate. */
export interface SteadyFigures {
  readonly freshness: FreshnessFigures
  /** Maximum age of a served list, in ms. */
  readonly oldestMs: number
  /** Longest response time of the worker, in ms. */
  readonly stallMs: number
  /** CPU seconds that the worker used per second. */
  readonly workerCpu: number
  readonly otherCpu: number
  readonly peakRssMib: number
  /** Differences between the compared lists and an offline count. */
  readonly listFaults: readonly string[]
}

interface SteadyOptions {
  /** Tweets per second. */
  readonly rate: number
  readonly seconds: number
  /** Number of lists that are compared with an offline count at the end. */
  readonly compared: number
  readonly nodeArguments: readonly string[]
}

/** Seed for the choice of the compared regions. */
const SEED = 19
const MS_PER_SECOND = 1_000
const LOOK_EVERY_MS = 1_000

/**
 * Sends recorded tweets to an empty worker at `rate`, and reads the lists of all regions repeatedly during that time.
 * Then compares some of the lists with an offline count.
 */
export async function measureSteady(
  servers: BenchServers,
  { rate, seconds, compared, nodeArguments }: SteadyOptions,
): Promise<SteadyFigures> {
  const workers = await startWorkers(servers, 1, nodeArguments)
  const [worker] = workers
  try {
    const api = (await servers.startApi()).address
    const repeated = await repeatedTweets()
    const woeids = drawnRegions(compared, seededRandom(SEED))
    const marked: Tweet[] = []
    let stream: SteadyStream | undefined
    function open(startAt: number): SteadyStream {
      stream = steadyStream(repeated, rate, startAt)
      return stream
    }
    const used = () => ({ worker: cpuSeconds(worker.pid), machine: machineCpuSeconds() })
    const before = used()
    const loop = watchLoop(worker)
    const ages = watchAges(api)
    const freshness = await measureFreshness(servers, api, { rate, seconds, open, onMark: (tweets) => marked.push(...tweets) })
    const after = used()
    const lists = await servedLists(api, woeids, Date.now())
    return {
      freshness,
      oldestMs: await ages.stop(),
      stallMs: await loop.stop(),
      workerCpu: (after.worker - before.worker) / freshness.seconds,
      otherCpu: (after.machine - before.machine - after.worker + before.worker) / freshness.seconds,
      peakRssMib: peakRssMib(worker.pid),
      listFaults: listFaults(lists, [...(stream?.repetitions() ?? []), marked]),
    }
  } finally {
    await Promise.all(workers.map((each) => each.stop()))
  }
}

interface SteadyStream extends TweetStream {
  /**
   * Returns the tweets that `next` has returned, except for the last one. Each repetition of the recording is a
   * separate group.
   */
  repetitions(): Iterable<Tweet>[]
}

function steadyStream({ tweetAt, perRepetition }: RepeatedTweets, rate: number, startAt: number): SteadyStream {
  let number = 0
  function at(each: number): number {
    return Math.floor(startAt + (each * MS_PER_SECOND) / rate)
  }
  function* tweets(from: number, to: number): Generator<Tweet> {
    for (let each = from; each < to; each++) yield tweetAt(each, at(each))
  }
  return {
    next() {
      const each = number++
      return { at: at(each), tweet: tweetAt(each, at(each)) }
    },
    repetitions() {
      // `measureFreshness` requests each tweet before the tweet is due, so it has not sent the last one.
      const sent = number - 1
      return Array.from({ length: Math.ceil(sent / perRepetition) }, (_, index) =>
        tweets(index * perRepetition, Math.min(sent, (index + 1) * perRepetition)),
      )
    },
  }
}

/** Reads the list of each region repeatedly, and keeps the maximum age of a list. Skips regions without a list. */
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
  // If the measurement fails, nothing calls `stop`, and the API is stopped. The reads then fail as well, but their
  // error must not hide the error of the measurement.
  watching.catch(() => undefined)
  return {
    async stop() {
      running = false
      await watching
      return oldestMs
    },
  }
}
