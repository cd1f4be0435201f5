import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { itemTable } from '../../../../api/recommendations/items/item-table.ts'
import { leaders } from '../../../../api/recommendations/items/leaders.ts'
import { traitOf } from '../../../../api/recommendations/items/traits.ts'

const START = Date.UTC(2026, 0, 1)
const ITEMS = 20_000
const MINUTE_MS = 60_000
const UNKNOWN = {
  ...{ title: '', description: '', category_path: '', attributes: {}, thumbnail_url: null },
  ...{ status: 'ACTIVE' as const, created_at: START, updated_at: START + 2 },
}

test('the first rebuild after a request for a trait lists the popular items of the trait, and the lists of other traits do not change', async () => {
  const items = itemTable()
  for (let row = 0; row < ITEMS; row++) put(items, row, row / ITEMS)
  const brand = { brand: 'Acme' }
  for (const id of [5n, 9n]) items.putItem(id, { ...UNKNOWN, attributes: brand, popularity: Number(id) / 10 })
  items.putItem(7n, { ...UNKNOWN, attributes: brand, popularity: 1, status: 'INACTIVE' })
  let now = START
  const found = leaders({ items, now: () => now, otherWork: setImmediate })
  expect(found.ofTrait(traitOf('category', 'Genre 1'))[0]).toBe(ITEMS - 1)
  expect(found.ofTrait(traitOf('brand', 'Acme'))).toEqual([])
  now += 14_999
  expect(found.ofTrait(traitOf('brand', 'Acme'))).toEqual([])
  now += 1
  await expect.poll(() => found.ofTrait(traitOf('brand', 'Acme'))).toEqual([8, 4])
  expect(found.ofTrait(traitOf('category', 'Genre 1'))[0]).toBe(ITEMS - 1)
})

function put(items: ReturnType<typeof itemTable>, row: number, popularity: number): void {
  const unknown = { title: '', description: '', category_path: `Genre ${row % 3}`, attributes: {}, thumbnail_url: null }
  items.putItem(BigInt(row + 1), { ...unknown, popularity, status: 'ACTIVE', created_at: START, updated_at: START + popularity })
}

test('one pass over the items builds the lists of all traits that are announced together', () => {
  const items = itemTable()
  for (let row = 0; row < 10; row++) put(items, row, row / 10)
  let visited = 0
  const counting = {
    ...items,
    size: items.size,
    isActive(row: number) {
      visited++
      return items.isActive(row)
    },
  }
  const found = leaders({ items: counting, now: () => START })
  const traits = [0, 1, 2].map((genre) => traitOf('category', `Genre ${genre}`))
  found.overall()
  visited = 0
  found.announce(traits)
  expect(traits.map((trait) => found.ofTrait(trait)[0])).toEqual([9, 7, 8])
  expect(visited).toBe(10)
})

test('the lists of a catalogue of 20,000 items are rebuilt in pieces between other work, and are used once they are complete', async () => {
  const items = itemTable()
  for (let row = 0; row < ITEMS; row++) put(items, row, row / ITEMS)
  let now = START
  let pieces = 0
  const found = leaders({
    items,
    now: () => now,
    otherWork() {
      pieces++
      return setImmediate()
    },
  })
  const atOnce = leaders({ items, now: () => now })
  expect(found.overall().slice(0, 2)).toEqual([ITEMS - 1, ITEMS - 2])
  expect(pieces).toBe(0)
  put(items, 7, 1)
  now += MINUTE_MS
  expect(found.overall()[0]).toBe(ITEMS - 1)
  await expect.poll(() => found.overall()[0]).toBe(7)
  expect(pieces).toBeGreaterThan(2)
  expect(found.overall()).toEqual(atOnce.overall())
  expect(found.ofGenre(items.genreNumber('Genre 1'))).toEqual(atOnce.ofGenre(items.genreNumber('Genre 1')))
  expect(found.explored()).toEqual(atOnce.explored())
})

test('the lists are used for as long as the caller specifies, so that a replay does not rebuild them for nearly every request', () => {
  const items = itemTable()
  for (let row = 0; row < 10; row++) put(items, row, row / 10)
  let now = START
  const found = leaders({ items, now: () => now, keptMs: () => 5 * MINUTE_MS })
  expect(found.overall()[0]).toBe(9)
  put(items, 3, 1)
  now += 5 * MINUTE_MS - 1
  expect(found.overall()[0]).toBe(9)
  now += 1
  expect(found.overall()[0]).toBe(3)
})

test('the lists are rebuilt after the clock has gone back', () => {
  const items = itemTable()
  for (let row = 0; row < 10; row++) put(items, row, row / 10)
  let now = START
  const found = leaders({ items, now: () => now })
  expect(found.overall()[0]).toBe(9)
  put(items, 3, 1)
  now -= 60 * MINUTE_MS
  expect(found.overall()[0]).toBe(3)
})

test('of new items that nobody has seen yet, the newest are explored first', () => {
  const items = itemTable()
  for (let row = 0; row < 1_000; row++) put(items, row, 0)
  items.putItem(400n, { ...UNKNOWN, popularity: 0, created_at: START + MINUTE_MS })
  items.putItem(2_000n, { ...UNKNOWN, popularity: 0, created_at: START + 2 * MINUTE_MS })
  const explored = leaders({ items, now: () => START + 3 * MINUTE_MS }).explored()
  expect(explored.slice(0, 3).map(({ row }) => items.idAt(row))).toEqual([2_000n, 400n, 1n])
})
