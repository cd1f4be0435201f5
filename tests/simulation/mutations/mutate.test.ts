import { afterAll, beforeAll, expect, test } from 'vitest'
import { type MutatedSources, mutatedSources, mutations } from './mutate.ts'

/**
 * Each mutation is caught by its stored plan today, or by an early seed. When a plan no longer shows its mutation,
 * seeds take its place. The first 600 do not show the two rarest mutations.
 */
const SEEDS = 2_000
/** The seeds take two minutes of CPU. */
const TIMEOUT_MS = 400_000

let sources: MutatedSources
beforeAll(() => {
  sources = mutatedSources()
})
afterAll(() => sources.delete())

test.each(mutations())('the simulation sees %s', { timeout: TIMEOUT_MS }, (name) => {
  expect(sources.run(name, SEEDS)).toMatch(/^seed \d+/)
})
