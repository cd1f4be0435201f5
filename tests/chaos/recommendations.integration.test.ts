import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFailed, test } from 'vitest'
import { AT_FIRST_TRY } from '../stack/index.ts'
import { chaosHome } from './config.ts'
import { keepEvidence } from './judge.ts'
import { drawPlan, type RecommendationFaultKind } from './recommendations/plan.ts'
import { keepRecommendationsLogs, playRound } from './recommendations/round.ts'
import { type RecommendationsSystem, recommendationsSystem } from './recommendations/system.ts'

const SETUP_TIMEOUT_MS = 240_000
/** Time limit of the round. The round normally takes 20 s, and each wait within it has its own limit. */
const ROUND_TIMEOUT_MS = 420_000
const SEED = 1
const USERS = 6
/** Calls per second. */
const RATE = 15
const FAULTS: readonly RecommendationFaultKind[] = ['outage-emptied', 'redis-emptied', 'worker-killed', 'api-killed']

let system: RecommendationsSystem

beforeAll(async () => {
  system = await recommendationsSystem({ workerCount: 1, hasOwnClickhouse: false })
}, SETUP_TIMEOUT_MS)

afterAll(() => system?.finish(), SETUP_TIMEOUT_MS)

test('with an outage, an emptied Redis, a killed API and worker, features and signals follow from the log, and lists are right', {
  ...AT_FIRST_TRY,
  timeout: ROUND_TIMEOUT_MS,
}, async () => {
  const folder = join(chaosHome(), `recommendations-short-${SEED}`)
  onTestFailed(async () => {
    process.stderr.write(`chaos: logs: ${await keepRecommendationsLogs(system, join(folder, 'logs'))}\n`)
  })
  const plan = drawPlan(SEED, { users: USERS, rate: RATE, faults: FAULTS })
  const say = (text: string) => process.stderr.write(`chaos: ${text}\n`)
  const result = await playRound(system, { plan, number: 0, judgesTrending: false }, say)
  say(result.summary)
  if (result.faults.length > 0) keepEvidence(join(folder, 'evidence.json'), result, plan)
  expect(result.faults).toEqual([])
})
