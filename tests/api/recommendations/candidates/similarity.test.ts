import { expect, test } from 'vitest'
import { byCategory, byNeighbours } from '../../../../api/recommendations/candidates/similarity.ts'
import { itemTable } from '../../../../api/recommendations/items/item-table.ts'

const item = { title: '', description: '', category_path: 'Tools', attributes: {}, thumbnail_url: null, popularity: 0 }

function tools(count: number) {
  const items = itemTable()
  for (let id = 1n; id <= count; id++) items.putItem(id, { ...item, status: 'ACTIVE', created_at: 0, updated_at: 0 })
  return items
}

test('pairs with a similarity below 0.0001 are ignored', () => {
  const similar = byNeighbours(tools(4), 1n, [
    { itemId: 2n, weight: 0.000_1 },
    { itemId: 3n, weight: 0.000_099 },
    { itemId: 4n, weight: 7 },
  ])
  expect(similar.map(({ similarity }) => similarity)).toEqual([0.000_1, 1])
})

test('popular items of the same genre have a similarity of at most 0.05', () => {
  const items = tools(3)
  const rows = [1n, 2n, 3n].map((id) => items.rowOf(id))
  expect(byCategory(items, () => rows, rows[0], 2).map(({ similarity }) => similarity)).toEqual([0.05, 0.025])
})
