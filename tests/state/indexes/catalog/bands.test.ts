import { expect, it } from 'vitest'
import { PRICE_BANDS, priceBandOf } from '../../../../state/indexes/catalog/bands.ts'

it('price ranges include their lower bound and exclude their upper bound', () => {
  expect(PRICE_BANDS).toEqual(['0-25', '25-50', '50-100', '100-200', '200-500', '500+'])
  expect([0, 2_499, 2_500, 4_999, 5_000, 19_999, 20_000, 49_999, 50_000, 1e11].map(priceBandOf)).toEqual([
    '0-25',
    '0-25',
    '25-50',
    '25-50',
    '50-100',
    '100-200',
    '200-500',
    '200-500',
    '500+',
    '500+',
  ])
})
