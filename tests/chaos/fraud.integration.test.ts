import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFailed, test } from 'vitest'
import { type FraudSystem, fraudSystem } from '../api/fraud/system.ts'
import { AT_FIRST_TRY } from '../stack/index.ts'
import { chaosHome } from './config.ts'
import { APIS, drawPlan, type FraudFaultKind } from './fraud/plan.ts'
import { keepFraudLogs, playRound } from './fraud/round.ts'
import { keepEvidence } from './judge.ts'

const SETUP_TIMEOUT_MS = 240_000
/** Time limit of the round. The round normally takes 30 s, and each wait within it has its own limit. */
const ROUND_TIMEOUT_MS = 420_000
const SEED = 1
/** Payments per second: as many as two cores can handle while all other tests run. */
const RATE = 30
/**
 * Other tests keep the machine busy. These limits therefore apply to the difference between the time of a score and
 * that of a trivial request. An API that waits for a missing part exceeds the limits, because a fault affects more than
 * 1 % of the payments.
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

test('with an outage, an emptied and a stopped Redis, and killed workers, models and APIs, every payment is scored and counts once', {
  ...AT_FIRST_TRY,
  timeout: ROUND_TIMEOUT_MS,
}, async () => {
  const folder = join(chaosHome(), `fraud-short-${SEED}`)
  onTestFailed(async () => {
    process.stderr.write(`chaos: logs: ${await keepFraudLogs(system, join(folder, 'logs'))}\n`)
  })
  const prefix = `s${SEED}`
  const plan = drawPlan(SEED, { rate: RATE, faults: FAULTS, prefix })
  const say = (text: string) => process.stderr.write(`chaos: ${text}\n`)
  const result = await playRound(system, { plan, prefix, limits: LIMITS }, say)
  say(result.summary)
  if (result.faults.length > 0) keepEvidence(join(folder, 'evidence.json'), result, plan)
  expect(result.faults).toEqual([])
})
