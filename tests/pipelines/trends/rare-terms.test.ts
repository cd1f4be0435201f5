import fc from 'fast-check'
import { expect, test } from 'vitest'
import { newCell } from '../../../pipelines/trends/cells.ts'
import { addCells, isRare, stateIn } from '../../../pipelines/trends/rare-terms.ts'
import { applyCounts, candidateOf, NOBODY, newTermState, windowCount } from '../../../pipelines/trends/term-state.ts'
import { MINUTE_MS } from '../../../pipelines/trends/time.ts'
import { pathOf } from '../../../schemas/trends/places/regions.ts'
import type { TermCell } from '../../../schemas/trends/types.ts'

const NOW = 30_000_000
/** New York, Chicago, London, the United States and the world. */
const PLACES = [2459115, 2379574, 44418, 23424977, 1]

const contribution = fc.record({
  place: fc.constantFrom(...PLACES),
  form: fc.constantFrom('#Sandy', 'sandy', 'SANDY'),
  delay: fc.oneof(fc.integer({ min: -5, max: 130 }), fc.integer({ min: 0, max: 1_000 })),
  user: fc.bigInt({ min: 1n, max: 9n }),
})

test('a rare term has in each region what a state of its own would have', () => {
  fc.assert(
    fc.property(fc.array(contribution, { minLength: 1, maxLength: 32 }), (all) => {
      const cellOf = (each: (typeof all)[number], i: number): TermCell => {
        const created_at = (NOW - each.delay) * MINUTE_MS
        const tweet = { tweet_id: BigInt(i), user_id: each.user, created_at, text: '', hashtags: [], phrases: [], lang: 'en' }
        return newCell(each.place, each.form, NOW - each.delay, { ...tweet, woeid: each.place, bot_score: 0 })
      }
      const contributions = all.map(cellOf)
      const cells = all.map(cellOf).reduce<TermCell[]>((known, cell) => addCells(known, [cell]), [])
      for (const woeid of PLACES) {
        const own = contributions.filter(({ place }) => pathOf(place)?.includes(woeid))
        const state = stateIn({ frequent_hour: 0, cells }, woeid)
        if (own.length === 0) {
          expect(state).toBeUndefined()
          continue
        }
        const expected = newTermState()
        for (const cell of own) applyCounts(expected, cell, NOBODY)
        const look = (each: typeof expected) => candidateOf('sandy', each, windowCount(each, NOW), undefined, NOW)
        expect(look(state!)).toEqual(look(expected))
      }
    }),
    { numRuns: 300 },
  )
})

test('a term is rare up to 32 contributions within a day', () => {
  const tweet = { tweet_id: 1n, user_id: 1n, created_at: 0, text: '', hashtags: [], phrases: [], lang: 'en', woeid: 1, bot_score: 0 }
  const cell = (minute: number, count: number) => ({ ...newCell(1, 'x', minute, tweet), counts: [count] })
  expect(isRare([], [cell(NOW, 32)])).toBe(true)
  expect(isRare([cell(NOW, 16)], [cell(NOW, 17)])).toBe(false)
  expect(isRare([cell(NOW - 24 * 60, 1)], [cell(NOW, 1)])).toBe(true)
  expect(isRare([cell(NOW - 24 * 60 - 1, 1)], [cell(NOW, 1)])).toBe(false)
})
