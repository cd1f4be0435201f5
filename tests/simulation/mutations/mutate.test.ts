import { expect, test } from 'vitest'
import { mutations, runMutated } from './mutate.ts'

/** Each mutation is caught by one of the first 130 seeds today. Seeds change their meaning with the code. */
const SEEDS = 600
const TIMEOUT_MS = 120_000

test.each(mutations())('the simulation sees %s', { timeout: TIMEOUT_MS }, (name) => {
  expect(runMutated(name, SEEDS)).toMatch(/^seed \d+/)
})
