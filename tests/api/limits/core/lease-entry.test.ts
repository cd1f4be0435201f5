import { expect, test } from 'vitest'
import type { Counter } from '../../../../api/limits/core/counter.ts'
import { learnShare, newEntry } from '../../../../api/limits/core/lease-entry.ts'

const START_US = Date.UTC(2026, 0, 15, 12) * 1_000
const counter: Counter = { key: 'limits:{a}:r', tag: 'a', limit: { limit: 100_000, windowSeconds: 3_600, burst: 0 } }

test('the placeholder reading for a shard that did not answer does not change the learned share', () => {
  const entry = newEntry(counter, 0)
  learnShare(entry, { taken: 1, nowUs: START_US, held: 1, heldBefore: 0 })
  const before = { ...entry }
  for (let request = 0; request < 100; request++) learnShare(entry, { taken: 1, nowUs: 0, held: 0, heldBefore: 0 })
  expect(entry).toEqual(before)
})
