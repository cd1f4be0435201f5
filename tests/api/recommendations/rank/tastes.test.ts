import { expect, test } from 'vitest'
import { itemTable } from '../../../../api/recommendations/items/item-table.ts'
import { preferenceFor, tastesOf } from '../../../../api/recommendations/rank/tastes.ts'
import { unknownUser } from '../../../../api/recommendations/users/request-user.ts'

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
