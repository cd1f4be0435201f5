import { afterAll, beforeAll, test } from 'vitest'
import { type MatchesSystem, matchesSystem } from '../api/matches/system.ts'
import { APIS, drawPlan, MATCH_FAULTS } from './matches/plan.ts'
import { keepMatchesLogs, playRound } from './matches/round.ts'
import { announce, chosenFaults, playRounds, SETUP_TIMEOUT_MS, say, settings } from './rounds.ts'

const { rounds } = settings
const ROUND_TIMEOUT_MS = 420_000
const USERS = 20
/** Number of additional users who delete their profiles. */
const LEAVERS = 4
const WORKERS = 2
/** Time limits with which some swipes wait for Kafka, others go to the spool, and some are accepted unchecked. */
const ENV = { SWIPE_WAIT_MS: '60', SWIPE_CHECK_MS: '100', ERASE_WITHIN_SECONDS: '20' }

const faults = chosenFaults(MATCH_FAULTS)

let system: MatchesSystem

beforeAll(async () => {
  announce()
  system = await matchesSystem({ apiCount: APIS, workerCount: WORKERS, isPartitioned: true, env: ENV })
}, SETUP_TIMEOUT_MS)

afterAll(() => system?.folder.finish(), SETUP_TIMEOUT_MS)

test(
  `in ${rounds} rounds of kills, stops and an emptied Redis, every accepted swipe counts once and matches agree with the log`,
  () =>
    playRounds((seed) => drawPlan(seed, { users: USERS, leavers: LEAVERS, faults }), {
      name: 'matches',
      play: (plan, number) => playRound(system, plan, number, say),
      keepLogs: (target) => keepMatchesLogs(system, target),
    }),
  rounds * ROUND_TIMEOUT_MS,
)
