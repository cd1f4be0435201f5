import { afterAll, beforeAll, expect, test } from 'vitest'
import { demoStream } from '../../tools/demo/trends/stream.ts'
import { seededRandom } from '../../tools/random/random.ts'
import { AT_FIRST_TRY } from '../stack/index.ts'
import { expectLabels, leaveAndComeBack, type Ordeal, ordeal, randomMoment } from './kills.ts'
import { type Past, pastOf } from './past.ts'
import { type System, startSystem } from './system.ts'
import { writePast } from './write-past.ts'

/** Seed for the tweets and the times of the kills. tests/chaos runs many other seeds. */
const SEED = 20260115
const TWEETS_PER_SECOND = 200
/**
 * Approximate number of events that are sent until the last kill. The usual counts of terms are derived from this
 * number.
 */
const USUAL_EVENTS = 5_000
/** Upper bound for the random pause between two incidents. */
const WITHIN_MS = 8_000

let system: System
let past: Past
let trial: Ordeal | undefined

const streamFromNow = () => demoStream({ seed: SEED, rate: TWEETS_PER_SECOND, startAt: Date.now() })

beforeAll(async () => {
  past = pastOf(streamFromNow().next, USUAL_EVENTS, Date.now())
  system = await startSystem({ workers: 2, apis: 1, beforeWorkers: (servers) => writePast(servers, past) })
})

afterAll(async () => {
  await (trial?.finish() ?? system?.finish())
})

test(
  'all published lists are correct even if a worker, the broker and Redis are killed and a worker leaves and returns',
  AT_FIRST_TRY,
  async () => {
    const random = seededRandom(SEED)
    const running = ordeal(system, (text) => process.stderr.write(`kills.test.ts: ${text}\n`), streamFromNow().next, past)
    trial = running
    for (const victim of [system.workers[0], system.redis, system.kafka]) {
      await randomMoment(random, WITHIN_MS)
      await running.kill(victim)
    }
    await randomMoment(random, WITHIN_MS)
    await leaveAndComeBack(system.workers[1])
    await running.endInput()
    // This check reads the log before the next window is due. A record without a time of acknowledgement, such as the
    // second record of a tweet that was sent twice, counts as acknowledged when a check first reads it. If that
    // happened after the window was due, `isExact` would be false.
    await running.checkPublished()
    const windowEnd = await running.nextWindow({ wholeMinute: true })
    await running.checkPublished()
    expect(running.isExact(windowEnd)).toBe(true)
    expectLabels(running.labels(windowEnd))
    await running.checkTable()
  },
)

test('after Redis is emptied, readers get an error until the same or newer lists are back', async () => {
  await trial!.flushRedis()
})
