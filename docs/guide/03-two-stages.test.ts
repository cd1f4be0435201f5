/**
 * # 3. Two stages
 *
 * Rides are keyed by bike, so the rides of one bike are in one partition. To count how many rides begin at each
 * *station*, the rides of one station must be in one partition. This takes a second stage. The first stage emits the
 * relevant values under a new key, through a topic that belongs to the topology (a *repartition topic*), and the second
 * stage counts them. Each stage is a *sub-topology* with its own tasks, one for each partition of the topic that it
 * reads. The tasks of all stages are distributed over the workers.
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

/** Key: the station. Value: how many rides have begun there so far. */
const stationTotals: Topic<string, number> = { name: 'station-totals', key: utf8, value: count, partitions: 3 }

/*
 * ## A repartition topic
 *
 * `t.repartition(name, …)` declares such a topic. One stage emits to the topic, and another stage reads it as a source.
 * The engine creates the topic with the name `<topology>-<name>-repartition` and with the given number of partitions,
 * which is also the number of tasks of the second stage. If the topic already exists, its number of partitions does not
 * change.
 *
 * Note how the second processor takes the station from `ctx.key`, which has the type of the topic's keys.
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

/** Returns the latest value of every key, as a consumer of the topic sees it. */
function latest<K, V>(records: readonly { key: K; value: V }[]): Map<K, V> {
  return new Map(records.map(({ key, value }) => [key, value]))
}

test('rides are counted by station, whichever partition the bike is in', () => {
  const driver = testDriver(oneByOne)
  for (const [bike, station] of DAY) driver.pipe(rides, bike, station)

  expect(latest(driver.read(stationTotals))).toEqual(
    new Map([
      ['harbour', 4],
      ['museum', 2],
    ]),
  )
})

test('each stage has its own tasks', () => {
  expect(testDriver(oneByOne).tasks.map((task) => task.id)).toEqual(['0_0', '0_1', '1_0', '1_1', '1_2'])
  expect(oneByOne.describe().text).toContain('store totals (changelog one-by-one-totals-changelog)')
})

/*
 * ## Aggregating before sending
 *
 * With a second stage, every ride costs one more record. For the busiest station of a big city, this is a flood of
 * records with the value 1, all in one partition. It is better to aggregate in the first stage and to send, with each
 * commit, only one sum for each station.
 *
 * Do this in `beforeCommit`, which runs before each commit that has anything to write. A plain `Map` can hold the sums,
 * because the build function runs once per task and its variables belong to that task alone. One rule makes this safe:
 * **variables of the build function must be empty after `beforeCommit`**. If a process dies, uncommitted work and these
 * variables are lost together, and the engine processes the uncommitted records again. It never processes committed
 * records again, so a value that stayed in a variable across a commit would be lost in a crash.
 */
const summedUp = topology('summed-up', (t) => {
  const byStation = t.repartition('by-station', { key: utf8, value: count, partitions: 3 })
  let sums = new Map<string, number>()

  function sendSums(ctx: Context): void {
    for (const [station, sum] of sums) ctx.emit(byStation, station, sum)
    sums = new Map()
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
 * By default, the driver commits after every record. This would hide the effect of aggregating. With `commit:
 * 'manual'`, records accumulate until the test calls `settle()`, which processes and commits until nothing is left. A
 * worker also collects several records for each commit: by default, it commits every 100 ms (the topology's
 * `commitIntervalMs`), or earlier if its input pauses.
 */
test('the first stage sends one sum per station and commit', () => {
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

test('rides that are aggregated again after a crash are counted once', () => {
  const driver = testDriver(summedUp, { commit: 'manual' })
  for (const [bike, station] of DAY) driver.pipe(rides, bike, station)
  driver.run() // everything is aggregated, nothing is committed
  driver.restart()
  driver.settle()

  expect(latest(driver.read(stationTotals)).get('harbour')).toBe(4)
})

/*
 * ## Stores and stages
 *
 * Streams whose processors list the same store form one sub-topology. Their topics need the same number of partitions,
 * because records with the same key must reach the same task. Streams that share no store are separate sub-topologies.
 * The engine learns from `stores` which processors share a store, so a processor that uses a store without listing it
 * fails at its first record.
 */
test('a processor can use only the stores that it lists', () => {
  const unnamed = topology('unnamed', (t) => {
    const byStation = t.repartition('by-station', { key: utf8, value: count, partitions: 3 })
    const totals = keyedStore('totals', { key: utf8, value: count })
    t.source(rides).process('rekey', { emits: [byStation] }, (station, ctx) => ctx.emit(byStation, station, 1))
    t.source(byStation).process('count', {}, (rides, ctx) => totals.put(ctx.key, rides))
  })
  expect(() => testDriver(unnamed).pipe(rides, 'bike-1', 'harbour')).toThrow('store totals is not open: name it in the `stores`')
})

test('topics that share state must have the same number of partitions', () => {
  const stationNames: Topic<string, string> = { name: 'station-names', key: utf8, value: text, partitions: 5 }
  expect(() =>
    topology('joined', (t) => {
      const names = keyedStore('names', { key: utf8, value: text })
      t.source(stationNames).process('learn', { stores: [names] }, (name, ctx) => names.put(ctx.key, name))
      t.source(rides).process('name', { stores: [names] }, () => {})
    }),
  ).toThrow('station-names has 5 partitions and rides has 2, but their processors share state: give both topics the same partition count')
})

/*
 * Read next: chapter 4, windows and time. Sources: `pipelines/engine/topology/sub-topology.ts`,
 * `pipelines/engine/topology/internal-topics.ts`. A first stage in production that aggregates is
 * `pipelines/trends/tweet-counts.ts`.
 */
