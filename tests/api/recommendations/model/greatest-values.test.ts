import fc from 'fast-check'
import { expect, test } from 'vitest'
import { leastOfGreatest, placeOfGreatest } from '../../../../api/recommendations/model/greatest-values.ts'

const values = fc.float64Array({ noNaN: true, maxLength: 60 })
/** Few different values, so that many are equal. */
const repeated = fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 60 }).map((numbers) => Float64Array.from(numbers))

test('the lowest of the greatest values is the one that sorting finds, and the values are left in their order', () => {
  fc.assert(
    fc.property(fc.oneof(values, repeated), fc.integer({ min: 1, max: 70 }), (all, count) => {
      const before = all.slice()
      const expected = all.length <= count ? Number.NEGATIVE_INFINITY : all.toSorted()[all.length - count]
      // Adding 0 turns -0 into 0, because their order does not matter.
      expect(leastOfGreatest(all, count) + 0).toBe(expected + 0)
      expect(all).toEqual(before)
    }),
  )
})

test('of equal greatest values, the first one wins', () => {
  expect(placeOfGreatest(Float64Array.of(1, 3, 2, 3))).toBe(1)
})
