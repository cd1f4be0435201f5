import fc from 'fast-check'
import { expect, it } from 'vitest'
import { bestFirst, mostBeside } from '../../../../../api/catalog/search/engine/best-first.ts'
import { factorsOf, relevanceOf } from '../../../../../api/catalog/search/results/explanation.ts'
import { productMaker } from '../../../../../bench/catalog/search/products.ts'
import { generatedTitles } from '../../../../../bench/catalog/search/titles.ts'
import { type ProductSource, productSourceOf } from '../../../../../state/indexes/catalog/products.ts'

const NOW = Date.UTC(2026, 10, 23)
const DAY_MS = 24 * 3_600_000
const make = productMaker(generatedTitles, NOW)
const answer = (max_score: number | null) => ({ hits: { max_score } })

it('a product is never more relevant than its ceiling and what the text and recency can add', () => {
  const sample = fc.record({
    number: fc.nat(100_000),
    score: fc.double({ min: 0, max: 100, noNaN: true }),
    more: fc.double({ min: 0, max: 10, noNaN: true }),
    percentile: fc.option(fc.double({ min: -5, max: 20, noNaN: true })),
    days: fc.integer({ min: 0, max: 400 }),
  })
  fc.assert(
    fc.property(sample, ({ number, score, more, percentile, days }) => {
      const source = productSourceOf(make(number)) as ProductSource
      const now = NOW + days * DAY_MS
      const salesPercentile = percentile === null ? null : NOW / (7 * DAY_MS) + percentile
      const relevance = relevanceOf(factorsOf(source, score, { now, salesPercentile }))
      expect(relevance).toBeLessThanOrEqual(source.ceiling + mostBeside([answer(score), answer(more), answer(null)]))
    }),
  )
})

it('the next limit is somewhat below the one that was certain, and lower if it left too few', () => {
  const best = bestFirst()
  const first = best.limit
  best.tooFew()
  expect(best.limit).toBeLessThan(first)
  expect(best.certain(0.7, 0.1)).toBeCloseTo(0.6)
  expect(best.limit).toBeCloseTo(0.58)
  for (let time = 0; time < 100; time++) best.tooFew()
  expect(best.limit).toBe(0)
})
