/**
 * # 16. Joins and seen-sets
 *
 * Two streams may each carry one half of an event, a few minutes apart and in any order. A *join buffer* keeps each
 * half until the time limit for a match has passed, so that the other half finds it. Another common question is "have I
 * seen this before?". A *seen-set* answers it with a few bits per item.
 *
 * You need chapters 1 to 5.
 */

import { expect, test } from 'vitest'
import { avroValue, joinBufferStore, seenSetReader, seenSetStore, type Topic, topology, utf8 } from '../../pipelines/engine/index.ts'
import { type TestDriver, testDriver } from '../../pipelines/engine/testing.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const START = Date.UTC(2026, 5, 1, 8, 0)

/*
 * ## A join within a span of time
 *
 * A rider pays and unlocks a bike, in either order. A payment and an unlocking by the same rider belong together if
 * they are at most five minutes apart. Each stream has a buffer. When a record arrives, the processor looks for matches
 * in the buffer of the other stream, and then puts the record into the buffer of its own stream. Both topics have the
 * same keys and the same number of partitions, so both halves reach the same task.
 */
/** Key: the rider. Value: the payment in cents. */
const payments: Topic<string, number> = { name: 'payments', key: utf8, value: avroValue<number>('int'), partitions: 1 }
/** Key: the rider. Value: the bike. */
const unlocks: Topic<string, string> = { name: 'unlocks', key: utf8, value: avroValue<string>('string'), partitions: 1 }
/** Key: the rider. Value: the bike and the payment in cents. */
const rides: Topic<string, string> = { name: 'rides', key: utf8, value: avroValue<string>('string'), partitions: 1 }
/** Key: the rider. Value: a payment in cents that is returned to the rider. */
const refunds: Topic<string, number> = { name: 'refunds', key: utf8, value: avroValue<number>('int'), partitions: 1 }

const SPAN_MS = 5 * MINUTE_MS
const REFUNDED_PER_TICK = 1_000

const paidRides = topology('paid-rides', (t) => {
  const paid = joinBufferStore<string, number>('paid', { key: utf8, value: 'int', spanMs: SPAN_MS })
  const unlocked = joinBufferStore<string, string>('unlocked', { key: utf8, value: 'string', spanMs: SPAN_MS })
  const stores = [paid, unlocked]

  t.source(payments).process(
    'paid',
    { reads: (_cents, rider, timestamp) => unlocked.prefetch(rider, timestamp), stores, emits: [rides] },
    function payRide(cents, ctx) {
      for (const { value: bike } of unlocked.joinable(ctx.key, ctx.timestamp)) ctx.emit(rides, ctx.key, `${bike} for ${cents}`)
      paid.add(ctx.key, ctx.timestamp, cents)
    },
  )
  t.source(unlocks)
    .process(
      'unlocked',
      { reads: (_bike, rider, timestamp) => paid.prefetch(rider, timestamp), stores, emits: [rides] },
      function unlockRide(bike, ctx) {
        for (const { value: cents } of paid.joinable(ctx.key, ctx.timestamp)) ctx.emit(rides, ctx.key, `${bike} for ${cents}`)
        unlocked.add(ctx.key, ctx.timestamp, bike)
      },
    )
    .tick('forget', { everyMs: MINUTE_MS, clock: 'caught-up', stores, emits: [refunds] }, function forget(now, ctx) {
      unlocked.takeExpired(now, REFUNDED_PER_TICK)
      for (const { key, values } of paid.takeExpired(now, REFUNDED_PER_TICK)) {
        for (const { value } of values) ctx.emit(refunds, key, value)
      }
    })
})

function valuesOf<V>(driver: TestDriver, topic: Topic<string, V>): (V | null)[] {
  return driver.read(topic).map(({ value }) => value)
}

test('an unlock and a payment match in either order', () => {
  const driver = testDriver(paidRides, { startAt: START })
  driver.pipe(payments, 'ada', 150)
  driver.pipe(unlocks, 'bob', 'bike-2')
  driver.advanceWallClock(4 * MINUTE_MS)
  driver.pipe(unlocks, 'ada', 'bike-1')
  driver.pipe(payments, 'bob', 300)

  expect(valuesOf(driver, rides)).toEqual(['bike-1 for 150', 'bike-2 for 300'])
})

/*
 * Only the timestamps of the records matter, not when they arrive. A record that arrives late still finds its match if
 * the match is still in the buffer of the other stream.
 */
test('records that are more than five minutes apart do not match, regardless of when they arrive', () => {
  const driver = testDriver(paidRides, { startAt: START })
  driver.pipe(payments, 'ada', 150, { timestamp: START })
  driver.pipe(unlocks, 'ada', 'bike-1', { timestamp: START + SPAN_MS + 1 })
  expect(valuesOf(driver, rides)).toEqual([])
  driver.pipe(unlocks, 'ada', 'bike-2', { timestamp: START + SPAN_MS })
  expect(valuesOf(driver, rides)).toEqual(['bike-2 for 150'])
})

/*
 * ## Unmatched records
 *
 * `takeExpired(time, limit)` removes values whose time is more than the span before `time`, and returns them, so that
 * an outer join can emit them. The buffer is divided into time segments of a quarter of the span, so the call finds old
 * values without reading newer ones. Because whole segments expire, a value may stay in the buffer up to a quarter of
 * the span longer.
 *
 * To keep the example short, this topology refunds every payment that is old enough, even if the payment has matched a
 * bike. A real topology would remember which payments have found a match.
 */
test('a payment that is too old for any match is removed and refunded once', () => {
  const driver = testDriver(paidRides, { startAt: START })
  driver.pipe(payments, 'ada', 150)
  driver.advanceWallClock(SPAN_MS)
  expect(valuesOf(driver, refunds)).toEqual([])
  driver.advanceWallClock(2 * MINUTE_MS)
  expect(valuesOf(driver, refunds)).toEqual([150])

  driver.restart({ wipeState: true })
  driver.advanceWallClock(SPAN_MS)
  expect(valuesOf(driver, refunds)).toEqual([])
})

/*
 * ## Seen before?
 *
 * A rider should be greeted at a station only the first time in 30 days. A keyed store could hold the list of the
 * stations that a rider has visited, but would store the complete name of each station. A seen-set needs only about 14
 * bits per station (at an error rate of one percent). It errs in one direction only: it may report a new station as
 * seen, but never a seen station as new. The set remembers each station for `lifetimeMs` after the last visit, or up to
 * a tenth longer. `capacity` is the number of stations for which this holds; beyond it, the set may forget the oldest
 * stations early.
 *
 * The set of a rider consists of pages of at most 512 bytes, and a visit changes the items of at most one page, however
 * large the set is. A rider who no longer visits stations never causes a write that could remove expired items, so a
 * tick calls `expire` to delete them.
 */
/** Key: the rider. Value: the station. */
const visits: Topic<string, string> = { name: 'visits', key: utf8, value: avroValue<string>('string'), partitions: 1 }
/** Key: the rider. Value: the station. */
const welcomes: Topic<string, string> = { name: 'welcomes', key: utf8, value: avroValue<string>('string'), partitions: 1 }

/** Key: the rider. Value: a changed page of the rider's set: its number and its new content. */
const seenPages: Topic<string, string> = { name: 'seen-pages', key: utf8, value: avroValue<string>('string'), partitions: 1 }

const MONTH_MS = 30 * 24 * 60 * MINUTE_MS
const STATIONS = { item: utf8, capacity: 10_000, errorRate: 0.01, lifetimeMs: MONTH_MS }
const PAGES_PER_TICK = 1_000

const greeter = topology('greeter', (t) => {
  const seen = seenSetStore('seen', { key: utf8, ...STATIONS, collectChanges: true })
  t.source(visits)
    .process(
      'greet',
      { reads: (station, rider) => seen.prefetch(rider, station), stores: [seen], emits: [welcomes] },
      function greet(station, ctx) {
        if (seen.add(ctx.key, station, ctx.timestamp)) ctx.emit(welcomes, ctx.key, station)
      },
    )
    .tick('forget', { everyMs: MINUTE_MS, clock: 'caught-up', stores: [seen] }, function forget(now) {
      seen.expire(now, PAGES_PER_TICK)
    })
    .beforeCommit('copy', { stores: [seen], emits: [seenPages] }, function copy(ctx) {
      for (const { key, page, bytes } of seen.takeChanges()) ctx.emit(seenPages, key, `${page}:${bytes?.toString('base64') ?? ''}`)
    })
})

test('a rider is welcomed once at each station, even after a restart without the disk', () => {
  const driver = testDriver(greeter, { startAt: START })
  driver.pipe(visits, 'ada', 'harbour')
  driver.pipe(visits, 'ada', 'harbour')
  driver.restart({ wipeState: true })
  driver.pipe(visits, 'ada', 'harbour')
  driver.pipe(visits, 'ada', 'museum')
  driver.pipe(visits, 'bob', 'harbour')

  expect(driver.read(welcomes).map(({ key, value }) => [key, value])).toEqual([
    ['ada', 'harbour'],
    ['ada', 'museum'],
    ['bob', 'harbour'],
  ])
})

/*
 * ## Copies of a set
 *
 * Suppose that an API shows the stations that a rider has not visited yet. It then needs a copy of the rider's set
 * outside the engine. If the store has the option `collectChanges`, `takeChanges` returns each page that has changed
 * since the last commit, so that a topology can publish the changed pages. `seenSetReader` reads a set from its pages.
 * The reader needs the same options as the store.
 */
test('a copy of the pages shows which stations were visited, and an expired page is deleted', () => {
  const driver = testDriver(greeter, { startAt: START })
  driver.pipe(visits, 'ada', 'harbour')
  driver.pipe(visits, 'ada', 'museum')

  const copyOfAda = () => {
    const pages = new Map(driver.read(seenPages).map(({ value }) => (value ?? '').split(':') as [string, string]))
    return (page: number) => (pages.get(`${page}`) ? Buffer.from(pages.get(`${page}`) ?? '', 'base64') : undefined)
  }
  const reader = seenSetReader(STATIONS)
  const seen = reader.open(copyOfAda(), START)
  expect(['harbour', 'museum', 'castle'].map((station) => seen.has(station))).toEqual([true, true, false])

  driver.advanceWallClock(1.1 * MONTH_MS)
  expect(copyOfAda()(0)).toBeUndefined()
})

/*
 * You have read the guide. Sources: `state/stores/join-buffer-store.ts`, `state/stores/seen-set-store.ts`,
 * `state/stores/seen-set/` (the layout and the format of pages).
 */
