import { afterAll, beforeAll, expect, test } from 'vitest'
import { seededRandom } from '../../tools/random/random.ts'
import { limitsOrdeal, REDIS_FAULTS } from '../api/limits/ordeal.ts'
import { type LimitsSystem, startLimitsSystem } from '../api/limits/system.ts'
import { announce, SETUP_TIMEOUT_MS, say, settings } from './rounds.ts'

const { seed, rounds } = settings
/** Time limit of one fault and the recovery on a busy machine. */
const FAULT_TIMEOUT_MS = 120_000

let system: LimitsSystem

beforeAll(async () => {
  announce()
  system = await startLimitsSystem()
}, SETUP_TIMEOUT_MS)

afterAll(async () => {
  await system?.folder.finish()
}, SETUP_TIMEOUT_MS)

test(
  `in ${rounds} rounds in which Redis is killed, stopped, emptied and slow under load, no answer is wrong, and limits apply again after each fault`,
  async () => {
    const random = seededRandom(seed)
    const ordeal = await limitsOrdeal(system, random)
    for (let round = 1; round <= rounds; round++) {
      const faults = REDIS_FAULTS.map((fault) => ({ fault, at: random() })).sort((one, other) => one.at - other.at)
      for (const { fault } of faults) await ordeal.suffer(fault)
      say(`round ${round} of ${rounds} is over: ${faults.map(({ fault }) => fault).join(', ')}`)
    }
    const { wrong, answers } = await ordeal.finish()
    say(`${answers} answers, ${wrong.length} wrong`)
    expect(wrong).toEqual([])
  },
  rounds * REDIS_FAULTS.length * FAULT_TIMEOUT_MS,
)
