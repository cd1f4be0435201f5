import { afterAll, beforeAll, test } from 'vitest'
import { type FraudSystem, fraudSystem } from '../api/fraud/system.ts'
import { AT_FIRST_TRY } from '../stack/index.ts'
import { APIS, drawPlan, type FraudFaultKind } from './fraud/plan.ts'
import { keepFraudLogs, playRound } from './fraud/round.ts'
import { playShortRound, SETUP_TIMEOUT_MS, say } from './rounds.ts'

/** Time limit of the round. The round normally takes 30 s, and each wait within it has its own limit. */
const ROUND_TIMEOUT_MS = 420_000
const SEED = 1
/** Number of payments per second. Two cores can handle no more while all other tests run. */
const RATE = 30
/**
 * Limits for response times. Other tests keep the machine busy, so the check subtracts the time of a trivial request
 * from each scoring time, and the limits grow with the median. An API that waits for a missing part still exceeds the
 * limits, because a fault affects more than 1 % of the payments.
 */
const LIMITS = { p99Ms: 500, mostMs: 2_000, isWhole: false }
const FAULTS: readonly FraudFaultKind[] = [
  'outage',
  'redis-emptied',
  'redis-stopped',
  'bulk-killed',
  'deciding-killed',
  'api-stopped',
  'model-killed',
]

let system: FraudSystem

beforeAll(async () => {
  system = await fraudSystem({ apiCount: APIS, isSplit: true })
}, SETUP_TIMEOUT_MS)

afterAll(() => system?.folder.finish(), SETUP_TIMEOUT_MS)

test('while Kafka, Redis, workers, models and APIs are killed, stopped or emptied, every payment is scored and counts once', {
  ...AT_FIRST_TRY,
  timeout: ROUND_TIMEOUT_MS,
}, async () => {
  const prefix = `s${SEED}`
  const plan = drawPlan(SEED, { rate: RATE, faults: FAULTS, prefix })
  const rounds = {
    name: 'fraud',
    play: () => playRound(system, { plan, prefix, limits: LIMITS }, say),
    keepLogs: (target: string) => keepFraudLogs(system, target),
  }
  await playShortRound(rounds, plan)
})
