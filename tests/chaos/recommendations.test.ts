import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { chaosConfig, chaosHome } from './config.ts'
import { keepEvidence } from './judge.ts'
import { drawPlan, RECOMMENDATION_FAULTS, type RecommendationFaultKind } from './recommendations/plan.ts'
import { keepRecommendationsLogs, playRound } from './recommendations/round.ts'
import { type RecommendationsSystem, recommendationsSystem } from './recommendations/system.ts'

const { seed, rounds, parts } = chaosConfig()
const SETUP_TIMEOUT_MS = 240_000
const ROUND_TIMEOUT_MS = 600_000
const WORKERS = 2
const USERS = 12
/** Calls per second. */
const RATE = 20

const unknown = (parts ?? []).filter((part) => !RECOMMENDATION_FAULTS.includes(part as RecommendationFaultKind))
if (unknown.length > 0) throw new Error(`CHAOS_PARTS has ${unknown.join(', ')}; choose from ${RECOMMENDATION_FAULTS.join(', ')}`)
const faults = (parts as readonly RecommendationFaultKind[] | undefined) ?? RECOMMENDATION_FAULTS

let system: RecommendationsSystem

beforeAll(async () => {
  process.stderr.write(`chaos: CHAOS_SEED=${seed} CHAOS_ROUNDS=${rounds}\n`)
  system = await recommendationsSystem({ workerCount: WORKERS, hasOwnClickhouse: true })
}, SETUP_TIMEOUT_MS)

afterAll(() => system?.finish(), SETUP_TIMEOUT_MS)

const say = (text: string) => process.stderr.write(`chaos: ${text}\n`)

test(
  `in ${rounds} rounds of kills, stops and an emptied Redis, features, signals and tables follow from the log, and no list shows what was seen`,
  async () => {
    const failed: Record<string, readonly string[]> = {}
    for (let number = 0; number < rounds; number++) {
      const plan = drawPlan(seed + number, { users: USERS, rate: RATE, faults })
      say(`seed ${plan.seed}: ${plan.faults.map(({ kind, overlaps }) => (overlaps ? `+${kind}` : kind)).join(', ')}`)
      const result = await playRound(system, { plan, number, judgesTrending: true }, say).catch(async (error: Error) => {
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
  const kept = await keepRecommendationsLogs(system, join(chaosHome(), `recommendations-${failed}`))
  say(`logs: ${kept}`)
  return kept
}
