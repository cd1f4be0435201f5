import { expect, test } from 'vitest'
import { productDetails } from '../../../../state/views/catalog/catalog-details.ts'
import { categoryLeaders } from '../../../../state/views/catalog/category-leaders.ts'
import { sellerRecord } from '../../../../state/views/catalog/sellers.ts'

test('on a product page, a value that cannot be read counts as missing', () => {
  const damaged = '{"name":'
  expect(productDetails(damaged)).toEqual(productDetails(null))
  expect(categoryLeaders(damaged)).toEqual([])
  expect(sellerRecord('7', damaged)).toEqual(sellerRecord('7', null))
})
