import { afterAll, beforeAll, test } from 'vitest'
import { type FraudSystem, fraudSystem } from '../api/fraud/system.ts'
import { APIS, drawPlan, FRAUD_FAULTS } from './fraud/plan.ts'
import { keepFraudLogs, playRound } from './fraud/round.ts'
import { announce, chosenFaults, playRounds, SETUP_TIMEOUT_MS, say, settings } from './rounds.ts'

const { rounds } = settings
const ROUND_TIMEOUT_MS = 600_000
/** Number of payments per second. */
const RATE = 200
const LIMITS = { p99Ms: 100, mostMs: 1_000 }

const faults = chosenFaults(FRAUD_FAULTS)

let system: FraudSystem

beforeAll(async () => {
  announce()
  system = await fraudSystem({ apiCount: APIS, isSplit: true })
}, SETUP_TIMEOUT_MS)

afterAll(() => system?.folder.finish(), SETUP_TIMEOUT_MS)

test(
  `in ${rounds} rounds of faults, every payment is scored in time and counts once, and decisions, profiles and cases agree with the log`,
  () =>
    playRounds((seed, number) => drawPlan(seed, { rate: RATE, faults, prefix: prefixOf(seed, number) }), {
      name: 'fraud',
      play: (plan, number) => playRound(system, { plan, prefix: prefixOf(plan.seed, number), limits: LIMITS }, say),
      keepLogs: (target) => keepFraudLogs(system, target),
    }),
  rounds * ROUND_TIMEOUT_MS,
)

/** Returns the prefix with which the ids of a round's transactions begin. */
function prefixOf(seed: number, number: number): string {
  return `s${seed}-${number}`
}
