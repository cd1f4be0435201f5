import { expect, test } from 'vitest'
import { itemTable } from '../../../../api/recommendations/items/item-table.ts'

const START = Date.UTC(2026, 0, 1)
const ITEMS = 140_000

test('items of a large catalogue keep their own numbers, on whichever page of the columns they are', () => {
  const items = itemTable()
  const item = { title: '', description: '', category_path: '', attributes: {}, thumbnail_url: null, updated_at: START }
  const none = { popularity: 0, recent: 0, shown: 0, chosen: 0, events: 0, purchases: 0, ratings: 0, rating_sum: 0 }
  for (let number = 0; number < ITEMS; number++) {
    const status = number % 2 === 0 ? ('ACTIVE' as const) : ('INACTIVE' as const)
    items.putItem(BigInt(ITEMS - number), { ...item, popularity: 0, status, created_at: START + number * 1_000 })
    if (number % 3 === 0) items.putStats(BigInt(ITEMS - number), { ...none, at: START, entered: number, interactions: number })
  }
  expect(items.size).toBe(ITEMS)
  for (const number of [0, 1, 65_535, 65_536, 65_538, 131_071, 131_072, 139_998, 139_999]) {
    const row = items.rowOf(BigInt(ITEMS - number))
    const { interactions } = items.rankedAt(row, START)
    const counted = number % 3 === 0 ? number : 0
    expect([items.isActive(row), items.createdAt(row), interactions, items.enteredAt(row)]).toEqual([
      number % 2 === 0,
      START + number * 1_000,
      counted,
      counted,
    ])
  }
})
