import { afterAll, beforeAll, expect, test } from 'vitest'
import { demoStream } from '../../tools/demo/trends/stream.ts'
import { seededRandom } from '../../tools/random/random.ts'
import { leaveAndComeBack, type Ordeal, ordeal, randomMoment } from './kills.ts'
import { type System, startSystem } from './system.ts'

/** Which moments, and which tweets; tests/chaos has many others. */
const SEED = 20260115
const TWEETS_PER_SECOND = 200
/** Between two incidents. */
const WITHIN_MS = 8_000

let system: System
let trial: Ordeal | undefined

beforeAll(async () => {
  system = await startSystem({ workers: 2, apis: 1 })
})

afterAll(async () => {
  await (trial?.finish() ?? system?.finish())
})

test('worker, broker and Redis are killed, a worker leaves and comes back: every published list is right', async () => {
  const random = seededRandom(SEED)
  const stream = demoStream({ seed: SEED, rate: TWEETS_PER_SECOND, startAt: Date.now() })
  const running = ordeal(system, (text) => process.stderr.write(`kills.test.ts: ${text}\n`), stream.next)
  trial = running
  for (const victim of [system.workers[0], system.redis, system.kafka]) {
    await randomMoment(random, WITHIN_MS)
    await running.kill(victim)
  }
  await randomMoment(random, WITHIN_MS)
  await leaveAndComeBack(system.workers[1])
  await running.endInput()
  // Also what was never acknowledged is in the log before the last window is due.
  await running.checkPublished()
  const windowEnd = await running.nextWindow({ wholeMinute: true })
  await running.checkPublished()
  expect(running.isExact(windowEnd)).toBe(true)
  await running.checkTable()
})

test('Redis is emptied: readers are told to wait, and get the same lists again', async () => {
  await trial?.flushRedis()
})
