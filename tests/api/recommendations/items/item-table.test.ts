import { expect, test } from 'vitest'
import { itemTable } from '../../../../api/recommendations/items/item-table.ts'

const DAY_MS = 24 * 3_600_000
const START = Date.UTC(2026, 0, 1)
const ITEMS = 140_000

const item = {
  title: '',
  description: '',
  category_path: '',
  attributes: {},
  thumbnail_url: null,
  popularity: 0,
  status: 'ACTIVE' as const,
  created_at: START,
  updated_at: START,
}

test('an item created before 1970 counts as created in 1970, and an item created after 2106 is new', () => {
  const items = itemTable()
  items.putItem(1n, { ...item, created_at: Date.UTC(1941, 4, 1) })
  items.putItem(2n, { ...item, created_at: Date.UTC(2300, 0, 1) })
  expect(items.rankedAt(items.rowOf(1n), START).ageDays).toBe(START / DAY_MS)
  expect(items.rankedAt(items.rowOf(2n), START).ageDays).toBe(0)
})

test.each([
  [Number.NaN, 0],
  [Number.POSITIVE_INFINITY, 1],
  [-1, 0],
  [0.5, 0.5],
])('a popularity of %d counts as %d', (popularity, given) => {
  const items = itemTable()
  items.putItem(1n, { ...item, popularity })
  expect(items.rankedAt(items.rowOf(1n), START)).toMatchObject({ givenPopularity: given, popularity: 50 * given })
})

test.each([
  [0, 1],
  [100, 1],
  [101, 0.9975],
  [300, 0.5],
  [499, 0.0025],
  [500, 0],
  [501, 0],
])('the popularity in the record of an item with %d interactions has the weight %d', (interactions, weight) => {
  const items = itemTable()
  const counts = { popularity: 0, entered: 0, recent: 0, shown: 0, chosen: 0, events: 0, purchases: 0, ratings: 0, rating_sum: 0 }
  items.putItem(1n, { ...item, popularity: 1 })
  items.putStats(1n, { ...counts, at: START, interactions })
  expect(items.rankedAt(items.rowOf(1n), START).popularity).toBeCloseTo(50 * weight, 6)
})

test('a number of interactions that does not fit into its field counts as the maximum of the field', () => {
  const items = itemTable()
  const counts = { popularity: 0, entered: 0, recent: 0, shown: 0, chosen: 0, events: 0, purchases: 0, ratings: 0, rating_sum: 0 }
  items.putStats(1n, { ...counts, at: START, interactions: 2 ** 32 + 5 })
  expect(items.rankedAt(items.rowOf(1n), START).interactions).toBe(2 ** 32 - 1)
})

test('after a week, impressions, choices, ratings and purchases count half', () => {
  const items = itemTable()
  const counts = { popularity: 0, entered: 0, recent: 0, shown: 100, chosen: 10, events: 40, purchases: 8, ratings: 20, rating_sum: 80 }
  items.putStats(1n, { ...counts, at: START, interactions: 40 })
  const ranked = items.rankedAt(items.rowOf(1n), START + 7 * DAY_MS)
  // The priors are 2 choices in 50 impressions, 5 ratings of 3.5 stars, and 0.4 purchases in 20 events.
  expect(ranked.clickRate).toBeCloseTo((5 + 2) / (50 + 50), 6)
  expect(ranked.meanRating).toBeCloseTo((40 + 5 * 3.5) / (10 + 5), 6)
  expect(ranked.purchaseShare).toBeCloseTo((4 + 0.4) / (20 + 20), 6)
})

test('a deleted item is unknown, and can be stored again even with an older updated_at', () => {
  const items = itemTable()
  for (const itemId of [1n, 2n]) items.putItem(itemId, { ...item, status: 'INACTIVE' })
  items.putItem(1n, undefined)
  expect([...items.itemIds()]).toEqual([2n])
  items.putItem(1n, { ...item, updated_at: START - 1 })
  expect([items.isActive(items.rowOf(1n)), items.updatedAt(items.rowOf(1n))]).toEqual([true, START - 1])
})

test('after 65,535 genres, an item of a further genre counts as an item without a genre', () => {
  const items = itemTable()
  for (let number = 1; number <= 65_540; number++) items.putItem(BigInt(number), { ...item, category_path: `Genre ${number}` })
  expect(items.genreName(items.genreAt(items.rowOf(65_535n)))).toBe('Genre 65535')
  expect([65_536n, 65_540n].map((id) => items.genreAt(items.rowOf(id)))).toEqual([0, 0])
  expect(items.genreNumber('Genre 65540')).toBe(0)
})

test('each of 140,000 items keeps its own values, on all pages of the table', () => {
  const items = itemTable()
  const none = { popularity: 0, recent: 0, shown: 0, chosen: 0, events: 0, purchases: 0, ratings: 0, rating_sum: 0 }
  for (let number = 0; number < ITEMS; number++) {
    const status = number % 2 === 0 ? ('ACTIVE' as const) : ('INACTIVE' as const)
    items.putItem(BigInt(ITEMS - number), { ...item, status, created_at: START + number * 1_000 })
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
