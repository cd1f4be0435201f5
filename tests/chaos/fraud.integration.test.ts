import { afterAll, beforeAll, test } from 'vitest'
import { type FraudSystem, fraudSystem } from '../api/fraud/system.ts'
import { AT_FIRST_TRY } from '../stack/index.ts'
import { APIS, drawPlan, type FraudFaultKind } from './fraud/plan.ts'
import { keepFraudLogs, playRound } from './fraud/round.ts'
import { playShortRound, SETUP_TIMEOUT_MS, say } from './rounds.ts'

/** Time limit of the round. The round normally takes 30 s, and each wait within it has its own limit. */
const ROUND_TIMEOUT_MS = 420_000
const SEED = 1
/** Number of payments per second. Two slow cores can score no more while other tests or programs run. */
const RATE = 20
/**
 * Maximum number of planned requests in progress. A machine that cannot score `RATE` payments a second falls behind the
 * plan. Without this maximum, it would answer later and later, until requests reach the client's time limit.
 */
const MOST_IN_PROGRESS = 48
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

test('while Kafka, Redis, workers, models and APIs are killed or stopped and Redis is emptied, every payment is scored and counts once', {
  ...AT_FIRST_TRY,
  timeout: ROUND_TIMEOUT_MS,
}, async () => {
  const prefix = `s${SEED}`
  const plan = drawPlan(SEED, { rate: RATE, faults: FAULTS, prefix })
  const rounds = {
    name: 'fraud',
    // Response times on a busy machine say nothing about the code. `npm run test:chaos -- --fraud` limits them.
    play: () => playRound(system, { plan, prefix, mostInProgress: MOST_IN_PROGRESS }, say),
    keepLogs: (target: string) => keepFraudLogs(system, target),
  }
  await playShortRound(rounds, plan)
})
