import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFailed, test } from 'vitest'
import { type MatchesSystem, matchesSystem } from '../api/matches/system.ts'
import { AT_FIRST_TRY } from '../stack/index.ts'
import { chaosConfig, chaosHome } from './config.ts'
import { keepEvidence } from './judge.ts'
import { keepLines } from './keep-logs.ts'
import { APIS, drawPlan, type MatchFaultKind } from './matches/plan.ts'
import { playRound } from './matches/round.ts'

const SETUP_TIMEOUT_MS = 240_000
/** Time limit of the round. The round normally takes 30 s, and each wait within it has its own limit. */
const ROUND_TIMEOUT_MS = 420_000
/** Seed of the round. The environment can set a different seed. */
const SEED = process.env.CHAOS_SEED === undefined ? 1 : chaosConfig().seed
const USERS = 10
/** Number of additional users, who delete their profiles. One of them returns. */
const LEAVERS = 2
const WORKERS = 2
const FAULTS: readonly MatchFaultKind[] = ['outage', 'redis-emptied', 'worker-killed', 'api-stopped']
/** The waits are short, so that some swipes wait for Kafka, others go to the spool, and some are accepted unchecked. */
const ENV = { SWIPE_WAIT_MS: '60', SWIPE_CHECK_MS: '100', ERASE_WITHIN_SECONDS: '20' }

let system: MatchesSystem

beforeAll(async () => {
  system = await matchesSystem({ apiCount: APIS, workerCount: WORKERS, isPartitioned: true, env: ENV })
}, SETUP_TIMEOUT_MS)

afterAll(() => system?.folder.finish(), SETUP_TIMEOUT_MS)

test('with an outage, an emptied Redis, a killed API and worker, every accepted swipe counts once and matches follow from the log', {
  ...AT_FIRST_TRY,
  timeout: ROUND_TIMEOUT_MS,
}, async () => {
  const folder = join(chaosHome(), `matches-short-${SEED}`)
  onTestFailed(async () => {
    const processes = {
      ...Object.fromEntries(system.workers.map((worker, index) => [`worker${index}`, worker])),
      ...Object.fromEntries(system.apis.map((api, index) => [`api${index}`, api])),
    }
    process.stderr.write(`chaos: logs: ${await keepLines(system.folder.path, processes, join(folder, 'logs'))}\n`)
  })
  const plan = drawPlan(SEED, { users: USERS, leavers: LEAVERS, faults: FAULTS })
  const result = await playRound(system, plan, 0, (text) => process.stderr.write(`chaos: ${text}\n`))
  if (result.faults.length > 0) keepEvidence(join(folder, 'evidence.json'), result, plan)
  expect(result.faults).toEqual([])
})
