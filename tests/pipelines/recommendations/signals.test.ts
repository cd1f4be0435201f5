import { expect, test } from 'vitest'
import { testDriver } from '../../../pipelines/engine/testing.ts'
import { MAX_PARKED_ENTRIES, MAX_PARKED_ITEMS } from '../../../pipelines/recommendations/signals/known-items.ts'
import { itemSignals } from '../../../pipelines/recommendations/signals/topology.ts'
import { userFeaturesTopology } from '../../../pipelines/recommendations/users/topology.ts'
import { unpackHistory } from '../../../schemas/recommendations/events/packed-history.ts'
import { unpackIds } from '../../../schemas/recommendations/events/packed-items.ts'
import { unpackNeighbours } from '../../../schemas/recommendations/signals/packed-neighbours.ts'
import {
  interactions,
  itemEvents,
  itemNeighbours,
  itemStats,
  items,
  trendingItems,
  userFeatures,
} from '../../../schemas/recommendations/topics.ts'
import type { UserSelf } from '../../../schemas/recommendations/types.ts'
import type { KeyedStore } from '../../../state/stores/keyed-store.ts'
import { integer, pick, seededRandom } from '../../../tools/random/random.ts'
import { interactionOf, itemNamed } from './events.ts'
import { type ModelEvent, modelNeighbours, modelStats, modelTrending, modelUser } from './offline-model.ts'

const START = Date.UTC(2026, 0, 10)
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const TYPES = ['VIEW', 'VIEW', 'CLICK', 'PURCHASE', 'RATE', 'SKIP', 'DWELL'] as const

/** Generates events of five users and 40 items, about four minutes apart, not always in chronological order. */
function randomEvents(seed: number, count: number): ModelEvent[] {
  const random = seededRandom(seed)
  return Array.from({ length: count }, (_, index) => {
    const type = pick(random, TYPES)
    return {
      user: BigInt(1 + integer(random, 5)),
      item: BigInt(100 + integer(random, 40)),
      type,
      at: START + index * 4 * MINUTE - integer(random, 20) * MINUTE + integer(random, 60) * 1_000,
      ...(type === 'RATE' && { rating: 1 + integer(random, 5) }),
    }
  })
}

/** Runs the topologies of user features and item signals. Both commit after every `perCommit` events. */
function run(events: readonly ModelEvent[], perCommit: number) {
  const users = testDriver(userFeaturesTopology, { startAt: START, commit: 'manual' })
  const signals = testDriver(itemSignals, { startAt: START, commit: 'manual' })
  const selves = new Map<string, UserSelf>()
  const neighbours = new Map<bigint, readonly { itemId: bigint; weight: number }[]>()
  const stats = new Map<bigint, unknown>()

  function settle() {
    users.settle()
    for (const { key, value } of users.read(itemEvents)) signals.pipe(itemEvents, key, value)
    signals.settle()
    for (const { key, value } of users.read(userFeatures)) if (value?.self) selves.set(key!.split(':')[0], value.self)
    for (const { key, value } of signals.read(itemNeighbours)) neighbours.set(key!, unpackNeighbours(value!.neighbours))
    for (const { key, value } of signals.read(itemStats)) stats.set(key!, value)
  }
  for (const item of new Set(events.map((event) => event.item))) signals.pipe(items, item, itemNamed(String(item)))
  events.forEach((event, index) => {
    users.pipe(interactions, event.user, interactionOf(event, String(index)), { appendedAt: event.at })
    if (index % perCommit === perCommit - 1) settle()
  })
  settle()
  return { signals, selves, neighbours, stats }
}

test.each([
  [1, 1],
  [2, 7],
  [3, 60],
])('features and signals equal those of an offline model (seed %i, %i events per commit)', (seed, perCommit) => {
  const events = randomEvents(seed, 300)
  const { signals, selves } = run(events, perCommit)

  for (const [user, self] of selves) {
    const model = modelUser(events.filter((event) => event.user === BigInt(user)))
    expect(unpackIds(self.viewed)).toEqual(model.viewed)
    expect(unpackIds(self.session)).toEqual(model.session)
    expect(unpackHistory(self.history).map(({ itemId, type }) => ({ item: itemId, type }))).toEqual(model.history)
    expect(self).toMatchObject({ interactions: model.interactions, last_event_at: model.lastEventAt })
  }
  expect(selves.size).toBe(5)

  const kept = signals.store<never>('neighbours') as { get(key: bigint): { reference_at: number; neighbours: Uint8Array } | undefined }
  const counts = signals.store<never>('signals') as { get(key: bigint): { at: number } | undefined }
  for (const item of new Set(events.map(({ item }) => item))) {
    const row = kept.get(item)
    const model = modelNeighbours(events, row?.reference_at ?? START).get(item) ?? new Map()
    const found = new Map(storedNeighbours(row?.neighbours ?? new Uint8Array()))
    expect([...found.keys()].sort()).toEqual([...model.keys()].sort())
    for (const [other, weight] of model) expect(found.get(other)! / weight).toBeCloseTo(1, 9)

    const count = counts.get(item)!
    for (const [name, value] of Object.entries(modelStats(events, item, count.at))) {
      expect([name, (count as unknown as Record<string, number>)[name]]).toEqual([name, expect.closeTo(value, 9)])
    }
  }
})

/** Decodes the neighbours in a row of the store, in the format that kept-neighbours.ts documents. */
function storedNeighbours(packed: Uint8Array): [bigint, number][] {
  const bytes = Buffer.from(packed)
  return Array.from({ length: bytes.length / 20 }, (_, index) => [bytes.readBigInt64LE(index * 20), bytes.readDoubleLE(index * 20 + 8)])
}

test('the published weights and interactions of an item are at most a twentieth behind the current ones', () => {
  const events = randomEvents(4, 400)
  const { neighbours, stats } = run(events, 5)
  const end = Math.max(...events.map(({ at }) => at))

  const models = modelNeighbours(events, end)
  expect([models.size, stats.size]).toEqual([40, 40])
  for (const [item, model] of models) {
    const total = [...model.values()].reduce((sum, weight) => sum + weight, 0)
    const [[best]] = [...model].sort(([, a], [, b]) => b - a)
    expect(neighbours.get(item)!.some(({ itemId }) => itemId === best)).toBe(true)
    expect(neighbours.get(item)!.reduce((sum, { weight }) => sum + weight, 0)).toBeGreaterThan(0.95 * total)
  }
  for (const [item, found] of stats) {
    expect((found as { interactions: number }).interactions).toBeGreaterThanOrEqual(modelStats(events, item, end).interactions * 0.97)
  }
})

test('trending items are ranked by recent events, and published again only if they have changed', () => {
  const events = randomEvents(5, 120)
  const { signals } = run(events, 10)
  signals.advanceWallClock(40_000)
  signals.settle()
  const { key, value } = signals.read(trendingItems).at(-1)!
  expect(key).toBe('all')
  expect(value!.item_ids).toEqual(modelTrending(events, START))
  // Nothing has changed, so nothing is published.
  signals.advanceWallClock(60_000)
  signals.settle()
  expect(signals.read(trendingItems)).toEqual([])
})

/** Runs only `item-signals`. Returns functions that send items and views, and that read the results. */
function viewedItems(commit: 'record' | 'manual' = 'record') {
  const driver = testDriver(itemSignals, { startAt: START, commit })
  return {
    driver,
    put: (item: bigint) => driver.pipe(items, item, itemNamed(String(item))),
    view(item: bigint, times = 1) {
      const event = { event_type: 'VIEW' as const, at: START, weight: 1, is_chosen: false, rating: null, country: 'DE', age_bucket: null }
      driver.pipe(itemEvents, item, { events: Array(times).fill(event), near: [], entered: [], shown: [] })
    },
    trending() {
      driver.advanceWallClock(2 * MINUTE)
      return driver.read(trendingItems).findLast(({ key }) => key === 'all')?.value?.item_ids ?? []
    },
    stats: () => driver.read(itemStats).map(({ key, value }) => [key, value!.interactions]),
    parked: () => [...driver.store<KeyedStore<bigint, unknown>>('parked').scan()].length,
  }
}

test('ids of items that do not exist are never trending, and the state holds a limited number of them', () => {
  const { driver, put, view, trending, stats, parked } = viewedItems()
  for (let item = 1n; item <= 3n; item++) put(item)
  for (let item = 1n; item <= 3n; item++) view(item)
  for (let made = 0; made < MAX_PARKED_ITEMS + 500; made++) view(1_000n + BigInt(made), 3)
  expect(trending()).toEqual([1n, 2n, 3n])
  expect(stats()).toEqual([1n, 2n, 3n].map((item) => [item, 1]))
  expect(parked()).toBe(MAX_PARKED_ITEMS)
  expect([...driver.store<KeyedStore<bigint, unknown>>('signals').scan()]).toHaveLength(3)
  driver.advanceWallClock(2 * HOUR)
  expect(parked()).toBe(0)
  view(5_000n)
  expect(parked()).toBe(1)
})

test('an item whose id is not positive becomes a dead letter and is never trending', () => {
  const { driver, put, view, trending } = viewedItems()
  for (const item of [0n, -5n, 1n]) put(item)
  expect(driver.metrics.deadLetters).toBe(2)
  for (const item of [0n, -5n, 1n]) view(item)
  expect(trending()).toEqual([1n])
})

test('a commit with events of 1,300 items counts each event once', () => {
  const { driver, put, view, stats } = viewedItems('manual')
  const ids = Array.from({ length: 1_300 }, (_, index) => BigInt(index + 1))
  for (const item of ids) put(item)
  driver.settle()
  for (let round = 0; round < 2; round++) for (const item of ids) view(item)
  driver.settle()
  const newest = new Map(stats() as [bigint, number][])
  expect([...newest]).toEqual(ids.map((item) => [item, 2]))
})

test('the list of a group has at most 500 trending items', () => {
  const { driver, put, view, trending } = viewedItems('manual')
  for (let item = 1n; item <= 501n; item++) {
    put(item)
    view(item, item === 1n ? 1 : 2)
  }
  driver.settle()
  driver.advanceWallClock(40_000)
  driver.settle()
  expect(trending()).toEqual(Array.from({ length: 500 }, (_, index) => BigInt(index + 2)))
})

test('events that arrive before their item count as soon as the item is known, but only up to a maximum number of stored events', () => {
  const { put, view, trending, stats, parked } = viewedItems()
  view(7n, 2)
  view(7n)
  view(7n, MAX_PARKED_ENTRIES)
  expect([trending(), stats(), parked()]).toEqual([[], [], 1])
  put(7n)
  expect(stats()).toEqual([[7n, 3]])
  expect(trending()).toEqual([7n])
  expect(parked()).toBe(0)
  put(7n)
  view(7n)
  expect(stats()).toEqual([[7n, 4]])
})

test('events that are a year older than other events in the same commit do not distort the trends of their country', () => {
  const { driver, put } = viewedItems()
  put(7n)
  function send(...viewed: readonly (readonly [at: number, country: string])[]): void {
    const view = { event_type: 'VIEW' as const, weight: 1, is_chosen: false, rating: null, age_bucket: null }
    const events = viewed.map(([at, country]) => ({ ...view, at, country }))
    driver.pipe(itemEvents, 7n, { events, near: [], entered: [], shown: [] })
  }
  for (let commit = 0; commit < 2; commit++) send([START - 365 * 24 * HOUR, 'DE'], [START, 'US'])
  send([START, 'DE'])
  driver.advanceWallClock(2 * MINUTE)
  const german = driver.read(trendingItems).findLast(({ key }) => key === 'country:DE')!.value!
  expect(german.item_ids).toEqual([7n])
  expect(german.events).toBeCloseTo(1, 1)
})

test('pairs that arrive late do not increase the published weights of newer pairs', () => {
  const { driver, put } = viewedItems()
  const month = 30 * 24 * HOUR
  put(7n)
  const meet = (item_id: bigint, at: number, entered: number[]) =>
    driver.pipe(itemEvents, 7n, { events: [], near: [{ item_id, closeness: 1, at }], entered, shown: [] })
  meet(1n, START, [START])
  meet(2n, START - month, [START - month])
  const { neighbours } = driver.read(itemNeighbours).at(-1)!.value!
  expect(unpackNeighbours(neighbours)).toEqual([
    { itemId: 1n, weight: 1 },
    { itemId: 2n, weight: 0.5 },
  ])
})
