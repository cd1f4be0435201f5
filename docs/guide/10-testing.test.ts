/**
 * # 10. Testing
 *
 * The first nine chapters used the test driver. This chapter shows what to test at which level, and how to find the
 * mistakes that are easy to make in stream processing.
 *
 * | level | what to test | with |
 * |---|---|---|
 * | logic | formulas, rules, state transitions | plain functions, plain tests |
 * | topology | the flow: keys, state, time, late and bad records, crashes, new versions | the test driver |
 * | system | a few complete paths through the real broker, Redis and ClickHouse | servers that `tests/stack` starts |
 *
 * Most tests belong to the first two levels. They run in milliseconds and need no installed servers.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { avroValue, keyedStore, type Topic, type Topology, topology, utf8 } from '../../pipelines/engine/index.ts'
import { type TestDriverOptions, testDriver } from '../../pipelines/engine/testing.ts'

const int = avroValue<number>('int')
/** Key: the station. Value: +1 if a bike arrived, -1 if a bike left. */
const moves: Topic<string, number> = { name: 'moves', key: utf8, value: int, partitions: 3 }
/** Key: the station. Value: the number of bikes there. */
const stock: Topic<string, number> = { name: 'stock', key: utf8, value: int, partitions: 3 }

/*
 * The logic is a plain function. It makes sure that a station never has a negative number of bikes, regardless of what
 * the docks report.
 */
function moved(bikes: number, change: number): number {
  return Math.max(0, bikes + change)
}

test('a bike that leaves an empty station leaves it empty', () => {
  expect(moved(0, -1)).toBe(0)
})

const stocks = topology('stocks', (t) => {
  const bikes = keyedStore('bikes', { key: utf8, value: int })
  t.source(moves).process(
    'move',
    { reads: (_change, station) => bikes.prefetch(station), stores: [bikes], emits: [stock] },
    function moveBike(change, ctx) {
      const now = moved(bikes.get(ctx.key) ?? 0, change)
      bikes.put(ctx.key, now)
      ctx.emit(stock, ctx.key, now)
      ctx.count('bikes_moved')
    },
  )
})

/*
 * ## The driver's methods
 *
 * | call | effect |
 * |---|---|
 * | `pipe(topic, key, value, { timestamp, partition, headers })` | produces a record, by default with the current time of the driver's clock |
 * | `pipeBytes(topic, key, value)` | produces a record with any bytes as key and value |
 * | `read(topic)` | returns the records that were committed to a topic since its last `read` |
 * | `readDeadLetters()` | returns the dead letters that were written since its last call |
 * | `store(name, partition)` | returns a task's store |
 * | `advanceWallClock(ms)` | advances the clock; every tick that becomes due on the way runs with the time at which it was due |
 * | `restart({ wipeState, downMs, topology })` | simulates a crash and restarts the process: optionally with an empty disk, after a downtime, or with a new version of the topology |
 * | `crashAt(step)` | makes the next commit crash directly after that step |
 * | `run()`, `commit()`, `settle()` | with `commit: 'manual'`: `run` processes, `commit` commits, and `settle` does both until nothing is left |
 * | `metrics` | counts of processed and dropped records, late records and dead letters, and the counters of `ctx.count` |
 * | `broker` | the in-memory broker with all topics, including changelogs |
 *
 * Such tests need no waits and no retries, because nothing happens outside these calls.
 */
test('a test can read what processors count', () => {
  const driver = testDriver(stocks)
  for (const change of [1, 1, -1]) driver.pipe(moves, 'harbour', change)

  expect(driver.metrics.processed).toBe(3)
  expect(driver.metrics.counts.get('bikes_moved')).toBe(3)
  expect(driver.read(stock).map((record) => record.value)).toEqual([1, 2, 1])
})

/*
 * ## Every mode of operation
 *
 * By default, the driver commits after every record. This hides many mistakes. In production, thousands of records
 * share a commit, stores do not fit into the cache, and workers restart in between. A topology must give the same
 * result in all these cases, so run the same input in each of these modes:
 */
type Move = readonly [station: string, change: number]

interface Way extends TestDriverOptions {
  /** Number of records between two restarts of the process. By default, the process never restarts. */
  readonly restartEvery?: number
  readonly wipeState?: boolean
}

const WAYS: Record<string, Way> = {
  'a commit per record': {},
  'all in one commit': { commit: 'manual' },
  'a cache that holds nothing': { cacheBytes: 1 },
  'a restart after every third record': { restartEvery: 3 },
  'restarts with an empty disk': { restartEvery: 3, wipeState: true },
  'restarts that discard uncommitted work': { commit: 'manual', restartEvery: 3 },
  'a single partition': { partitions: { moves: 1, stock: 1 } },
}

/** Runs the input in one of the modes, and returns the last published stock of every station. */
function stocksAfter(tested: Topology, feed: readonly Move[], way: Way): Record<string, number> {
  const { restartEvery = Infinity, wipeState = false, ...options } = way
  const driver = testDriver(tested, options)
  feed.forEach(([station, change], i) => {
    driver.pipe(moves, station, change)
    if ((i + 1) % restartEvery !== 0) return
    driver.run()
    driver.restart({ wipeState })
  })
  driver.settle()
  return Object.fromEntries(driver.read(stock).map(({ key, value }) => [key, value ?? -1]))
}

const feeds = fc.array(fc.tuple(fc.constantFrom('harbour', 'museum', 'zoo', 'airport'), fc.constantFrom(1, -1)), { maxLength: 40 })

/** Computes the result with a plain loop over the input. */
function stocksByHand(feed: readonly Move[]): Record<string, number> {
  const expected: Record<string, number> = {}
  for (const [station, change] of feed) expected[station] = moved(expected[station] ?? 0, change)
  return expected
}

test.each(Object.entries(WAYS))('the result is the same as that of a plain loop: %s', (_name, way) => {
  fc.assert(
    fc.property(feeds, (feed) => {
      expect(stocksAfter(stocks, feed, way)).toEqual(stocksByHand(feed))
    }),
  )
})

/*
 * ## What these modes reveal
 *
 * The most common mistake in a topology is to keep state outside a store. Such a topology passes every test that starts
 * with an empty process and ends before the next restart. (A `Map` is fine if `beforeCommit` empties it: chapter 3.)
 */
const forgetful = topology('forgetful', (t) => {
  const bikes = new Map<string, number>()
  t.source(moves).process('move', { emits: [stock] }, function moveBike(change, ctx) {
    bikes.set(ctx.key, moved(bikes.get(ctx.key) ?? 0, change))
    ctx.emit(stock, ctx.key, bikes.get(ctx.key) ?? 0)
  })
})

test('a topology with state outside a store passes in some modes and fails in those that restart after a commit', () => {
  const feed: Move[] = [1, 1, 1, 1].map((change) => ['harbour', change])
  const right = Object.keys(WAYS).filter((name) => stocksAfter(forgetful, feed, WAYS[name]).harbour === 4)

  expect(right).toEqual([
    'a commit per record',
    'all in one commit',
    'a cache that holds nothing',
    'restarts that discard uncommitted work',
    'a single partition',
  ])
})

/*
 * ## What the driver cannot show
 *
 * The driver has one process, so no task moves between workers. Its broker never fails, and the test controls the
 * clock. The engine's own tests cover what the driver leaves out, with real brokers
 * (`tests/pipelines/engine/worker/crash.integration.test.ts` and the other tests in its folder), so your tests need not
 * repeat it. Your service still needs one test that shows that all its parts work together: producer, topology, sink,
 * view and API. `tests/stack/README.md` describes how to get a broker, a registry, Redis and ClickHouse in a test.
 *
 * Read next: chapter 11, sinks. Sources: `pipelines/engine/testing/test-driver.ts`. The tests of
 * `tests/pipelines/trends` are good examples.
 */
