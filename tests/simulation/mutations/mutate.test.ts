import { afterAll, beforeAll, expect, test } from 'vitest'
import { type MutatedSources, mutatedSources, mutations } from './mutate.ts'

/** Each mutation is caught by one of the first 130 seeds today. Seeds change their meaning with the code. */
const SEEDS = 600
const TIMEOUT_MS = 120_000

let sources: MutatedSources
beforeAll(() => {
  sources = mutatedSources()
})
afterAll(() => sources.delete())

test.each(mutations())('the simulation sees %s', { timeout: TIMEOUT_MS }, (name) => {
  expect(sources.run(name, SEEDS)).toMatch(/^seed \d+/)
})
