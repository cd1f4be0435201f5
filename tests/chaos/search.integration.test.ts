import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFailed, test } from 'vitest'
import { AT_FIRST_TRY } from '../stack/index.ts'
import { chaosHome } from './config.ts'
import { keepLines } from './keep-logs.ts'
import { SETUP_TIMEOUT_MS, say } from './rounds.ts'
import type { SearchFaultKind } from './search/faults.ts'
import { playRound } from './search/round.ts'
import { type SearchSystem, searchSystem } from './search/system.ts'

/** Time limit of the round, which normally takes half a minute. */
const ROUND_TIMEOUT_MS = 300_000
const SEED = 1
const FAULTS: readonly SearchFaultKind[] = ['search-killed', 'builder-killed', 'index-wiped']

let system: SearchSystem

beforeAll(async () => {
  system = await searchSystem()
}, SETUP_TIMEOUT_MS)

afterAll(() => system?.finish(), SETUP_TIMEOUT_MS)

test('while the search server and the worker that builds the index are killed and the index is deleted, every complete answer has all unchanged products and no deleted ones, and the index agrees with the log', {
  ...AT_FIRST_TRY,
  timeout: ROUND_TIMEOUT_MS,
}, async () => {
  onTestFailed(async () => {
    const [first, second] = system.workers
    const kept = await keepLines(system.folder.path, { first, second }, join(chaosHome(), `search-short-${SEED}`))
    say(`logs: ${kept}`)
  })
  const { faults, summary } = await playRound(system, SEED, FAULTS, say)
  say(summary)
  expect(faults).toEqual([])
})
