/**
 * # 16. Joins and seen-sets
 *
 * Two streams tell two halves of one story, a few minutes apart and in any order. A *join buffer* keeps each half until the other one
 * comes, or until nobody can come any more. And some questions are only "have I had this before?": a *seen-set* answers them in a
 * few bits per item.
 *
 * You need chapters 1 to 5.
 */

import { expect, test } from 'vitest'
import { avroValue, joinBufferStore, seenSetStore, type Topic, topology, utf8 } from '../../pipelines/engine/index.ts'
import { type TestDriver, testDriver } from '../../pipelines/engine/testing.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const START = Date.UTC(2026, 5, 1, 8, 0)

/*
 * ## A join within a span of time
 *
 * A rider pays, and a rider unlocks a bike. What was paid and unlocked within five minutes of each other belongs together. Each side has a buffer; a
 * record looks into the buffer of the other side and then waits in its own. Both topics have the same keys and the same number of
 * partitions, so both halves come to the same task.
 */
/** Key: the rider. Value: cents. */
const payments: Topic<string, number> = { name: 'payments', key: utf8, value: avroValue<number>('int'), partitions: 1 }
/** Key: the rider. Value: the bike. */
const unlocks: Topic<string, string> = { name: 'unlocks', key: utf8, value: avroValue<string>('string'), partitions: 1 }
/** Key: the rider. Value: bike and cents. */
const rides: Topic<string, string> = { name: 'rides', key: utf8, value: avroValue<string>('string'), partitions: 1 }
/** Key: the rider. Value: cents that bought nothing. */
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
      for (const { value: bike } of unlocked.within(ctx.key, ctx.timestamp)) ctx.emit(rides, ctx.key, `${bike} for ${cents}`)
      paid.add(ctx.key, ctx.timestamp, cents)
    },
  )
  t.source(unlocks)
    .process(
      'unlocked',
      { reads: (_bike, rider, timestamp) => paid.prefetch(rider, timestamp), stores, emits: [rides] },
      function unlockRide(bike, ctx) {
        for (const { value: cents } of paid.within(ctx.key, ctx.timestamp)) ctx.emit(rides, ctx.key, `${bike} for ${cents}`)
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

test('the halves find each other, whichever comes first', () => {
  const driver = testDriver(paidRides, { startAt: START })
  driver.pipe(payments, 'ada', 150)
  driver.pipe(unlocks, 'bob', 'bike-2')
  driver.advanceWallClock(4 * MINUTE_MS)
  driver.pipe(unlocks, 'ada', 'bike-1')
  driver.pipe(payments, 'bob', 300)

  expect(valuesOf(driver, rides)).toEqual(['bike-1 for 150', 'bike-2 for 300'])
})

/*
 * What counts is the records' own time, not when they arrive. A record that comes late finds its partner for as long as that is kept.
 */
test('five minutes and a millisecond are too far apart, whenever the records come', () => {
  const driver = testDriver(paidRides, { startAt: START })
  driver.pipe(payments, 'ada', 150, { timestamp: START })
  driver.pipe(unlocks, 'ada', 'bike-1', { timestamp: START + SPAN_MS + 1 })
  expect(valuesOf(driver, rides)).toEqual([])
  driver.pipe(unlocks, 'ada', 'bike-2', { timestamp: START + SPAN_MS })
  expect(valuesOf(driver, rides)).toEqual(['bike-2 for 150'])
})

/*
 * ## What found no partner
 *
 * `takeExpired(time, limit)` takes out what is more than the span older than `time`, and returns it: an outer join emits it. It works by segments of
 * time, a quarter of the span each, and so finds what is old without looking at the rest; a value may stay up to a quarter of the span longer.
 *
 * This topology gives every payment back once it is old, ridden or not: a real one would remember which ones found a bike.
 */
test('what is too old for any partner is taken out', () => {
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
 * Greet a rider at a station only the first time. A keyed store could keep the list of the stations, with as many bytes as their names have.
 * A seen-set keeps some 14 bits per station (at one per cent of errors), and errs to one side only: it may take a station for seen that never was, but it says
 * "new" only of those that are. A set begins with 110 bytes and grows with what is added; `capacity` says how much it remembers at least, and
 * what was added first is forgotten first.
 */
/** Key: the rider. Value: the station. */
const visits: Topic<string, string> = { name: 'visits', key: utf8, value: avroValue<string>('string'), partitions: 1 }
/** Key: the rider. Value: the station. */
const welcomes: Topic<string, string> = { name: 'welcomes', key: utf8, value: avroValue<string>('string'), partitions: 1 }

const greeter = topology('greeter', (t) => {
  const seen = seenSetStore('seen', { key: utf8, item: utf8, capacity: 10_000, errorRate: 0.01 })
  t.source(visits).process(
    'greet',
    { reads: (_station, rider) => seen.prefetch(rider), stores: [seen], emits: [welcomes] },
    function greet(station, ctx) {
      if (seen.add(ctx.key, station)) ctx.emit(welcomes, ctx.key, station)
    },
  )
})

test('a rider is welcomed once per station, also after a crash', () => {
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
 * You have read the guide. Sources: `state/stores/join-buffer-store.ts`, `state/stores/seen-set-store.ts`, `state/stores/bloom-filter.ts`.
 */
