/**
 * # 5. Ticks and timers
 *
 * A bike was unlocked and never returned. No record will ever report this, so your code must notice that nothing has
 * arrived for too long. *Ticks* run your code at regular times, and *timers* remember when something is due.
 *
 * You need chapters 1 to 4.
 */

import { expect, test } from 'vitest'
import { avroValue, type Context, drop, type Topic, timerStore, topology, utf8 } from '../../pipelines/engine/index.ts'
import { type TestDriver, testDriver } from '../../pipelines/engine/testing.ts'

/** Key: the bike. Value: the action on its lock. */
const locks: Topic<string, string> = { name: 'locks', key: utf8, value: avroValue<string>('string'), partitions: 1 }
/** Key: the bike. Value: when the bike became overdue, a day after it was unlocked, epoch ms. */
const missing: Topic<string, number> = { name: 'missing-bikes', key: utf8, value: avroValue<number>('long'), partitions: 1 }

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const START = Date.UTC(2026, 5, 1, 8, 0)

/*
 * ## Timers
 *
 * `timerStore` keeps at most one timer per key. `schedule` sets it, `cancel` removes it, and `takeDue(now, limit)`
 * removes and returns the timers that are due. It finds these without reading any other timers, however many there are.
 * Like all state, timers survive restarts, and they move with their partition to other workers.
 *
 * A timer does not fire by itself. A tick has to ask for the timers that are due. Limit the number of timers in each
 * tick, because a million timers that are due at once would hold up the records that arrive next. The next tick takes
 * the rest.
 *
 * Use the clock `caught-up`, as for windows: a worker that was stopped for a day must first read which bikes were
 * returned in the meantime.
 */
const MISSING_AFTER_MS = 24 * HOUR_MS
const REPORTED_PER_TICK = 2 // small enough for a test; 1,000 would be usual

const missingBikes = topology('missing-bikes', (t) => {
  const timers = timerStore('timers', { key: utf8 })

  function reportDue(now: number, ctx: Context): void {
    for (const { key, due } of timers.takeDue(now, REPORTED_PER_TICK)) ctx.emit(missing, key, due)
  }

  t.source(locks)
    .process('watch', { reads: (_action, bike) => timers.prefetch(bike), stores: [timers] }, function watchBike(action, ctx) {
      if (action === 'unlocked') return timers.schedule(ctx.key, ctx.timestamp + MISSING_AFTER_MS)
      if (action === 'locked') return timers.cancel(ctx.key)
      return drop('unknown-action')
    })
    .tick('report', { everyMs: MINUTE_MS, clock: 'caught-up', stores: [timers], emits: [missing] }, reportDue)
})

function reported(driver: TestDriver): (string | undefined)[] {
  return driver.read(missing).map((record) => record.key)
}

test('a bike that is not returned is reported after a day', () => {
  const driver = testDriver(missingBikes, { startAt: START })
  driver.pipe(locks, 'bike-1', 'unlocked')
  driver.pipe(locks, 'bike-2', 'unlocked')
  driver.advanceWallClock(HOUR_MS)
  driver.pipe(locks, 'bike-2', 'locked')

  driver.advanceWallClock(MISSING_AFTER_MS - HOUR_MS - 1)
  expect(reported(driver)).toEqual([])
  driver.advanceWallClock(1)
  expect(reported(driver)).toEqual(['bike-1'])
})

test('a tick takes at most the given number of timers, and the next tick takes the rest', () => {
  const driver = testDriver(missingBikes, { startAt: START })
  for (const bike of ['bike-1', 'bike-2', 'bike-3']) driver.pipe(locks, bike, 'unlocked')

  driver.advanceWallClock(MISSING_AFTER_MS)
  expect(reported(driver)).toEqual(['bike-1', 'bike-2'])
  driver.advanceWallClock(MINUTE_MS)
  expect(reported(driver)).toEqual(['bike-3'])
})

test('a timer survives a restart, even if the folder is lost', () => {
  const driver = testDriver(missingBikes, { startAt: START })
  driver.pipe(locks, 'bike-1', 'unlocked')
  driver.restart({ wipeState: true })
  driver.advanceWallClock(MISSING_AFTER_MS)

  expect(reported(driver)).toEqual(['bike-1'])
})

test('a bike that was returned while the worker was stopped is not missing', () => {
  const driver = testDriver(missingBikes, { startAt: START, commit: 'manual' })
  driver.pipe(locks, 'bike-1', 'unlocked')
  driver.settle()
  driver.pipe(locks, 'bike-1', 'locked') // waits in Kafka
  driver.restart({ downMs: 2 * MISSING_AFTER_MS })
  driver.advanceWallClock(MINUTE_MS)
  driver.settle()

  expect(reported(driver)).toEqual([])
})

/*
 * ## The three clocks
 *
 * | `clock` | runs when | for |
 * |---|---|---|
 * | `event` | a record moves stream time to a multiple of `everyMs` or past it | closing windows while records arrive, even if the records are old |
 * | `caught-up` | the wall clock reaches a multiple, and everything that was in the sources by then is processed | closing windows, timers: work whose result depends on the input |
 * | `wall` | the wall clock reaches a multiple, regardless of the backlog | work that is independent of the input: heartbeats, deleting old keys |
 *
 * All three clocks tick at multiples of `everyMs` since 1970 (UTC), so an hourly tick runs on the hour on every worker.
 * If several multiples have passed since the last run, the handler runs once, with the last multiple. A handler must
 * therefore do everything that is due *up to* its time, as `takeDue(now, …)` does, and not only the work of one
 * interval.
 */
const pulse: Topic<string, number> = { name: 'pulse', key: utf8, value: avroValue<number>('long'), partitions: 1 }

const heartbeat = topology('heartbeat', (t) => {
  t.source(locks).tick('beat', { everyMs: MINUTE_MS, clock: 'wall', emits: [pulse] }, (now, ctx) => {
    ctx.emit(pulse, `partition ${ctx.partition}`, now)
  })
})

test('a tick with the clock `wall` needs no input, and first runs at the first multiple after the start', () => {
  const driver = testDriver(heartbeat, { startAt: START + 1 })
  expect(driver.read(pulse)).toEqual([])

  driver.advanceWallClock(3 * MINUTE_MS)
  expect(driver.read(pulse).map((record) => (Number(record.value) - START) / MINUTE_MS)).toEqual([1, 2, 3])
})

/*
 * Every task runs its own ticks, and there is one task for each partition. With four partitions, this heartbeat runs
 * four times a minute. Work that must happen once for the whole topology belongs in a stage with a single partition.
 * The next chapter shows how such a stage finds out that all input up to a time has arrived.
 */
test('every task runs its own ticks', () => {
  const driver = testDriver(heartbeat, { startAt: START + 1, partitions: { locks: 4 } })
  driver.advanceWallClock(MINUTE_MS)

  expect(driver.read(pulse).map((record) => record.key)).toEqual(['partition 0', 'partition 1', 'partition 2', 'partition 3'])
})

/*
 * Read next: chapter 6, time across stages. Sources: `state/stores/timer-store.ts`, `pipelines/engine/time/ticks.ts`,
 * `pipelines/engine/time/task-time.ts`.
 */
