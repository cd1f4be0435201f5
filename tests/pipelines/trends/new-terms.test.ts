import fc from 'fast-check'
import { expect, test } from 'vitest'
import { newTerms } from '../../../pipelines/trends/new-terms.ts'
import type { Buckets } from '../../../schemas/trends/types.ts'
import { addTo, emptyBuckets, sumOf } from '../../../state/stores/buckets.ts'

const step = fc.record({
  advance: fc.integer({ min: 0, max: 40 }),
  term: fc.integer({ min: 0, max: 4 }),
  delay: fc.integer({ min: -5, max: 59 }),
  count: fc.integer({ min: 1, max: 4 }),
})

test('totals equal the sum over all terms, even with contributions that are late or dated ahead', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const terms = new Map<number, Buckets>()
      const totals = newTerms()
      let now = 10_000
      for (const { advance, term, delay, count } of steps) {
        now += advance
        const minutes = terms.get(term) ?? emptyBuckets()
        terms.set(term, minutes)
        totals.adding(minutes, now - delay, count)
        addTo(minutes, now - delay, count, 126)
        const counts = [...terms.values()].map((each) => sumOf(each, now - 59, now)).filter((each) => each > 0)
        expect(totals.totals(now)).toEqual({ volume: counts.reduce((sum, each) => sum + each, 0), terms: counts.length })
      }
    }),
    { numRuns: 500 },
  )
})
