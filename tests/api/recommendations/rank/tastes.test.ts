import { expect, test } from 'vitest'
import { itemTable } from '../../../../api/recommendations/items/item-table.ts'
import { preferenceFor, tastesOf } from '../../../../api/recommendations/rank/tastes.ts'
import { unknownUser } from '../../../../api/recommendations/users/request-user.ts'
import type { StatedPreference } from '../../../../schemas/recommendations/types.ts'

test('the weights of several preferences for the same trait are added up', () => {
  const items = itemTable()
  items.putItem(1n, {
    ...{
      title: '',
      description: '',
      category_path: '',
      attributes: { genres: 'Comedy', brand: 'Acme' },
      thumbnail_url: null,
      popularity: 0,
    },
    ...{ status: 'ACTIVE', created_at: 0, updated_at: 0 },
  })
  const weightFor = (...preferences: StatedPreference[]) =>
    preferenceFor(items, tastesOf(items, { ...unknownUser(7n), preferences }), items.rowOf(1n))
  const brand = { category: 'brand', value: 'Acme' }
  expect(weightFor({ ...brand, weight: 0.5 }, { ...brand, weight: 0.25 })).toBe(0.75)
  expect(weightFor({ category: 'genre', value: 'Comedy', weight: 0.5 }, { category: 'genres', value: 'Comedy', weight: 0.25 })).toBe(0.75)
})

test('a preference without a valid weight has no effect', () => {
  const items = itemTable()
  items.putItem(1n, {
    ...{ title: '', description: '', category_path: 'Tools', attributes: { brand: 'Acme' }, thumbnail_url: null, popularity: 0 },
    ...{ status: 'ACTIVE', created_at: 0, updated_at: 0 },
  })
  const preferences = [
    { category: 'genre', value: 'Tools', weight: Number.NaN },
    { category: 'category', value: 'Tools', weight: Number.POSITIVE_INFINITY },
    { category: 'brand', value: 'Acme', weight: 0.5 },
  ]
  expect(preferenceFor(items, tastesOf(items, { ...unknownUser(7n), preferences }), items.rowOf(1n))).toBe(0.5)
})
