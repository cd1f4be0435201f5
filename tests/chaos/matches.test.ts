import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type MatchesSystem, matchesSystem } from '../api/matches/system.ts'
import { chaosConfig, chaosHome } from './config.ts'
import { keepEvidence } from './judge.ts'
import { keepLines } from './keep-logs.ts'
import { APIS, drawPlan, MATCH_FAULTS, type MatchFaultKind } from './matches/plan.ts'
import { playRound } from './matches/round.ts'

const { seed, rounds, parts } = chaosConfig()
const SETUP_TIMEOUT_MS = 240_000
const ROUND_TIMEOUT_MS = 420_000
const USERS = 20
/** Further users, who delete their profiles. */
const LEAVERS = 4
const WORKERS = 2
/** The waits are short, so that some swipes wait for Kafka, others go to the spool, and some are accepted unchecked. */
const ENV = { SWIPE_WAIT_MS: '60', SWIPE_CHECK_MS: '100', ERASE_WITHIN_SECONDS: '20' }

const unknown = (parts ?? []).filter((part) => !MATCH_FAULTS.includes(part as MatchFaultKind))
if (unknown.length > 0) throw new Error(`CHAOS_PARTS has ${unknown.join(', ')}; choose from ${MATCH_FAULTS.join(', ')}`)
const faults = (parts as readonly MatchFaultKind[] | undefined) ?? MATCH_FAULTS

let system: MatchesSystem

beforeAll(async () => {
  process.stderr.write(`chaos: CHAOS_SEED=${seed} CHAOS_ROUNDS=${rounds}\n`)
  system = await matchesSystem({ apiCount: APIS, workerCount: WORKERS, isPartitioned: true, env: ENV })
}, SETUP_TIMEOUT_MS)

afterAll(() => system?.folder.finish(), SETUP_TIMEOUT_MS)

const say = (text: string) => process.stderr.write(`chaos: ${text}\n`)

test(
  `in ${rounds} rounds of kills, stops and an emptied Redis, every accepted swipe counts once and every match follows from the log`,
  async () => {
    const failed: Record<string, readonly string[]> = {}
    for (let round = 0; round < rounds; round++) {
      const plan = drawPlan(seed + round, { users: USERS, leavers: LEAVERS, faults })
      say(`seed ${plan.seed}: ${plan.faults.map(({ kind, overlaps }) => (overlaps ? `+${kind}` : kind)).join(', ')}`)
      const result = await playRound(system, plan, round, say).catch(async (error: Error) => {
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
  const { workers, apis, folder } = system
  const processes = {
    ...Object.fromEntries(workers.map((worker, index) => [`worker${index}`, worker])),
    ...Object.fromEntries(apis.map((api, index) => [`api${index}`, api])),
  }
  const kept = await keepLines(folder.path, processes, join(chaosHome(), `matches-${failed}`))
  say(`logs: ${kept}`)
  return kept
}
