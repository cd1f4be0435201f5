import { afterAll, beforeAll, expect, test } from 'vitest'
import { type MutatedSources, mutatedSources, mutations } from './mutate.ts'

/**
 * If the stored plan no longer reveals the mutation, the test tries up to this many seeds. Hundreds of seeds may not be
 * enough to reveal a rare mutation.
 */
const SEEDS = 2_000
/** Time limit. Running all seeds takes about two minutes of CPU time. */
const TIMEOUT_MS = 400_000

let sources: MutatedSources
beforeAll(() => {
  sources = mutatedSources()
})
afterAll(() => sources.delete())

test.each(mutations())('the simulation detects the mutation %s', { timeout: TIMEOUT_MS }, (name) => {
  expect(sources.run(name, SEEDS)).toMatch(/^seed \d+/m)
})
