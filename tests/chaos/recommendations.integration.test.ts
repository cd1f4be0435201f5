import { afterAll, beforeAll, test } from 'vitest'
import { AT_FIRST_TRY } from '../stack/index.ts'
import { drawPlan, type RecommendationFaultKind } from './recommendations/plan.ts'
import { keepRecommendationsLogs, playRound } from './recommendations/round.ts'
import { type RecommendationsSystem, recommendationsSystem } from './recommendations/system.ts'
import { playShortRound, SETUP_TIMEOUT_MS, say } from './rounds.ts'

/** Time limit of the round. The round normally takes 20 s, and each wait within it has its own limit. */
const ROUND_TIMEOUT_MS = 420_000
const SEED = 1
const USERS = 6
/** Number of calls per second. */
const RATE = 15
const FAULTS: readonly RecommendationFaultKind[] = ['outage-emptied', 'redis-emptied', 'worker-killed', 'api-killed']

let system: RecommendationsSystem

beforeAll(async () => {
  system = await recommendationsSystem({ workerCount: 1, hasOwnClickhouse: false })
}, SETUP_TIMEOUT_MS)

afterAll(() => system?.finish(), SETUP_TIMEOUT_MS)

test('with an outage, an emptied Redis, a killed API and a killed worker, features and item signals agree with the log, and lists are right', {
  ...AT_FIRST_TRY,
  timeout: ROUND_TIMEOUT_MS,
}, async () => {
  const plan = drawPlan(SEED, { users: USERS, rate: RATE, faults: FAULTS })
  const rounds = {
    name: 'recommendations',
    play: () => playRound(system, { plan, number: 0, judgesTrending: false }, say),
    keepLogs: (target: string) => keepRecommendationsLogs(system, target),
  }
  await playShortRound(rounds, plan)
})
