import fc from 'fast-check'
import { expect, test } from 'vitest'
import { badgesAt, storedBadges } from '../../../../schemas/catalog/documents/badges.ts'
import { meanWithPrior, ratingFactor } from '../../../../schemas/catalog/documents/rating.ts'
import { addSale, salesAt } from '../../../../schemas/catalog/documents/sales.ts'
import { quantityHint, stockStatus } from '../../../../schemas/catalog/documents/stock.ts'

const WEEK = 7 * 24 * 3_600_000
const NOON = Date.UTC(2026, 5, 1, 12)

test('the weight of a sale halves every 7 days', () => {
  const log = addSale(null, 8, NOON)
  expect(salesAt(log, NOON)).toBeCloseTo(8, 9)
  expect(salesAt(log, NOON + WEEK)).toBeCloseTo(4, 9)
  expect(salesAt(log, NOON + 3 * WEEK)).toBeCloseTo(1, 9)
  expect(salesAt(null, NOON)).toBe(0)
})

test('the stored logarithm gives the sum of decayed sales in any order, even if sales are centuries apart', () => {
  const sale = fc.record({ units: fc.integer({ min: 1, max: 1_000_000 }), at: fc.integer({ min: NOON - 50 * WEEK, max: NOON }) })
  fc.assert(
    fc.property(fc.array(sale, { minLength: 1, maxLength: 50 }), (sales) => {
      const direct = sales.reduce((sum, { units, at }) => sum + units * 0.5 ** ((NOON - at) / WEEK), 0)
      const kept = sales.reduce((log: number | null, { units, at }) => addSale(log, units, at), null)
      expect(salesAt(kept, NOON) / direct).toBeCloseTo(1, 6)
    }),
  )
  const ancient = addSale(null, 1, 0)
  expect(addSale(ancient, 1, Date.UTC(2300, 0, 1))).toBe(addSale(null, 1, Date.UTC(2300, 0, 1)))
  expect(Number.isFinite(addSale(ancient, Number.MAX_SAFE_INTEGER, Date.UTC(9999, 0, 1)))).toBe(true)
})

test('without ratings, the mean is the prior, and it approaches the mean of the ratings as their number grows', () => {
  expect(meanWithPrior(0, 0)).toBe(3.5)
  expect(meanWithPrior(50, 10)).toBe(4.25)
  expect(meanWithPrior(5_000_000, 1_000_000)).toBeCloseTo(5, 4)
  expect([1, 3, 5].map(ratingFactor)).toEqual([0, 0.5, 1])
})

test.each([
  [-1, 'out_of_stock', 'none'],
  [0, 'out_of_stock', 'none'],
  [1, 'low_stock', 'only 1 left'],
  [5, 'low_stock', 'only 5 left'],
  [6, 'in_stock', '6-10'],
  [10, 'in_stock', '6-10'],
  [11, 'in_stock', '10+'],
])('%i available units have the status %s and the hint "%s"', (available, status, hint) => {
  expect(stockStatus(available)).toBe(status)
  expect(quantityHint(available)).toBe(hint)
})

test('badges are stored with the document, except `new`, which depends on the time', () => {
  const plain = { was_cents: null, in_stock: 'in_stock', rating_sum: 0, rating_count: 0 } as const
  expect(storedBadges(plain, false)).toEqual([])
  expect(storedBadges({ was_cents: 5, in_stock: 'low_stock', rating_sum: 90, rating_count: 20 }, true)).toEqual([
    'bestseller',
    'top_rated',
    'sale',
    'low_stock',
  ])
  expect(storedBadges({ ...plain, rating_sum: 89, rating_count: 20 }, false)).toEqual([])
  expect(storedBadges({ ...plain, rating_sum: 95, rating_count: 19 }, false)).toEqual([])
  const days = (count: number) => NOON - count * 24 * 3_600_000
  expect(badgesAt(['sale'], days(29.9), NOON)).toEqual(['new', 'sale'])
  expect(badgesAt(['sale'], days(30), NOON)).toEqual(['sale'])
})
