/**
 * # 6. Time across stages
 *
 * Every minute the city wants a list of its three busiest stations. This takes three stages: the first gets rides
 * keyed by bike, the second counts them by station, and the third ranks the stations in a single task. When is a
 * minute's list complete? The counts that the last stage has received do not show whether more are on their way. The
 * task that counts a station may be slow, or restarting, or on a machine that has just died. If the last stage used its
 * own wall clock, it would publish a list without that station, and no error would show it.
 *
 * Therefore, only the first stage uses the wall clock, and it passes the time on to the later stages. You need chapters
 * 3 to 5.
 */

import { expect, test } from 'vitest'
import { type AvroSchema, avroValue, type Topic, topKStore, topology, utf8, windowedCounterStore } from '../../pipelines/engine/index.ts'
import { type TestDriver, testDriver } from '../../pipelines/engine/testing.ts'

const MINUTE_MS = 60_000
const NOON = Date.UTC(2026, 5, 1, 12, 0)
/** At this time, the marker for noon is due (see `delayMs` below). */
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
 * - The first stage calls `.markTime({ everyMs, delayMs, to })`. At `delayMs` after 12:01, for example, the stage notes
 *   the end offsets of its source. When all records before these offsets are processed, the stage writes a *time
 *   marker* for 12:01 to every partition of the next topic. The marker comes after all output from these records, which
 *   is in the same transaction or an earlier one. (`delayMs` allows for records that were sent before 12:01 and arrive
 *   a little later.)
 * - A later stage calls `.onTime(name, options, handler)`. The handler runs when the markers for 12:01 from *all*
 *   partitions of the previous stage have arrived. The stage sends the handler's output together with its own marker
 *   for the next stage (`forwardTo`).
 * - By default, the time of the later stages does not advance while the marker of one partition is missing. No result
 *   is therefore published without the counts of that partition (but see `closeWithout` in `docs/engine-reference.md`).
 *
 * The last stage keeps its ranking in a `topKStore`, which holds the K best items of each group. `compare` must define
 * an order for any two different items, so that the list does not depend on the order in which items arrive. In this
 * chapter, it orders stations with equal counts by name.
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

/** Formats the published lists as `12:01 harbour 3, museum 1`. */
function published(driver: TestDriver): string[] {
  return driver.read(busiest).map(({ timestamp, value }) => {
    const list = (value ?? []).map(({ station, rides }) => `${station} ${rides}`).join(', ')
    return `${new Date(timestamp).toISOString().slice(11, 16)} ${list || 'nothing'}`
  })
}

test('every minute has one list, which is empty if nothing happened', () => {
  const driver = testDriver(busyStations, { startAt: START })
  ridesBegin(driver, 'harbour', 3, NOON + 10_000)
  ridesBegin(driver, 'museum', 1, NOON + 20_000)
  ridesBegin(driver, 'airport', 4, NOON + 30_000)
  ridesBegin(driver, 'zoo', 1, NOON + 40_000)
  published(driver) // skips the list for noon, before the first ride

  driver.advanceWallClock(MINUTE_MS - 1)
  expect(published(driver)).toEqual([]) // 12:01 has passed, but by less than two seconds
  driver.advanceWallClock(1)
  expect(published(driver)).toEqual(['12:01 airport 4, harbour 3, museum 1'])

  driver.advanceWallClock(MINUTE_MS)
  expect(published(driver)).toEqual(['12:02 nothing'])
})

/*
 * ## After a stop
 *
 * The worker is down from 12:00 to 12:02, and the rides of 12:01 wait in Kafka. If each stage used its own wall clock,
 * it would now publish the rides counted so far and add the others to the wrong minute. Instead, the first stage sends
 * the marker for 12:02 only when the backlog is processed, so each later stage gets all of its input before the marker.
 * The marker for 12:01 is skipped, because the engine cannot tell afterwards which records had arrived by then.
 */
test('a backlog is counted before the list for its minute is published', () => {
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
 * The markers that a stage has received, and the last time for which its handler has run, are state like any other. The
 * same list is therefore published, and only once, regardless of when the process crashes.
 */
test.each(['encoded', 'produced', 'offsets-added', 'committed', 'written'] as const)(
  'after a crash at %s, the same list is published once',
  (step) => {
    const driver = testDriver(busyStations, { startAt: START })
    ridesBegin(driver, 'harbour', 3, NOON + 10_000)
    published(driver)

    driver.crashAt(step)
    expect(() => driver.advanceWallClock(MINUTE_MS + 2_000)).toThrow('crash after')
    driver.restart()
    driver.settle()
    driver.advanceWallClock(1_000)
    expect(published(driver)).toEqual(['12:01 harbour 3'])
  },
)

/*
 * ## Markers in Kafka
 *
 * A marker is a record without key and value. Its only header contains the time, the partition that has reached this
 * time, the number of partitions, and the stage. Any console consumer can show markers, so if the time does not
 * advance, you can see which partition's marker is missing. Under `/tasks`, a worker lists the last time that each task
 * has completed.
 */
test('each partition sends its marker to every partition of the next stage', () => {
  const driver = testDriver(busyStations, { startAt: START })
  driver.settle()

  const markers = driver.broker.records('busy-stations-by-station-repartition')
  expect(markers.map(({ partition, headers }) => `in ${partition}: ${headers[0].value}`)).toEqual(
    [0, 1, 2].flatMap((partition) => [`in ${partition}: ${NOON} 0/2 rides`, `in ${partition}: ${NOON} 1/2 rides`]),
  )
})

/*
 * A test can write such markers to simulate a partition that falls silent. Here, a third partition of the rides sends
 * its marker for noon, but its marker for 12:01 comes late. The list for 12:01 waits for this marker, and is published
 * as soon as it arrives.
 */
test('a list waits until the marker of every partition has arrived', () => {
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

test('a stage that waits for markers needs a stage that sends them', () => {
  expect(() =>
    topology('waits-for-ever', (t) => {
      t.source(rides).onTime('publish', { emits: [busiest] }, () => {})
    }),
  ).toThrow('publish waits for time markers on rides, but no stage sends any: use markTime or forwardTo with this topic')
})

/*
 * A handler that has a lot to do may be a generator function that yields regularly, so that the worker can send
 * heartbeats in between. Until the handler has finished, no other code of the task runs and nothing is committed.
 *
 * Read next: chapter 7, exactly once. Sources: `pipelines/engine/time/time-mark.ts` (when the first stage may send a
 * marker), `pipelines/engine/time/time-gate.ts` (when the handler of a later stage may run), and
 * `pipelines/trends/topology.ts`, which has three stages in production.
 */
