/**
 * # 3. Two stages
 *
 * Rides are keyed by bike, so one bike's rides lie in one partition. But who asks how many rides begin at each *station* needs the rides of
 * one station together. The answer is a second stage: the first one sends what matters on under a new key, through a topic that belongs to
 * the topology (a *repartition topic*), and the second one counts. Each stage is a *sub-topology* with tasks of its own, as many as
 * its topic has partitions, spread over all workers.
 *
 * You need chapters 1 and 2.
 */

import { expect, test } from 'vitest'
import { avroValue, type Context, keyedStore, type Topic, topology, utf8 } from '../../pipelines/engine/index.ts'
import { testDriver } from '../../pipelines/engine/testing.ts'

const text = avroValue<string>('string')
const count = avroValue<number>('int')

/** Key: the bike. Value: the station where the ride began. */
const rides: Topic<string, string> = { name: 'rides', key: utf8, value: text, partitions: 2 }

/** Key: the station. Value: rides so far. */
const stationTotals: Topic<string, number> = { name: 'station-totals', key: utf8, value: count, partitions: 3 }

/*
 * ## A repartition topic
 *
 * `t.repartition(name, …)` declares it; one stage emits to it, another has it as its source. The engine creates it with a name that follows
 * from yours, `<topology>-<name>-repartition`, and with the partitions that you give (a topic that is there keeps its own): they are how many tasks the second stage has.
 *
 * Note how the second processor takes the station from `ctx.key`: it has the type of the topic's keys.
 */
const oneByOne = topology('one-by-one', (t) => {
  const byStation = t.repartition('by-station', { key: utf8, value: count, partitions: 3 })

  t.source(rides).process('rekey', { emits: [byStation] }, function rekey(station, ctx) {
    ctx.emit(byStation, station, 1)
  })

  const totals = keyedStore('totals', { key: utf8, value: count })
  t.source(byStation).process(
    'count',
    { reads: (_rides, station) => totals.prefetch(station), stores: [totals], emits: [stationTotals] },
    function addRides(rides, ctx) {
      const total = (totals.get(ctx.key) ?? 0) + rides
      totals.put(ctx.key, total)
      ctx.emit(stationTotals, ctx.key, total)
    },
  )
})

const DAY = [
  ['bike-1', 'harbour'],
  ['bike-2', 'harbour'],
  ['bike-3', 'museum'],
  ['bike-1', 'museum'],
  ['bike-2', 'harbour'],
  ['bike-3', 'harbour'],
] as const

/** The latest value of every key: how a consumer of the topic reads it. */
function latest<K, V>(records: readonly { key: K; value: V }[]): Map<K, V> {
  return new Map(records.map(({ key, value }) => [key, value]))
}

test('rides are counted by station, whatever partition the bike is in', () => {
  const driver = testDriver(oneByOne)
  for (const [bike, station] of DAY) driver.pipe(rides, bike, station)

  expect(latest(driver.read(stationTotals))).toEqual(
    new Map([
      ['harbour', 4],
      ['museum', 2],
    ]),
  )
})

test('the stages have tasks of their own', () => {
  expect(testDriver(oneByOne).tasks.map((task) => task.id)).toEqual(['0_0', '0_1', '1_0', '1_1', '1_2'])
  expect(oneByOne.describe().text).toContain('store totals (changelog one-by-one-totals-changelog)')
})

/*
 * ## Adding up before sending
 *
 * Every ride now costs a record more. At the busiest station of a big city that is a lot of ones, all in one partition. Better: the
 * first stage adds up by itself and sends one sum per station and commit.
 *
 * `beforeCommit` is the place: it runs before each commit that has work. The sums may lie in a plain `Map`, since the build function
 * runs once per task and what it closes over belongs to that task alone. One rule makes this safe: **what lies in a closure must be empty after
 * `beforeCommit`**. Uncommitted work may vanish together with the closure, because it will be done again; committed work may not.
 */
const summedUp = topology('summed-up', (t) => {
  const byStation = t.repartition('by-station', { key: utf8, value: count, partitions: 3 })
  const sums = new Map<string, number>()

  function sendSums(ctx: Context): void {
    for (const [station, sum] of sums) ctx.emit(byStation, station, sum)
    sums.clear()
  }

  t.source(rides)
    .process('sum', {}, function addUp(station) {
      sums.set(station, (sums.get(station) ?? 0) + 1)
    })
    .beforeCommit('send-sums', { emits: [byStation] }, sendSums)

  const totals = keyedStore('totals', { key: utf8, value: count })
  t.source(byStation).process(
    'count',
    { reads: (_rides, station) => totals.prefetch(station), stores: [totals], emits: [stationTotals] },
    function addRides(rides, ctx) {
      const total = (totals.get(ctx.key) ?? 0) + rides
      totals.put(ctx.key, total)
      ctx.emit(stationTotals, ctx.key, total)
    },
  )
})

/*
 * The driver commits after every record, which would show nothing here. With `commit: 'manual'` records gather until the test says
 * `settle()`, which processes and commits until nothing moves: as a worker does after up to 100 ms (the topology's `commitIntervalMs`).
 */
test('one sum per station and commit goes between the stages', () => {
  const driver = testDriver(summedUp, { commit: 'manual', partitions: { rides: 1 } })
  for (const [bike, station] of DAY) driver.pipe(rides, bike, station)
  driver.settle()

  expect(driver.broker.records('summed-up-by-station-repartition')).toHaveLength(2)
  expect(latest(driver.read(stationTotals))).toEqual(
    new Map([
      ['harbour', 4],
      ['museum', 2],
    ]),
  )
})

test('what was not committed is counted once, although it was added up twice', () => {
  const driver = testDriver(summedUp, { commit: 'manual' })
  for (const [bike, station] of DAY) driver.pipe(rides, bike, station)
  driver.run() // everything is added up, nothing is committed
  driver.restart()
  driver.settle()

  expect(latest(driver.read(stationTotals)).get('harbour')).toBe(4)
})

/*
 * ## Which store belongs to which stage?
 *
 * Streams whose processors name the same store are one sub-topology; their topics need the same number of partitions, because key by key they
 * must lie together. Streams that share nothing are separate ones. The engine learns this from `stores` alone, so it holds every processor to them:
 * a processor that uses a store which it did not name fails at its first record.
 */
test('a processor uses the stores that it names and no others', () => {
  const unnamed = topology('unnamed', (t) => {
    const byStation = t.repartition('by-station', { key: utf8, value: count, partitions: 3 })
    const totals = keyedStore('totals', { key: utf8, value: count })
    t.source(rides).process('rekey', { emits: [byStation] }, (station, ctx) => ctx.emit(byStation, station, 1))
    t.source(byStation).process('count', {}, (rides, ctx) => totals.put(ctx.key, rides))
  })
  expect(() => testDriver(unnamed).pipe(rides, 'bike-1', 'harbour')).toThrow('store totals is not open: name it in the `stores`')
})

test('topics that share state have the same partitions', () => {
  const stationNames: Topic<string, string> = { name: 'station-names', key: utf8, value: text, partitions: 5 }
  expect(() =>
    topology('joined', (t) => {
      const names = keyedStore('names', { key: utf8, value: text })
      t.source(stationNames).process('learn', { stores: [names] }, (name, ctx) => names.put(ctx.key, name))
      t.source(rides).process('name', { stores: [names] }, () => {})
    }),
  ).toThrow('station-names has 5 partitions and rides has 2, but their processors share state: give both the same count, or send one')
})

/*
 * Read next: chapter 4, windows and time. Sources: `pipelines/engine/topology/sub-topology.ts`, `pipelines/engine/topology/internal-topics.ts`; a real first
 * stage that adds up is `pipelines/trends/tweet-counts.ts`.
 */
