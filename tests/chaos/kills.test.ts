import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFailed, test } from 'vitest'
import { demoStream } from '../../tools/demo/trends/stream.ts'
import { seededRandom } from '../../tools/random/random.ts'
import { readRecording, tweetMaker } from '../../tools/replay/recording.ts'
import { expectLabels, leaveAndComeBack, type Ordeal, ordeal, randomMoment } from '../e2e/kills.ts'
import type { LiveEvent } from '../e2e/live-tweets.ts'
import { type Past, pastOf } from '../e2e/past.ts'
import { type System, startSystem } from '../e2e/system.ts'
import { writePast } from '../e2e/write-past.ts'
import { publicData } from '../public-data.ts'
import { chaosHome } from './config.ts'
import { keepLogs } from './keep-logs.ts'
import { announce, say, settings } from './rounds.ts'

const { seed, rounds, parts } = settings
const TWEETS_PER_SECOND = 40
const SECOND_MS = 1_000
const WINDOW_SECONDS = 3_600
/** Usual duration of an incident and of the wait for the next window, on an idle machine. */
const ROUND_SECONDS = 50
/**
 * Added to the ids at each repetition of the recording. It is larger than the difference between any two ids in the
 * recording.
 */
const IDS_PER_ROUND = 100_000_000_000_000_000n
/**
 * Maximum delay before a kill. It equals the renewal interval of lists, so a kill can happen at any point between two
 * renewals.
 */
const WITHIN_MS = 30 * SECOND_MS
/** Time limit of one incident on a busy machine: a kill, the recovery and the next window. */
const ROUND_TIMEOUT_MS = 240_000

let system: System
let past: Past
let trial: Ordeal

beforeAll(async () => {
  announce()
  past = pastOf(await tweetsFromNow(), USUAL_TWEETS, Date.now())
  system = await startSystem({ workers: 2, apis: 2, beforeWorkers: (servers) => writePast(servers, past) })
})

afterAll(async () => {
  await (trial?.finish() ?? system?.finish())
})

/**
 * Returns a function that returns the next tweet. The tweets come from the recording, which is repeated endlessly with
 * new ids. If there is no recording, they come from the demo.
 */
async function tweetsFromNow(): Promise<() => LiveEvent> {
  const file = publicData('tweets')
  const makeTweet = tweetMaker()
  const recorded = file === undefined ? [] : await Array.fromAsync(readRecording(file, () => undefined))
  const startAt = Date.now()
  const gapMs = SECOND_MS / TWEETS_PER_SECOND
  const demo = demoStream({ seed, rate: TWEETS_PER_SECOND, startAt })
  let next = 0
  return function nextEvent() {
    if (recorded.length === 0) return demo.next()
    const at = Math.floor(startAt + next * gapMs)
    const round = BigInt(Math.floor(next / recorded.length))
    const { tweet_id, ...rest } = recorded[next++ % recorded.length]
    return { at, tweet: makeTweet({ ...rest, tweet_id: tweet_id + round * IDS_PER_ROUND }, at) }
  }
}

/**
 * Functions that cause an incident, by its name. Each round calls each of them once. The number of the round determines
 * which of the workers or APIs is affected.
 */
const INCIDENTS: Readonly<Record<string, (round: number) => Promise<void>>> = {
  worker: (round) => trial.kill(system.workers[round % system.workers.length]),
  kafka: () => trial.kill(system.kafka),
  redis: () => trial.kill(system.redis),
  clickhouse: () => trial.kill(system.clickhouse),
  registry: () => trial.kill(system.registry),
  api: (round) => trial.kill(system.apis[round % system.apis.length]),
  views: () => trial.flushRedis(),
  leave: (round) => leaveAndComeBack(system.workers[round % system.workers.length]),
}
const names = parts ?? Object.keys(INCIDENTS)
/** Approximate number of tweets in the last window. The usual counts of terms are derived from this number. */
const USUAL_TWEETS = TWEETS_PER_SECOND * Math.min(WINDOW_SECONDS, rounds * names.length * ROUND_SECONDS)

test(
  `in ${rounds} rounds of kills and other incidents, every published list is right, and so is the table of snapshots`,
  async () => {
    onTestFailed(async () => {
      const kept = await keepLogs(system, join(chaosHome(), `trends-${seed}`))
      say(`logs: ${kept}`)
    })
    const random = seededRandom(seed)
    trial = ordeal(system, say, await tweetsFromNow(), past)
    await trial.nextWindow()
    for (let round = 1; round <= rounds; round++) {
      for (const name of names) {
        await randomMoment(random, WITHIN_MS)
        await INCIDENTS[name](round)
        await trial.nextWindow()
        await trial.checkPublished()
        await trial.checkAgreement()
      }
      await trial.checkTable()
      say(`round ${round} of ${rounds} is over`)
    }
    await trial.endInput()
    // This check reads the log before the next window is due. A record without a time of acknowledgement, such as the
    // second record of a tweet that was sent twice, counts as acknowledged when a check first reads it. If that
    // happened after the window was due, `isExact` would be false.
    await trial.checkPublished()
    const windowEnd = await trial.nextWindow({ wholeMinute: true })
    await trial.checkPublished()
    expect(trial.isExact(windowEnd)).toBe(true)
    expectLabels(trial.labels(windowEnd))
    await trial.checkTable()
    await trial.flushRedis()
  },
  (rounds * names.length + 2) * ROUND_TIMEOUT_MS,
)
