import { afterAll, beforeAll, test } from 'vitest'
import { type MatchesSystem, matchesSystem } from '../api/matches/system.ts'
import { AT_FIRST_TRY } from '../stack/index.ts'
import { APIS, drawPlan, type MatchFaultKind } from './matches/plan.ts'
import { keepMatchesLogs, playRound } from './matches/round.ts'
import { playShortRound, SETUP_TIMEOUT_MS, say, settings } from './rounds.ts'

/** Time limit of the round. The round normally takes 30 s, and each wait within it has its own limit. */
const ROUND_TIMEOUT_MS = 420_000
/** Seed of the round. The environment can set a different seed. */
const SEED = process.env.CHAOS_SEED === undefined ? 1 : settings.seed
const USERS = 10
/** Number of additional users who delete their profiles. One of them returns. */
const LEAVERS = 2
const WORKERS = 2
const FAULTS: readonly MatchFaultKind[] = ['outage', 'redis-emptied', 'worker-killed', 'api-stopped']
/** Short time limits, so that some swipes wait for Kafka, others go to the spool, and some are accepted unchecked. */
const ENV = { SWIPE_WAIT_MS: '60', SWIPE_CHECK_MS: '100', ERASE_WITHIN_SECONDS: '20' }

let system: MatchesSystem

beforeAll(async () => {
  system = await matchesSystem({ apiCount: APIS, workerCount: WORKERS, isPartitioned: true, env: ENV })
}, SETUP_TIMEOUT_MS)

afterAll(() => system?.folder.finish(), SETUP_TIMEOUT_MS)

test('while Kafka, Redis, workers and APIs fail, every accepted swipe counts once and matches agree with the log', {
  ...AT_FIRST_TRY,
  timeout: ROUND_TIMEOUT_MS,
}, async () => {
  const plan = drawPlan(SEED, { users: USERS, leavers: LEAVERS, faults: FAULTS })
  const rounds = {
    name: 'matches',
    play: () => playRound(system, plan, 0, say),
    keepLogs: (target: string) => keepMatchesLogs(system, target),
  }
  await playShortRound(rounds, plan)
})
