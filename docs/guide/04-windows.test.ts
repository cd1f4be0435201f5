/**
 * # 4. Windows and event time
 *
 * How many bikes were returned here in the last ten minutes? How many between 12:00 and 12:05? Such questions need
 * *windows*, and windows need a clock. A dock that was offline for a minute sends its records a minute late, although
 * the bikes were returned on time. Windows therefore use *event time*: the time in the record's timestamp,
 * `ctx.timestamp`.
 *
 * You need chapters 1 to 3.
 */

import { expect, test } from 'vitest'
import {
  avroValue,
  type Context,
  compositeKey,
  keyedStore,
  late,
  type Topic,
  textPart,
  topology,
  u64Part,
  utf8,
  windowedCounterStore,
} from '../../pipelines/engine/index.ts'
import { type TestDriver, testDriver } from '../../pipelines/engine/testing.ts'

/** Key: the station. Value: the bike. */
const returns: Topic<string, string> = { name: 'returns', key: utf8, value: avroValue<string>('string'), partitions: 1 }
/** Late records about returned bikes. */
const lateReturns: Topic<string, string> = { ...returns, name: 'late-returns' }
/** Key: the station. Value: the number of returned bikes. */
const counts: Topic<string, number> = { name: 'return-counts', key: utf8, value: avroValue<number>('int'), partitions: 1 }

const MINUTE_MS = 60_000
const NOON = Date.UTC(2026, 5, 1, 12, 0)

/** Returns the epoch ms of a time of day, such as `12:03` or `12:04:30`. */
const at = (clock: string) => Date.parse(`2026-06-01T${clock.padEnd(8, ':00')}Z`)
/** Returns the time of day, such as `12:03`. */
const clockOf = (time: number) => new Date(time).toISOString().slice(11, 16)

function bikeReturned(driver: TestDriver, station: string, clock: string): void {
  driver.pipe(returns, station, 'some bike', { timestamp: at(clock) })
}

/*
 * ## Sliding windows
 *
 * `windowedCounterStore` counts for each key in time buckets of equal length. It keeps a fixed number of the newest
 * buckets in a ring and forgets older buckets. The count in a sliding window, such as "the last ten minutes", is the
 * sum of the newest buckets.
 */
const lastTenMinutes = topology('last-ten-minutes', (t) => {
  const ring = windowedCounterStore('returns', { key: utf8, bucketMs: MINUTE_MS, buckets: 10 })
  t.source(returns).process(
    'count',
    { reads: (_bike, station) => ring.prefetch(station), stores: [ring], emits: [counts] },
    function countReturn(_bike, ctx) {
      if (!ring.add(ctx.key, ctx.timestamp)) return late
      const end = ctx.timestamp + 1
      ctx.emit(counts, ctx.key, ring.count(ctx.key, end - 10 * MINUTE_MS, end))
    },
  )
})

test('each return publishes the number of returns in the last ten minutes', () => {
  const driver = testDriver(lastTenMinutes)
  for (const clock of ['12:00', '12:04', '12:04:30', '12:09:59', '12:10']) bikeReturned(driver, 'harbour', clock)

  // At 12:10 the return of 12:00 has left the window.
  expect(driver.read(counts).map((record) => record.value)).toEqual([1, 2, 3, 4, 4])
})

test('a record that is older than all buckets is counted as late, and has no other effect', () => {
  const driver = testDriver(lastTenMinutes)
  bikeReturned(driver, 'harbour', '12:30')
  bikeReturned(driver, 'harbour', '12:05')

  expect(driver.read(counts)).toHaveLength(1)
  expect(driver.metrics.late).toBe(1)
})

/*
 * ## Fixed windows
 *
 * The question "how many between 12:00 and 12:05?" has one final answer. Publish it once, when the window is over. For
 * every task, the engine keeps the highest event time so far, the *stream time* (`ctx.streamTime`). When stream time
 * reaches 12:05, the window is over, except for stragglers. The time that you wait for stragglers is the *grace
 * period*. A record that arrives later is *late*. `return late` counts the record, and sends it unchanged to the
 * source's `lateOutput` if there is one.
 *
 * Three rules make windows correct:
 *
 * 1. The key of the store begins with the window. All windows that are over are therefore at the front of the store,
 *    and one scan finds them.
 * 2. The end of the last closed window is kept in a store, too. This time decides which records are late: those whose
 *    window has been published, and not all records that are older than stream time.
 * 3. Two ticks with different clocks close windows. A tick with the clock `event` closes them while records arrive,
 *    even if the records are read hours after they were sent. But event time does not advance without records: after
 *    the last bike of the night, the last window would stay open until morning. Therefore, a tick with the clock
 *    `caught-up` also closes windows by the wall clock, as soon as everything that was in the topic by then is
 *    processed.
 */
const WINDOW_MS = 5 * MINUTE_MS
const GRACE_MS = MINUTE_MS

/** Windows begin at multiples of their length. */
const windowOf = (time: number) => Math.floor(time / WINDOW_MS) * WINDOW_MS

const windowKey = compositeKey<{ start: number; station: string }>({ start: u64Part, station: textPart })

const fiveMinutes = topology('five-minutes', (t) => {
  const open = keyedStore('open', { key: windowKey, value: avroValue<number>('int') })
  const closed = keyedStore('closed', { key: utf8, value: avroValue<number>('long') })
  const closedUntil = () => closed.get('until') ?? 0

  function closeWindows(now: number, ctx: Context): void {
    const until = windowOf(now - GRACE_MS)
    if (until <= closedUntil()) return
    for (const [window, returned] of open.scan({ lt: { start: until, station: '' } })) {
      ctx.emit(counts, window.station, returned, { timestamp: window.start })
      open.delete(window)
    }
    closed.put('until', until)
  }

  const usesBoth = { stores: [open, closed] }
  t.source(returns, { lateOutput: lateReturns })
    .process('count', usesBoth, function countReturn(_bike, ctx) {
      const start = windowOf(ctx.timestamp)
      if (start < closedUntil()) return late
      const window = { start, station: ctx.key }
      open.put(window, (open.get(window) ?? 0) + 1)
    })
    .tick('close', { everyMs: MINUTE_MS, clock: 'event', emits: [counts], ...usesBoth }, closeWindows)
    .tick('close-when-silent', { everyMs: MINUTE_MS, clock: 'caught-up', emits: [counts], ...usesBoth }, closeWindows)
})

/** Formats the published counts as `12:00 harbour 3`. */
function published(driver: TestDriver): string[] {
  return driver.read(counts).map(({ timestamp, key, value }) => `${clockOf(timestamp)} ${key} ${value}`)
}

/*
 * An `event` tick runs directly after the record that moves stream time to a multiple of `everyMs` or past it, and gets
 * that multiple as its time. In this test, the driver's wall clock stays at noon, so only event time matters.
 */
test('a window is published once, when event time has reached its end plus the grace period', () => {
  const driver = testDriver(fiveMinutes, { startAt: NOON })
  bikeReturned(driver, 'harbour', '12:01')
  bikeReturned(driver, 'museum', '12:02')
  bikeReturned(driver, 'harbour', '12:05:30') // the next window
  bikeReturned(driver, 'harbour', '12:04:59') // a straggler, within the grace period
  expect(published(driver)).toEqual([])

  bikeReturned(driver, 'museum', '12:06') // over
  expect(published(driver)).toEqual(['12:00 harbour 2', '12:00 museum 1'])
})

test('a record whose window was published is late and goes to the late output', () => {
  const driver = testDriver(fiveMinutes, { startAt: NOON })
  bikeReturned(driver, 'harbour', '12:01')
  bikeReturned(driver, 'harbour', '12:06')
  expect(published(driver)).toEqual(['12:00 harbour 1'])

  bikeReturned(driver, 'harbour', '12:04:59')
  expect(published(driver)).toEqual([])
  expect(driver.metrics.late).toBe(1)
  expect(driver.read(lateReturns).map(({ key, timestamp }) => `${clockOf(timestamp)} ${key}`)).toEqual(['12:04 harbour'])
})

/*
 * ## Silence
 *
 * The driver's wall clock moves only when the test advances it. Every tick that becomes due on the way runs with the
 * time at which it was due.
 */
test('without further records, the wall clock closes the window', () => {
  const driver = testDriver(fiveMinutes, { startAt: NOON })
  bikeReturned(driver, 'harbour', '12:01')

  driver.advanceWallClock(6 * MINUTE_MS - 1)
  expect(published(driver)).toEqual([])
  driver.advanceWallClock(1)
  expect(published(driver)).toEqual(['12:00 harbour 1'])
})

/*
 * Why not simply use the wall clock? Suppose that a worker stops at 12:02 and restarts at 12:30. Three bikes were
 * returned at 12:03, and their records wait in Kafka. According to the wall clock, the window is long over, but its
 * records have not been read yet. `caught-up` waits until they are processed. (`clock: 'wall'` uses only the wall
 * clock, for work that does not depend on the input: see chapter 5.)
 *
 * With `commit: 'manual'`, records stay in the topic until the test processes them. `restart({ downMs })` advances the
 * clock while the process is down.
 */
test('a backlog is processed before the window closes', () => {
  const driver = testDriver(fiveMinutes, { startAt: NOON, commit: 'manual' })
  for (let i = 0; i < 3; i++) bikeReturned(driver, 'harbour', '12:03')
  driver.restart({ downMs: 30 * MINUTE_MS })
  driver.advanceWallClock(MINUTE_MS)
  driver.settle()

  expect(published(driver)).toEqual(['12:00 harbour 3'])
  expect(driver.metrics.late).toBe(0)
})

/*
 * ## Restarts
 *
 * The engine commits counts, the end of the last closed window and stream time together with the offsets. After a
 * crash, a window is therefore neither published twice nor opened again, and a record that would have been late before
 * the crash is still late.
 */
test.each([false, true])('a published window stays closed across a restart (folder lost: %s)', (wipeState) => {
  const driver = testDriver(fiveMinutes, { startAt: NOON })
  bikeReturned(driver, 'harbour', '12:01')
  bikeReturned(driver, 'harbour', '12:06')
  driver.restart({ wipeState })
  bikeReturned(driver, 'harbour', '12:02')
  bikeReturned(driver, 'harbour', '12:11')

  expect(published(driver)).toEqual(['12:00 harbour 1', '12:05 harbour 1'])
  expect(driver.metrics.late).toBe(1)
})

/*
 * ## Wrong clocks
 *
 * A dock whose clock is an hour ahead would move stream time an hour ahead, and every later record from a dock with a
 * correct clock would be late. Reject records from the future, as `pipelines/trends/tweet-counts.ts` does: a record
 * that goes to the dead letters (chapter 8) does not move stream time.
 *
 * Read next: chapter 5, ticks and timers. Sources: `state/stores/windowed-counter-store.ts`, `schemas/composite.ts`
 * (keys that sort like their parts), `pipelines/engine/time/task-time.ts`.
 */
