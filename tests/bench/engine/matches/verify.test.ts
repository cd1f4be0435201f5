import fc from 'fast-check'
import { expect, test } from 'vitest'
import { swipesInput } from '../../../../bench/engine/matches/job.ts'
import { makeSwipes, type Swipes } from '../../../../bench/engine/matches/swipes.ts'
import { swipeMatches } from '../../../../bench/engine/matches/topology.ts'
import { expectedMatches } from '../../../../bench/engine/matches/verify.ts'
import { runJob } from '../run-job.ts'

const DAY_MS = 86_400_000
const START = Date.UTC(2026, 0, 1)

/**
 * Swipes among a few users. There are so few pairs that mutual right-swipes recur after a match. Steps of whole and
 * half days let swipes expire, and hit the edge of the join's time span.
 */
const swipesArbitrary = fc
  .array(
    fc.record({
      swiper: fc.nat({ max: 3 }),
      other: fc.nat({ max: 2 }),
      right: fc.boolean(),
      days: fc.constantFrom(0, 0.5, 1, 7, 15, 30),
    }),
    { maxLength: 80, size: 'max' },
  )
  .map((list): Swipes => {
    let now = START
    const ts = list.map(({ days }) => (now += days * DAY_MS))
    return {
      count: list.length,
      swiper: Int32Array.from(list, ({ swiper }) => swiper),
      swipee: Int32Array.from(list, ({ swiper, other }) => (other < swiper ? other : other + 1)),
      right: Uint8Array.from(list, ({ right }) => (right ? 1 : 0)),
      ts: Float64Array.from(ts),
    }
  })

test('the topology produces what the verifier expects, across commits and crashes', () => {
  fc.assert(
    fc.property(swipesArbitrary, fc.infiniteStream(fc.nat()), (swipes, choices) => {
      expect(runJob(swipeMatches, swipesInput(swipes), choices)).toBe('ok')
    }),
    { numRuns: 50 },
  )
})

test('the generated swipes contain matches, new pairs and repeats', () => {
  const swipes = makeSwipes(20_000)
  const pairs = new Set(Array.from(swipes.swiper, (a, i) => Math.min(a, swipes.swipee[i]) * 1e6 + Math.max(a, swipes.swipee[i])))
  expect(pairs.size).toBeGreaterThan(12_000)
  expect(pairs.size).toBeLessThan(13_500)
  expect(expectedMatches(swipes).size).toBeGreaterThan(800)
})
