import { expect, test } from 'vitest'
import { testDriver } from '../../../../pipelines/engine/testing/test-driver.ts'
import { topology } from '../../../../pipelines/engine/topology/topology.ts'
import { utf8 } from '../../../../schemas/keys.ts'
import { keyedStore } from '../../../../state/stores/keyed-store.ts'
import { bench, until } from '../harness.ts'
import { lines, numberFormat, wordCounts } from '../words.ts'

const EVERY_MS = 60_000
const START = Date.UTC(2026, 0, 1) + 1

/** Emits the number of lines so far at every tick. */
const census = topology('census', (t) => {
  const seen = keyedStore('seen', { key: utf8, value: numberFormat })
  t.source(lines)
    .process('count', { stores: [seen] }, () => seen.put('all', (seen.get('all') ?? 0) + 1))
    .tick('tell', { everyMs: EVERY_MS, clock: 'caught-up', stores: [seen], emits: [wordCounts] }, (now, ctx) =>
      ctx.emit(wordCounts, new Date(now).toISOString().slice(11, 16), seen.get('all') ?? 0),
    )
})

const driverOf = (commit: 'record' | 'manual') =>
  testDriver(census, { startAt: START, commit, partitions: { [lines.name]: 1, [wordCounts.name]: 1 } })
const published = (driver: ReturnType<typeof driverOf>) => driver.read(wordCounts).map(({ key, value }) => `${key} ${value}`)

test('a caught-up tick fires while the input is silent', () => {
  const driver = driverOf('record')
  driver.pipe(lines, 'ann', 'to be')
  published(driver)
  driver.advanceWallClock(2 * EVERY_MS)
  expect(published(driver)).toEqual(['00:01 1', '00:02 1'])
})

test('a caught-up tick waits for the records in the source, and if several ticks were missed, only the last one fires', () => {
  const driver = driverOf('record')
  driver.pipe(lines, 'ann', 'to be')
  driver.advanceWallClock(EVERY_MS)
  published(driver)

  const stopped = driverOf('manual')
  for (const line of ['to be', 'or not', 'to be']) stopped.pipe(lines, 'ann', line)
  stopped.advanceWallClock(3 * EVERY_MS)
  stopped.restart()
  stopped.settle()
  expect(published(stopped)).toEqual(['00:03 3'])
})

test.each(['encoded', 'produced', 'offsets-added', 'committed', 'written'] as const)(
  'after a crash at %s, the ticks for all times still fire',
  (step) => {
    const driver = driverOf('record')
    driver.pipe(lines, 'ann', 'to be')
    published(driver)
    driver.crashAt(step)
    expect(() => driver.advanceWallClock(EVERY_MS)).toThrow('crash after')
    driver.restart()
    driver.settle()
    driver.advanceWallClock(EVERY_MS)
    // Duplicates are removed, because the last tick may fire again after a restart. It then publishes the same value.
    expect([...new Set(published(driver))]).toEqual(['00:01 1', '00:02 1'])
  },
)

test('on a worker, a caught-up tick fires while the input is silent', async () => {
  const beat = topology('beat', (t) => {
    t.source(lines).tick('tell', { everyMs: 50, clock: 'caught-up', emits: [wordCounts] }, (now, ctx) =>
      ctx.emit(wordCounts, `partition ${ctx.partition}`, now),
    )
  })
  const { worker, all } = bench()
  await worker(beat)
  const times = (partition: number) =>
    new Set(all(wordCounts).flatMap(({ key, value }) => (key === `partition ${partition}` ? [value] : [])))
  await until(() => times(0).size >= 3 && times(1).size >= 3, 'three times of each partition')
  for (const partition of [0, 1]) {
    const given = [...times(partition)]
    expect(given).toEqual(given.toSorted((a, b) => Number(a) - Number(b)))
  }
})

test('a caught-up tick that changes nothing commits nothing', async () => {
  let ticks = 0
  const idle = topology('idle', (t) => {
    t.source(lines).tick('look', { everyMs: 20, clock: 'caught-up' }, () => void ticks++)
  })
  const { worker } = bench()
  const running = await worker(idle)
  await until(() => ticks >= 10, 'ten ticks')
  expect(running.status().commits).toBe(0)
})
