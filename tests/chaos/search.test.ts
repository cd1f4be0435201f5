import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Random, seededRandom } from '../../tools/random/random.ts'
import { chaosHome } from './config.ts'
import { keepLines } from './keep-logs.ts'
import { announce, chosenFaults, SETUP_TIMEOUT_MS, say, settings } from './rounds.ts'
import { SEARCH_FAULTS, type SearchFaultKind } from './search/faults.ts'
import { playRound } from './search/round.ts'
import { type SearchSystem, searchSystem } from './search/system.ts'
import { noSmallDisk } from './small-disk.ts'

const { seed, rounds } = settings
const ROUND_TIMEOUT_MS = 420_000

const kinds = chosenFaults(SEARCH_FAULTS)

let system: SearchSystem

/** Returns the chosen kinds of faults in a random order. */
function shuffled(random: Random): SearchFaultKind[] {
  return kinds
    .map((kind) => ({ kind, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ kind }) => kind)
}

beforeAll(async () => {
  announce()
  const reason = noSmallDisk()
  if (reason !== undefined && kinds.includes('disk-full')) say(`the fault disk-full has no effect: ${reason}`)
  system = await searchSystem()
}, SETUP_TIMEOUT_MS)

afterAll(() => system?.finish(), SETUP_TIMEOUT_MS)

test(
  `in ${rounds} rounds of faults, every complete answer has all unchanged products and no deleted ones, and the index agrees with the log`,
  async () => {
    const failed: Record<string, readonly string[]> = {}
    for (let round = seed; round < seed + rounds; round++) {
      const { faults, summary } = await playRound(system, round, shuffled(seededRandom(round)), say)
      say(`seed ${round}: ${faults.length} faults; ${summary}`)
      if (faults.length === 0) continue
      const [first, second] = system.workers
      say(`logs: ${await keepLines(system.folder.path, { first, second }, join(chaosHome(), `search-${round}`))}`)
      failed[`seed ${round}`] = faults
    }
    expect(failed).toEqual({})
  },
  rounds * ROUND_TIMEOUT_MS,
)
