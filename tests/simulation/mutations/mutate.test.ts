import { afterAll, beforeAll, expect, test } from 'vitest'
import { type MutatedSources, mutatedSources, mutations } from './mutate.ts'

/**
 * Number of seeds that are tried for a mutation whose stored plan no longer shows it. Today the stored plan of each
 * mutation shows it. Hundreds of seeds may not show a rare mutation.
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
