import { expect, test } from 'vitest'
import { testDriver } from '../../../../pipelines/engine/testing/test-driver.ts'
import { tickSchedule } from '../../../../pipelines/engine/time/ticks.ts'
import { topology } from '../../../../pipelines/engine/topology/topology.ts'
import { utf8 } from '../../../../schemas/keys.ts'
import { keyedStore } from '../../../../state/stores/keyed-store.ts'
import { numberFormat, numberTopic } from '../words.ts'

const MINUTE_MS = 60_000
const NOON = Date.UTC(2026, 0, 1, 12)
const sales = numberTopic('sales', 1)
const perMinute = numberTopic('per-minute', 1)
const minute = (time: number) => new Date(time).toISOString().slice(11, 16)

/** Sums the sales of every minute, and emits the sum once event time has passed the minute. */
const minutes = topology('minutes', (t) => {
  const sums = keyedStore('sums', { key: utf8, value: numberFormat })
  t.source(sales)
    .process('add', { stores: [sums] }, (amount, ctx) => {
      const key = minute(ctx.timestamp)
      sums.put(key, (sums.get(key) ?? 0) + amount)
    })
    .tick('close', { everyMs: MINUTE_MS, clock: 'event', stores: [sums], emits: [perMinute] }, (time, ctx) => {
      for (const [key, sum] of sums.scan({ lt: minute(time) })) {
        ctx.emit(perMinute, key, sum)
        sums.delete(key)
      }
    })
})

function closing() {
  const driver = testDriver(minutes, { startAt: NOON })
  const sell = (at: number, amount: number) => driver.pipe(sales, 'shop', amount, { timestamp: NOON + at })
  const closed = () => driver.read(perMinute).map(({ key, value, timestamp }) => `${key} ${value} at ${timestamp - NOON}`)
  return { driver, sell, closed }
}

test('an event-time tick fires when a record passes a multiple of the period, and the time of the tick is that multiple', () => {
  const { sell, closed } = closing()
  sell(10_000, 1)
  sell(50_000, 2)
  expect(closed()).toEqual([])
  sell(61_000, 4)
  expect(closed()).toEqual(['12:00 3 at 60000'])
})

test('if event time passes several multiples at once, a tick fires only for the last one', () => {
  const { sell, closed } = closing()
  sell(0, 1)
  sell(5 * MINUTE_MS, 2)
  expect(closed()).toEqual(['12:00 1 at 300000'])
})

test('event time does not go back, and survives a restart, even without the state folder', () => {
  const { driver, sell, closed } = closing()
  sell(MINUTE_MS, 1)
  sell(0, 5)
  expect(driver.tasks[0].streamTime).toBe(NOON + MINUTE_MS)
  driver.restart()
  expect(driver.tasks[0].streamTime).toBe(NOON + MINUTE_MS)
  driver.restart({ wipeState: true })
  expect(driver.tasks[0].streamTime).toBe(NOON + MINUTE_MS)
  sell(2 * MINUTE_MS, 2)
  expect(closed()).toEqual(['12:00 5 at 120000', '12:01 1 at 120000'])
})

test('wall ticks run at multiples of their period while the input is silent', () => {
  const ticks: number[] = []
  const ticking = topology('ticking', (t) => {
    t.source(sales).tick('tick', { everyMs: MINUTE_MS, clock: 'wall', emits: [perMinute] }, (time, ctx) => {
      ticks.push(time - NOON)
      ctx.emit(perMinute, 'tick', ticks.length)
    })
  })
  const driver = testDriver(ticking, { startAt: NOON + 1 })
  driver.advanceWallClock(3 * MINUTE_MS)
  expect(ticks).toEqual([1, 2, 3].map((n) => n * MINUTE_MS))
  expect(driver.read(perMinute).map(({ value, timestamp }) => [value, timestamp - NOON])).toEqual([
    [1, 60_000],
    [2, 120_000],
    [3, 180_000],
  ])
})

test('an aggregate that `beforeCommit` emits covers exactly the records of its commit, even after a restart', () => {
  const totals = numberTopic('totals', 1)
  const adding = topology('adding', (t) => {
    let sum = 0
    t.source(sales)
      .process('add', {}, (amount) => {
        sum += amount
      })
      .beforeCommit('send', { emits: [totals] }, (ctx) => {
        if (sum !== 0) ctx.emit(totals, 'sum', sum)
        sum = 0
      })
  })
  const driver = testDriver(adding, { commit: 'manual' })
  for (const amount of [1, 2, 3]) driver.pipe(sales, 'shop', amount)
  driver.settle()
  driver.pipe(sales, 'shop', 4)
  driver.run()
  driver.restart()
  driver.settle()
  expect(driver.read(totals).map(({ value }) => value)).toEqual([6, 4])
})

test('a schedule returns each multiple of its period at most once', () => {
  const schedule = tickSchedule(100)
  expect(schedule.take(1e9)).toBeUndefined()
  schedule.start(250)
  expect([schedule.take(299), schedule.take(300), schedule.take(300), schedule.take(799), schedule.take(800)]).toEqual([
    undefined,
    300,
    undefined,
    700,
    800,
  ])
})

test('if the clock is set back, ticks repeat only if the next tick would otherwise be more than two periods away', () => {
  const schedule = tickSchedule(100)
  schedule.start(1_050)
  schedule.setBack(920)
  expect(schedule.next).toBe(1_100)
  schedule.setBack(350)
  expect([schedule.take(399), schedule.take(400), schedule.take(1_100)]).toEqual([undefined, 400, 1_100])
})
