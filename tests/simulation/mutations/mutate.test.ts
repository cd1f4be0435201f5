import { afterAll, beforeAll, expect, test } from 'vitest'
import { type MutatedSources, mutatedSources, mutations } from './mutate.ts'

/** Time limit. A plan takes a second or two on an idle machine. */
const TIMEOUT_MS = 400_000

let sources: MutatedSources
beforeAll(() => {
  sources = mutatedSources()
})
afterAll(() => sources.delete())

test.each(mutations())('the simulation detects the mutation %s', { timeout: TIMEOUT_MS }, (name) => {
  const cure = `The plan no longer reveals the mutation. Run: node tests/simulation/mutations/renew.ts ${name}`
  expect(sources.run(name), cure).toMatch(/^seed \d+/m)
})
