import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { TermCell } from '../../../pipelines/trends/cells.ts'
import { NONE_DRAWN } from '../../../pipelines/trends/drawn-tweets.ts'
import { samplesOf } from '../../../pipelines/trends/samples.ts'
import { applyCounts, candidateOf, newTermState, unchangedThrough, windowCount } from '../../../pipelines/trends/term-state.ts'
import { MINUTE_MS } from '../../../pipelines/trends/time.ts'
import type { TermState } from '../../../schemas/trends/types.ts'

const NOW = 30_000_000
const silent = { added() {}, tooOld() {}, dropping() {}, droppingHour() {} }

function countsAt(minute: number, count: number): TermCell {
  const samples = samplesOf({ tweet_id: BigInt(minute), user_id: BigInt(minute), created_at: minute * MINUTE_MS, lang: minute % 2 })
  return { place: 1, minutes: [minute], counts: [count], forms: [{ form: 'x', count }], samples, repeats: [], drawn: NONE_DRAWN }
}

function stateOf(delays: readonly number[]): TermState {
  const state = newTermState()
  for (const delay of delays) applyCounts(state, countsAt(NOW - delay, 1 + (delay % 3)), 0, silent)
  return state
}

function look(state: TermState, lastMinute: number) {
  return candidateOf('x', state, windowCount(state, lastMinute), undefined, lastMinute)
}

test("a term's values stay the same at least until the predicted minute", () => {
  const delays = fc.array(fc.integer({ min: -5, max: 130 }), { minLength: 1, maxLength: 20 })
  fc.assert(
    fc.property(delays, (all) => {
      const state = stateOf(all)
      const through = unchangedThrough(state, NOW)
      expect(through).toBeGreaterThanOrEqual(NOW)
      for (let minute = NOW; minute <= through; minute++) expect(look(state, minute)).toEqual(look(state, NOW))
    }),
    { numRuns: 500 },
  )
})

test('volume_24h covers the current hour and the 24 whole hours before it, but no minutes in the future', () => {
  const hour = Math.floor(NOW / 60) * 60
  const state = newTermState()
  for (const minute of [hour - 24 * 60 - 1, hour - 24 * 60, hour - 1, hour + 3, hour + 7])
    applyCounts(state, countsAt(minute, 1), 0, silent)
  expect(look(state, hour + 5).day).toBe(3)
  expect(look(state, hour + 7).day).toBe(4)
})

test('sample tweets are shown only while they are in the window', () => {
  const state = stateOf([61, 59, 10])
  expect(look(state, NOW).sample_tweets).toEqual([BigInt(NOW - 10), BigInt(NOW - 59)])
})
