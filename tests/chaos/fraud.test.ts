import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type FraudSystem, fraudSystem } from '../api/fraud/system.ts'
import { chaosConfig, chaosHome } from './config.ts'
import { APIS, drawPlan, FRAUD_FAULTS, type FraudFaultKind } from './fraud/plan.ts'
import { keepFraudLogs, playRound } from './fraud/round.ts'
import { keepEvidence } from './judge.ts'

const { seed, rounds, parts } = chaosConfig()
const SETUP_TIMEOUT_MS = 240_000
const ROUND_TIMEOUT_MS = 600_000
/** Payments per second. */
const RATE = 200
const LIMITS = { p99Ms: 100, mostMs: 1_000, isWhole: true }

const unknown = (parts ?? []).filter((part) => !FRAUD_FAULTS.includes(part as FraudFaultKind))
if (unknown.length > 0) throw new Error(`CHAOS_PARTS has ${unknown.join(', ')}; choose from ${FRAUD_FAULTS.join(', ')}`)
const faults = (parts as readonly FraudFaultKind[] | undefined) ?? FRAUD_FAULTS

let system: FraudSystem

beforeAll(async () => {
  process.stderr.write(`chaos: CHAOS_SEED=${seed} CHAOS_ROUNDS=${rounds}\n`)
  system = await fraudSystem({ apiCount: APIS, isSplit: true })
}, SETUP_TIMEOUT_MS)

afterAll(() => system?.folder.finish(), SETUP_TIMEOUT_MS)

const say = (text: string) => process.stderr.write(`chaos: ${text}\n`)

test(
  `in ${rounds} rounds of faults, every payment is scored in time, counts once, and decisions, profiles and cases follow from the log`,
  async () => {
    const failed: Record<string, readonly string[]> = {}
    for (let round = 0; round < rounds; round++) {
      const prefix = `s${seed + round}-${round}`
      const plan = drawPlan(seed + round, { rate: RATE, faults, prefix })
      say(`seed ${plan.seed}: ${plan.faults.map(({ kind, overlaps }) => (overlaps ? `+${kind}` : kind)).join(', ')}`)
      const result = await playRound(system, { plan, prefix, limits: LIMITS }, say).catch(async (error: Error) => {
        // Saving the logs may fail as well, and must not hide the original error.
        say(`seed ${plan.seed}: ${error.stack}`)
        await keep(plan.seed)
        throw error
      })
      say(`seed ${plan.seed}: ${result.faults.length} faults; ${result.summary}`)
      if (result.faults.length === 0) continue
      keepEvidence(join(await keep(plan.seed), 'evidence.json'), result, plan)
      failed[`seed ${plan.seed}`] = result.faults
    }
    expect(failed).toEqual({})
  },
  rounds * ROUND_TIMEOUT_MS,
)

async function keep(failed: number): Promise<string> {
  const kept = await keepFraudLogs(system, join(chaosHome(), `fraud-${failed}`))
  say(`logs: ${kept}`)
  return kept
}
