import { expect, test } from 'vitest'
import { asPublished, isDue, NO_SIGNALS, withActivity } from '../../../pipelines/recommendations/signals/item-counts.ts'
import { keptNeighbours } from '../../../pipelines/recommendations/signals/kept-neighbours.ts'
import { MOST_AT_ONCE, NO_NEIGHBOURS, publishedOf, withNear } from '../../../pipelines/recommendations/signals/neighbourhood.ts'
import { integer, seededRandom } from '../../../tools/random/random.ts'

const START = Date.UTC(2026, 0, 10)
const HOUR = 3_600_000
/** Number of events. It exceeds the maximum number of arguments of a function call. */
const MANY = 200_000

test('an item is counted correctly even if it was shown 200,000 times between two commits', () => {
  const shown = Array.from({ length: MANY }, (_, index) => START + index)
  const counts = withActivity(NO_SIGNALS, { events: [], near: [], entered: [], shown })
  expect(counts.at).toBe(START + MANY - 1)
  expect(counts.total).toBe(MANY)
})

test('the statistics of an item with a thousand old events are published at least once an hour while new events arrive', () => {
  const shownAt = (...shown: readonly number[]) => ({ events: [], near: [], entered: [], shown: [...shown] })
  const old = asPublished(withActivity(NO_SIGNALS, shownAt(...Array.from({ length: 1_000 }, () => START))))
  const soon = withActivity(old, shownAt(START + HOUR - 1))
  expect(isDue(soon)).toBe(false)
  const later = withActivity(soon, shownAt(START + HOUR))
  expect(isDue(later)).toBe(true)
  expect(isDue(withActivity(asPublished(later), shownAt(START + HOUR + 1)))).toBe(false)
})

test('the statistics of an item are published as soon as more than a fiftieth of its events are new', () => {
  const shownOften = (count: number) => ({ events: [], near: [], entered: [], shown: new Array<number>(count).fill(START) })
  const old = asPublished(withActivity(NO_SIGNALS, shownOften(980)))
  expect(isDue(withActivity(old, shownOften(20)))).toBe(false)
  expect(isDue(withActivity(old, shownOften(21)))).toBe(true)
})

test('of more than a hundred neighbours, the twenty newest and the eighty heaviest of the others stay', () => {
  // The first neighbours have the highest weights, and the last ones are the newest.
  const near = Array.from({ length: 150 }, (_, index) => ({
    item_id: BigInt(index + 1),
    closeness: 150 - index,
    at: START + index * 1_000,
  }))
  const kept = publishedIds(withNear(NO_NEIGHBOURS, near))
  expect(kept).toHaveLength(100)
  expect(kept).toEqual([...range(1, 80), ...range(131, 150)])
})

test('the fifty heaviest neighbours are published', () => {
  const near = Array.from({ length: 60 }, (_, index) => ({ item_id: BigInt(index), closeness: 1 - index / 100, at: START }))
  const published = publishedOf(withNear(NO_NEIGHBOURS, near), START)
  expect(published.map(({ itemId }) => itemId)).toEqual(near.slice(0, 50).map(({ item_id }) => item_id))
})

test('among neighbours of equal weight, those with smaller ids stay, even if ids are negative or very large', () => {
  const ids = [...range(1, 118), -5n, 2n ** 62n]
  const kept = withNear(
    NO_NEIGHBOURS,
    ids.map((item_id) => ({ item_id, closeness: 1, at: START })),
  )
  expect(publishedIds(kept)).toEqual([-5n, ...range(1, 99)])
})

function publishedIds({ neighbours }: ReturnType<typeof withNear>): bigint[] {
  const ids = keptNeighbours(neighbours, 1, 0)
    .list()
    .map(({ itemId }) => itemId)
  return ids.sort((a, b) => (a < b ? -1 : 1))
}

function range(from: number, to: number): bigint[] {
  return Array.from({ length: to - from + 1 }, (_, index) => BigInt(from + index))
}

test('the weights of repeated pairs with the same neighbour add up', () => {
  const pair = (closeness: number, at: number) => ({ item_id: 7n, closeness, at })
  const kept = withNear(withNear(NO_NEIGHBOURS, [pair(1, START)]), [pair(0.5, START), pair(0.25, START)])
  expect(publishedOf(kept, START)).toEqual([{ itemId: 7n, weight: 1.75 }])
})

test('the pairs of an item are added in portions, because the time for a portion grows with the square of its size', () => {
  const random = seededRandom(3)
  const near = Array.from({ length: 3 * MOST_AT_ONCE }, (_, index) => ({
    item_id: BigInt(1 + integer(random, 2_000)),
    closeness: 0.2 + 0.8 * random(),
    at: START + index * 1_000,
  }))
  const portions = [0, 1, 2].map((portion) => near.slice(portion * MOST_AT_ONCE, (portion + 1) * MOST_AT_ONCE))
  expect(withNear(NO_NEIGHBOURS, near)).toEqual(portions.reduce(withNear, NO_NEIGHBOURS))
})
