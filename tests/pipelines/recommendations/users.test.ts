import { beforeEach, expect, test } from 'vitest'
import { type TestDriver, testDriver } from '../../../pipelines/engine/testing.ts'
import { userFeaturesTopology } from '../../../pipelines/recommendations/users/topology.ts'
import { decimalId } from '../../../schemas/keys.ts'
import { unpackHistory } from '../../../schemas/recommendations/events/packed-history.ts'
import { unpackIds } from '../../../schemas/recommendations/events/packed-items.ts'
import { WATCHED_SHAPE } from '../../../schemas/recommendations/events/seen.ts'
import {
  interactions,
  itemEvents,
  recommendationsServed,
  recommendationUsers,
  userFeatures,
  userPreferences,
} from '../../../schemas/recommendations/topics.ts'
import type { Interaction, UserSelf } from '../../../schemas/recommendations/types.ts'
import type { KeyedStore } from '../../../state/stores/keyed-store.ts'
import { seenSetReader } from '../../../state/stores/seen-set/reader.ts'
import { interaction, served } from './events.ts'

const START = Date.UTC(2026, 0, 10)
const HOUR = 3_600_000
const DAY = 24 * HOUR
const ADA = 7n

let driver: TestDriver
let self: UserSelf | undefined
let pages: Map<number, Uint8Array>

beforeEach(() => {
  driver = testDriver(userFeaturesTopology, { startAt: START })
  self = undefined
  pages = new Map()
})

function send(item: number, event: Partial<Interaction> = {}): void {
  driver.pipe(interactions, ADA, interaction({ item_id: BigInt(item), timestamp: driver.now, ...event }))
}

function look(): UserSelf {
  for (const { key, value } of driver.read(userFeatures)) {
    if (value?.self) self = value.self
    if (value?.page) pages.set(Number(key!.split('page-')[1]), value.page)
  }
  return self!
}

function hasWatched(item: number): boolean {
  look()
  const reader = seenSetReader({ item: decimalId, ...WATCHED_SHAPE })
  return reader.open((page) => pages.get(page), driver.now).has(BigInt(item))
}

test('a repeated event counts once within a day, even after a restart', () => {
  send(1, { event_id: 'a' })
  send(1, { event_id: 'a' })
  driver.restart({ wipeState: true })
  send(1, { event_id: 'a' })
  expect(look().interactions).toBe(1)
  driver.advanceWallClock(DAY + 2_000)
  send(1, { event_id: 'a' })
  expect(look().interactions).toBe(2)
})

test('a repeated event counts once within a day, even if it is so old that its visit is forgotten immediately', () => {
  const event = { event_id: 'a', timestamp: START - 30 * DAY }
  send(1, event)
  driver.advanceWallClock(HOUR)
  expect(look().last_event_at).toBeNull()
  send(1, event)
  expect(look().interactions).toBe(1)
  driver.advanceWallClock(DAY)
  send(1, event)
  expect(look().interactions).toBe(2)
})

test.each<[string, Partial<Interaction>]>([
  ['before 1970', { timestamp: -1 }],
  ['more than ten minutes in the future', { timestamp: START + HOUR / 6 + 1 }],
  ['an hour in the future', { timestamp: START + HOUR }],
  ['in the year 2200', { timestamp: Date.UTC(2200, 0) }],
  ['with a rating that is not a number', { event_type: 'RATE', rating: Number.NaN }],
  ['about the item 0', { item_id: 0n }],
  ['about an item with a negative id', { item_id: -5n }],
  ['with six stars', { event_type: 'RATE', rating: 6 }],
  ['with more than 100 % watched', { watch_pct: 1.5 }],
  ['with an infinite dwell time', { event_type: 'DWELL', dwell_time_sec: Number.POSITIVE_INFINITY }],
])('an event %s becomes a dead letter and changes nothing', (_what, event) => {
  send(1, event)
  expect(driver.read(userFeatures)).toEqual([])
  expect(driver.read(itemEvents)).toEqual([])
  expect(driver.metrics.deadLetters).toBe(1)
  send(1, { event_id: 'next' })
  expect(look().interactions).toBe(1)
})

test('an event that is ten minutes in the future counts, because the clocks of senders differ', () => {
  send(1, { timestamp: START + HOUR / 6 })
  expect(look().interactions).toBe(1)
})

test('an event or a list from the future changes nothing, even if its record has the same timestamp', () => {
  const future = START + HOUR
  driver.pipe(interactions, ADA, interaction({ item_id: 1n, timestamp: future }), { timestamp: future })
  driver.pipe(recommendationsServed, ADA, served([1n], future), { timestamp: future })
  expect(driver.read(itemEvents)).toEqual([])
  expect(look()).toBeUndefined()
})

test('purchases, ratings, skips and views of at least 30 % count as watched; clicks, dwelling and shorter views do not', () => {
  send(1)
  send(2, { watch_pct: 0.3 })
  send(3, { watch_pct: 0.29 })
  send(4, { event_type: 'CLICK' })
  send(5, { event_type: 'DWELL', dwell_time_sec: 90 })
  send(6, { event_type: 'PURCHASE' })
  send(7, { event_type: 'RATE', rating: 1 })
  send(8, { event_type: 'SKIP' })
  expect([1, 2, 3, 4, 5, 6, 7, 8].filter(hasWatched)).toEqual([1, 2, 6, 7, 8])
  expect(unpackIds(look().viewed)).toEqual([7n, 6n, 5n, 4n, 3n, 2n, 1n])
})

test('an item counts as watched for at least 90 days and at most 99 days', () => {
  send(1)
  driver.advanceWallClock(90 * DAY)
  expect(hasWatched(1)).toBe(true)
  driver.advanceWallClock(9 * DAY + HOUR)
  expect(hasWatched(1)).toBe(false)
})

test('an item that a user has marked as not interesting is hidden until the user removes the mark', () => {
  send(1, { event_type: 'NOT_INTERESTED' })
  send(2, { event_type: 'NOT_INTERESTED' })
  expect(unpackIds(look().hidden)).toEqual([2n, 1n])
  send(1, { event_type: 'NOT_INTERESTED', withdrawn: true, event_id: 'back' })
  expect(unpackIds(look().hidden)).toEqual([2n])
  expect(look()).toMatchObject({ interactions: 0, last_event_at: null })
  expect(hasWatched(2)).toBe(false)
})

test('a session ends after half an hour without events, and a visit is forgotten after seven days', () => {
  send(1)
  driver.advanceWallClock(HOUR / 2)
  send(2)
  expect(unpackIds(look().session)).toEqual([2n, 1n])
  driver.advanceWallClock(HOUR / 2 + 1_000)
  send(3)
  expect(unpackIds(look().session)).toEqual([3n])
  driver.advanceWallClock(7 * DAY - 20_000)
  expect(look().last_event_at).not.toBeNull()
  driver.advanceWallClock(40_000)
  expect(look()).toMatchObject({ last_event_at: null, interactions: 3 })
  expect([look().session.length, look().viewed.length]).toEqual([0, 0])
  expect(look().history.length).toBeGreaterThan(0)
})

test('each list of a user keeps only its newest entries', () => {
  for (let item = 1; item <= 1_001; item++) send(item, { event_type: 'NOT_INTERESTED' })
  for (let item = 1; item <= 201; item++) send(item)
  driver.pipe(recommendationsServed, ADA, served(idsFrom(1_101n, 101), START))
  const { hidden, session, viewed, history, shown } = look()
  expect(unpackIds(hidden)).toEqual(idsFrom(1_001n, 1_000))
  expect(unpackIds(session)).toEqual(idsFrom(201n, 200))
  expect(unpackIds(viewed)).toEqual(idsFrom(201n, 10))
  expect(unpackHistory(history).map(({ itemId }) => itemId)).toEqual(idsFrom(201n, 100))
  expect(unpackIds(shown)).toEqual(idsFrom(1_001n, 100, 1n))
})

/** Returns consecutive ids starting at `first`, in descending order unless `step` is 1. */
function idsFrom(first: bigint, count: number, step = -1n): bigint[] {
  return Array.from({ length: count }, (_, index) => first + step * BigInt(index))
}

test('the temporary data of a user is forgotten even if the user has no further events', () => {
  send(1, { event_type: 'NOT_INTERESTED' })
  const other = ADA + 1n
  const serve = (at: number) => driver.pipe(recommendationsServed, other, served([1n, 2n], at))
  serve(START)
  driver.advanceWallClock(6 * DAY)
  serve(driver.now)
  driver.advanceWallClock(2 * DAY)
  const shown = () => {
    const values = driver.read(userFeatures).flatMap(({ key, value }) => (key === `${other}:self` && value?.self ? [value.self] : []))
    return unpackIds(values.at(-1)!.shown)
  }
  expect(shown()).toHaveLength(4)
  expect(driver.store<KeyedStore<bigint, Buffer>>('recent-events').get(ADA)).toBeUndefined()
  driver.advanceWallClock(6 * DAY)
  expect(shown()).toEqual([])
  expect(driver.store<KeyedStore<bigint, Buffer>>('lists').get(other)).toBeUndefined()
})

test('the newest properties and preferences of a user are part of the features', () => {
  const user = { country: 'DE', language: 'de', age_bucket: '25-34', signup_date: null, sub_tier: 'premium' as const, updated_at: 20 }
  driver.pipe(recommendationUsers, ADA, user)
  driver.pipe(recommendationUsers, ADA, { ...user, country: 'FR', updated_at: 10 })
  driver.pipe(userPreferences, ADA, { preferences: [{ category: 'genre', value: 'Comedy', weight: 1 }], updated_at: 5 })
  expect(look()).toMatchObject({ country: 'DE', sub_tier: 'premium', preferences: [{ value: 'Comedy' }] })
  send(1)
  expect(driver.read(itemEvents)[0].value!.events[0]).toMatchObject({ country: 'DE', age_bucket: '25-34' })
})

test('a user with a property of more than 100 characters becomes a dead letter, because the activities of items contain copies of properties', () => {
  const user = { country: 'x'.repeat(101), language: 'de', age_bucket: null, signup_date: null, sub_tier: null, updated_at: 20 }
  driver.pipe(recommendationUsers, ADA, user)
  expect(driver.metrics.deadLetters).toBe(1)
  send(1)
  expect(driver.read(itemEvents)[0].value!.events[0]).toMatchObject({ country: null })
})

test('preferences of more than 600,000 bytes become a dead letter, because the features of a user contain them', () => {
  const preference = { category: 'genre', value: 'x'.repeat(1_048_000), weight: 1 }
  driver.pipe(userPreferences, ADA, { preferences: [preference], updated_at: 5 })
  expect(driver.metrics.deadLetters).toBe(1)
  driver.pipe(userPreferences, ADA, { preferences: [{ ...preference, value: 'Comedy' }], updated_at: 4 })
  expect(look()).toMatchObject({ preferences: [{ value: 'Comedy' }] })
})

test.each([Number.NaN, Number.POSITIVE_INFINITY, 1.01, -2])('preferences with the weight %s become a dead letter', (weight) => {
  driver.pipe(userPreferences, ADA, { preferences: [{ category: 'genre', value: 'Comedy', weight }], updated_at: 5 })
  expect(driver.metrics.deadLetters).toBe(1)
  expect(look()).toBeUndefined()
  driver.pipe(userPreferences, ADA, { preferences: [{ category: 'genre', value: 'Drama', weight: -1 }], updated_at: 4 })
  expect(look()).toMatchObject({ preferences: [{ value: 'Drama', weight: -1 }] })
})

test('shown items are remembered until the user chooses them, and every display is reported for its item', () => {
  driver.pipe(recommendationsServed, ADA, served([1n, 2n], START))
  expect(unpackIds(look().shown).sort()).toEqual([1n, 2n])
  expect(driver.read(itemEvents).map(({ key, value }) => [key, value!.shown])).toEqual([
    [1n, [START]],
    [2n, [START]],
  ])
  send(1, { event_type: 'CLICK', rec_request_id: 'r' })
  expect(unpackIds(look().shown)).toEqual([2n])
  expect(chosen()).toEqual([true])
})

function chosen(): boolean[] {
  return driver.read(itemEvents).flatMap(({ value }) => value!.events.map(({ is_chosen }) => is_chosen))
}

test('an event counts as a choice only if the list that it names offered the item to the same user, and only once', () => {
  const byList = { event_type: 'CLICK', rec_request_id: 'r' } as const
  send(1, byList)
  driver.pipe(recommendationsServed, ADA + 1n, { ...served([1n], START), request_id: 'of another user' })
  driver.pipe(recommendationsServed, ADA, served([1n, 2n, 3n], START))
  driver.read(itemEvents)
  send(1, { event_type: 'CLICK', rec_request_id: 'of another user', event_id: 'a' })
  driver.pipe(recommendationsServed, ADA, served([1n], START + 1_000))
  send(4, byList)
  send(2)
  expect(chosen()).toEqual([false, false, false])
  driver.restart({ wipeState: true })
  send(3, { ...byList, event_type: 'SKIP' })
  send(3, { ...byList, event_type: 'VIEW' })
  send(1, { ...byList, event_id: 'b' })
  send(1, { ...byList, event_id: 'c' })
  expect(chosen()).toEqual([false, true, true, false])
  driver.pipe(recommendationsServed, ADA, served([1n], START + 2_000))
  for (let list = 0; list < 20; list++) driver.pipe(recommendationsServed, ADA, { ...served([], START), request_id: `later ${list}` })
  send(1, { ...byList, event_id: 'd' })
  expect(chosen()).toEqual([false])
})
