/**
 * # 6. Time across stages
 *
 * Every minute the city wants the list of its three busiest stations. That takes three stages: rides come by bike, are counted by
 * station, and are ranked in one place. When is a minute's list complete? The last stage sees a few counts arrive and cannot know whether
 * more are on their way: a station's task may be slow, or restarting, or on a machine that has just died. A clock on its own wall would
 * publish a list without that station, and nobody would notice.
 *
 * So only the first stage looks at the clock, and tells the others. You need chapters 3 to 5.
 */

import { expect, test } from 'vitest'
import { type AvroSchema, avroValue, type Topic, topKStore, topology, utf8, windowedCounterStore } from '../../pipelines/engine/index.ts'
import { type TestDriver, testDriver } from '../../pipelines/engine/testing.ts'

const MINUTE_MS = 60_000
const NOON = Date.UTC(2026, 5, 1, 12, 0)
/** Noon is marked by then. */
const START = NOON + 2_000
const CITY = 'city'

/** Key: the bike. Value: the station where the ride began. */
const rides: Topic<string, string> = { name: 'rides', key: utf8, value: avroValue<string>('string'), partitions: 2 }

interface Busy {
  station: string
  rides: number
}

const busySchema: AvroSchema = {
  type: 'record',
  name: 'Busy',
  fields: [
    { name: 'station', type: 'string' },
    { name: 'rides', type: 'int' },
  ],
}

const busyList = avroValue<Busy[]>({ type: 'array', items: busySchema })

/** Key: the city. Value: its busiest stations in the minute before the record's timestamp. */
const busiest: Topic<string, Busy[]> = { name: 'busiest-stations', key: utf8, value: busyList, partitions: 1 }

/*
 * ## Markers
 *
 * - The first stage says `.markTime({ everyMs, delayMs, to })`. When the time of day has passed 12:01 by `delayMs`, and everything that lay
 *   in its source at that moment is processed, the stage writes a *time marker* 12:01 into every partition of the next topic. It does so in the
 *   very transaction that commits this work, so the marker lies behind all of it. (`delayMs` is for records that were sent before
 *   12:01 and arrive a little after.)
 * - A later stage says `.onTime(name, options, handler)`. The handler runs when the markers 12:01 of *all* partitions of the stage before are
 *   there. What it emits goes out together with its own marker for the stage after it (`forwardTo`).
 * - A marker of one partition that never comes holds the time back. A missing partition is never taken for zero.
 *
 * The last stage keeps its ranking in a `topKStore`: per group the K best items. `compare` must order any two different items, or the
 * list would depend on the order of arrival; here equal stations are ordered by name.
 */
const busyStations = topology('busy-stations', (t) => {
  const byStation = t.repartition('by-station', { key: utf8, value: avroValue<number>('int'), partitions: 3 })
  const candidates = t.repartition('candidates', { key: utf8, value: avroValue<Busy>(busySchema), partitions: 1 })

  t.source(rides)
    .process('rekey', { emits: [byStation] }, function rekey(station, ctx) {
      ctx.emit(byStation, station, 1)
    })
    .markTime({ everyMs: MINUTE_MS, delayMs: 2_000, to: byStation })

  const counts = windowedCounterStore('counts', { key: utf8, bucketMs: MINUTE_MS, buckets: 5 })
  t.source(byStation)
    .process('count', { stores: [counts] }, function countRides(started, ctx) {
      counts.add(ctx.key, ctx.timestamp, started)
    })
    .onTime('report', { stores: [counts], emits: [candidates], forwardTo: candidates }, function reportMinute(time, ctx) {
      for (const station of counts.keys()) {
        const started = counts.count(station, time - MINUTE_MS, time)
        if (started > 0) ctx.emit(candidates, CITY, { station, rides: started })
        counts.trim(station, time)
      }
    })

  const ranking = topKStore('ranking', {
    group: utf8,
    list: busyList,
    k: 3,
    id: (item) => item.station,
    compare: (a, b) => b.rides - a.rides || (a.station < b.station ? -1 : 1),
  })
  t.source(candidates)
    .process('rank', { stores: [ranking] }, function rank(candidate, ctx) {
      ranking.add(ctx.key, candidate)
    })
    .onTime('publish', { stores: [ranking], emits: [busiest] }, function publishMinute(time, ctx) {
      ctx.emit(busiest, CITY, [...ranking.list(CITY)], { timestamp: time })
      ranking.delete(CITY)
    })
})

let bikes = 0
function ridesBegin(driver: TestDriver, station: string, howMany: number, time: number): void {
  for (let i = 0; i < howMany; i++) driver.pipe(rides, `bike-${bikes++}`, station, { timestamp: time })
}

/** What was published, as `12:01 harbour 3, museum 1`. */
function published(driver: TestDriver): string[] {
  return driver.read(busiest).map(({ timestamp, value }) => {
    const list = (value ?? []).map(({ station, rides }) => `${station} ${rides}`).join(', ')
    return `${new Date(timestamp).toISOString().slice(11, 16)} ${list || 'nothing'}`
  })
}

test('every minute has one list, and a quiet minute has an empty one', () => {
  const driver = testDriver(busyStations, { startAt: START })
  ridesBegin(driver, 'harbour', 3, NOON + 10_000)
  ridesBegin(driver, 'museum', 1, NOON + 20_000)
  ridesBegin(driver, 'airport', 4, NOON + 30_000)
  ridesBegin(driver, 'zoo', 1, NOON + 40_000)
  published(driver) // the list of noon, when nothing had begun yet

  driver.advanceWallClock(MINUTE_MS - 1)
  expect(published(driver)).toEqual([]) // 12:01 has passed, but not yet by two seconds
  driver.advanceWallClock(1)
  expect(published(driver)).toEqual(['12:01 airport 4, harbour 3, museum 1'])

  driver.advanceWallClock(MINUTE_MS)
  expect(published(driver)).toEqual(['12:02 nothing'])
})

/*
 * ## After a stop
 *
 * The worker is down from 12:00 to 12:02. The rides of 12:01 wait in Kafka. On a wall clock of its own each stage would now publish what it
 * has, and add the rest to a minute that is gone. Here the first stage marks 12:02 only when the backlog is done, and then each later stage
 * has everything before the marker. The times in between are skipped: nobody could say any more what was there at 12:01.
 */
test('a backlog is counted before its time is published', () => {
  const driver = testDriver(busyStations, { startAt: START, commit: 'manual' })
  driver.settle()
  published(driver)

  ridesBegin(driver, 'harbour', 5, NOON + 90_000)
  driver.restart({ downMs: 2 * MINUTE_MS })
  driver.settle()
  expect(published(driver)).toEqual(['12:02 harbour 5'])
})

/*
 * ## After a crash
 *
 * Which markers a stage has, and which time it has closed, is state like any other. A crash in the middle of a minute's journey leads
 * to the same list, once.
 */
test.each(['encoded', 'produced', 'offsets-added', 'committed', 'written'] as const)('a crash after %s: the same list, once', (step) => {
  const driver = testDriver(busyStations, { startAt: START })
  ridesBegin(driver, 'harbour', 3, NOON + 10_000)
  published(driver)

  driver.crashAt(step)
  expect(() => driver.advanceWallClock(MINUTE_MS + 2_000)).toThrow('crash after')
  driver.restart()
  driver.settle()
  driver.advanceWallClock(1_000)
  expect(published(driver)).toEqual(['12:01 harbour 3'])
})

/*
 * ## How it looks in Kafka
 *
 * A marker is a record without key and value, with one header that says the time, which partition of how many has got there, and of
 * which stage. Every console consumer can show it, so a time that does not come can be looked into: which partition is missing? A worker
 * says the latest closed time of every task under `/tasks`.
 */
test('a marker of every partition goes to every partition', () => {
  const driver = testDriver(busyStations, { startAt: START })
  driver.settle()

  const markers = driver.broker.records('busy-stations-by-station-repartition')
  expect(markers.map(({ partition, headers }) => `in ${partition}: ${headers[0].value}`)).toEqual(
    [0, 1, 2].flatMap((partition) => [`in ${partition}: ${NOON} 0/2 rides`, `in ${partition}: ${NOON} 1/2 rides`]),
  )
})

/*
 * With this a test can play a partition that falls silent. Let a third partition of the rides be heard of once, at noon, and no more: every time
 * after noon now waits for it, and comes when it comes.
 */
test('a missing partition holds the time back', () => {
  const driver = testDriver(busyStations, { startAt: START })
  const byStation = { ...rides, name: 'busy-stations-by-station-repartition' }
  function thirdPartitionReaches(time: number): void {
    const header = { key: 'millrace-time', value: Buffer.from(`${time} 2/3 rides`) }
    for (const partition of [0, 1, 2]) driver.pipeBytes(byStation, null, null, { partition, headers: [header] })
  }
  thirdPartitionReaches(NOON)
  ridesBegin(driver, 'harbour', 3, NOON + 10_000)
  published(driver)

  driver.advanceWallClock(MINUTE_MS)
  expect(published(driver)).toEqual([])
  thirdPartitionReaches(NOON + MINUTE_MS)
  expect(published(driver)).toEqual(['12:01 harbour 3'])
})

test('a stage that waits for markers needs somebody who sends them', () => {
  expect(() =>
    topology('waits-for-ever', (t) => {
      t.source(rides).onTime('publish', { emits: [busiest] }, () => {})
    }),
  ).toThrow('publish waits for time markers on rides, but no stage sends any: use markTime or forwardTo with this topic')
})

/*
 * A handler that has much to do may be a generator and `yield` now and then: the worker can answer heartbeats in between, and still nothing of
 * the task runs or is committed before the handler is done.
 *
 * Read next: chapter 7, exactly once. Sources: `pipelines/engine/time/time-mark.ts` (when a first stage may mark), `pipelines/engine/time/time-gate.ts`
 * (when a later stage may close), and `pipelines/trends/topology.ts`, three stages in production.
 */
