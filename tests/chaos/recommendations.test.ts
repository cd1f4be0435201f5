import { afterAll, beforeAll, test } from 'vitest'
import { drawPlan, RECOMMENDATION_FAULTS } from './recommendations/plan.ts'
import { keepRecommendationsLogs, playRound } from './recommendations/round.ts'
import { type RecommendationsSystem, recommendationsSystem } from './recommendations/system.ts'
import { announce, chosenFaults, playRounds, SETUP_TIMEOUT_MS, say, settings } from './rounds.ts'

const { rounds } = settings
const ROUND_TIMEOUT_MS = 600_000
const WORKERS = 2
const USERS = 12
/** Number of calls per second. */
const RATE = 20

const faults = chosenFaults(RECOMMENDATION_FAULTS)

let system: RecommendationsSystem

beforeAll(async () => {
  announce()
  system = await recommendationsSystem({ workerCount: WORKERS, hasOwnClickhouse: true })
}, SETUP_TIMEOUT_MS)

afterAll(() => system?.finish(), SETUP_TIMEOUT_MS)

test(
  `in ${rounds} rounds of kills, stops and an emptied Redis, features, item signals and tables agree with the log, and no list shows an item that the features of this list mark as watched`,
  () =>
    playRounds((seed) => drawPlan(seed, { users: USERS, rate: RATE, faults }), {
      name: 'recommendations',
      play: (plan, number) => playRound(system, { plan, number, judgesTrending: true }, say),
      keepLogs: (target) => keepRecommendationsLogs(system, target),
    }),
  rounds * ROUND_TIMEOUT_MS,
)
