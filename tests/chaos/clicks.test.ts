import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { seededRandom } from '../../tools/random/random.ts'
import { clickOrdeal } from '../api/links/click-ordeal.ts'
import { type Counting, startCounting } from '../api/links/counting.ts'
import { type LinksSystem, startLinksSystem } from '../api/links/system.ts'
import { chaosHome } from './config.ts'
import { keepLines } from './keep-logs.ts'
import { announce, SETUP_TIMEOUT_MS, say, settings } from './rounds.ts'

const { seed, rounds, parts } = settings
const ROUND_TIMEOUT_MS = 300_000
/**
 * Time limit of the test that fills the buffer. It is long because the test sends a hundred thousand visits, perhaps on
 * a busy machine.
 */
const FULL_TIMEOUT_MS = 600_000
/** Longest delay before a part is killed or stopped. */
const WITHIN_MS = 1_000
/**
 * Number of requests that each visitor sends while a part is down. A visitor waits for each response before the next
 * request.
 */
const VISITS = 50

let system: LinksSystem
let counting: Counting

beforeAll(async () => {
  announce()
  system = await startLinksSystem()
  counting = await startCounting(system)
}, SETUP_TIMEOUT_MS)

afterEach(async ({ task }) => {
  if (task.result?.state !== 'fail') return
  const processes = { counting: counting.worker, deciding: system.worker, api0: system.apis[0], api1: system.apis[1] }
  const kept = await keepLines(system.folder.path, processes, join(chaosHome(), `clicks-${seed}`))
  say(`logs: ${kept}`)
})

afterAll(async () => {
  await system?.folder.finish()
}, SETUP_TIMEOUT_MS)

test(
  `in ${rounds} rounds of kills, no redirect fails while Redis runs, and each click in the log is counted exactly once`,
  async () => {
    const random = seededRandom(seed)
    for (let round = 1; round <= rounds; round++) {
      const ordeal = await clickOrdeal(system, counting)
      const incidents: Readonly<Record<string, () => Promise<void>>> = {
        async kafka() {
          await system.kafka.kill()
          await ordeal.visits(VISITS)
          await system.kafka.start()
        },
        async stopped() {
          process.kill(system.kafka.pid as number, 'SIGSTOP')
          try {
            await ordeal.visits(VISITS)
          } finally {
            process.kill(system.kafka.pid as number, 'SIGCONT')
          }
        },
        async counting() {
          await counting.worker.kill()
          await ordeal.visits(VISITS)
          await counting.worker.restart()
        },
        async deciding() {
          await system.worker.kill()
          await ordeal.visits(VISITS)
          await system.worker.restart()
        },
        async clickhouse() {
          await counting.clickhouse.kill()
          await ordeal.visits(VISITS)
          await counting.clickhouse.start()
        },
        redis: () =>
          ordeal.withoutRedis(async () => {
            await system.redis!.kill()
            await system.redis!.start()
          }),
      }
      const order = (parts ?? Object.keys(incidents)).map((name) => ({ name, at: random() })).sort((one, other) => one.at - other.at)
      for (const { name } of order) {
        await ordeal.visits(1)
        await delay(random() * WITHIN_MS)
        await incidents[name]()
      }
      const { visits } = await ordeal.finish()
      say(`round ${round} of ${rounds} is over: ${visits} visits; ${order.map(({ name }) => name).join(', ')}`)
    }
  },
  rounds * ROUND_TIMEOUT_MS,
)

test(
  'while Kafka is stopped until the buffer is full, redirects work, and each click is reported as dropped or counted once',
  async () => {
    const ordeal = await clickOrdeal(system, counting, { visitorsPerApi: 32 })
    process.kill(system.kafka.pid as number, 'SIGSTOP')
    try {
      while ((await ordeal.dropped()) === 0) await ordeal.visits(VISITS)
      await ordeal.visits(VISITS)
    } finally {
      process.kill(system.kafka.pid as number, 'SIGCONT')
    }
    const { visits, dropped } = await ordeal.finish()
    say(`${visits} visits, ${dropped} clicks dropped`)
    expect(dropped).toBeGreaterThan(0)
  },
  FULL_TIMEOUT_MS,
)
