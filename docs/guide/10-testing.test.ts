/**
 * # 10. Testing
 *
 * You have seen the test driver at work in nine chapters. This one is about testing well: what to test where, and how to find the mistakes that
 * stream processing makes easy.
 *
 * | level | what | with |
 * |---|---|---|
 * | logic | formulas, rules, state transitions | plain functions, plain tests |
 * | topology | the flow: keys, state, time, late and bad records, crashes, new versions | the test driver |
 * | system | a few whole ways through the real broker, Redis and ClickHouse | `tests/stack` starts them |
 *
 * Most tests belong to the first two. They run in milliseconds and need nothing installed.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { avroValue, keyedStore, type Topic, type Topology, topology, utf8 } from '../../pipelines/engine/index.ts'
import { type TestDriverOptions, testDriver } from '../../pipelines/engine/testing.ts'

const int = avroValue<number>('int')
/** Key: the station. Value: +1, a bike came; -1, a bike left. */
const moves: Topic<string, number> = { name: 'moves', key: utf8, value: int, partitions: 3 }
/** Key: the station. Value: bikes there. */
const stock: Topic<string, number> = { name: 'stock', key: utf8, value: int, partitions: 3 }

/* The logic, as a plain function: a station never has less than no bikes, whatever the docks say. */
function moved(bikes: number, change: number): number {
  return Math.max(0, bikes + change)
}

test('a station never has less than no bikes', () => {
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
 * ## The driver's verbs
 *
 * | call | what |
 * |---|---|
 * | `pipe(topic, key, value, { timestamp, partition, headers })` | produces a record; its time is the driver's clock unless given |
 * | `pipeBytes(topic, key, value)` | a record of any bytes |
 * | `read(topic)` | what was committed to a topic since the last `read` of it |
 * | `readDeadLetters()` | the same for dead letters |
 * | `store(name, partition)` | a task's store |
 * | `advanceWallClock(ms)` | time passes; every tick on the way runs at its own time |
 * | `restart({ wipeState, downMs, topology })` | the process dies and comes back: with its disk or without, after a while, as a new version |
 * | `crashAt(step)` | the next commit dies right after that step |
 * | `run()`, `commit()`, `settle()` | with `commit: 'manual'`: process, commit, both until nothing moves |
 * | `metrics` | what was processed, dropped, late, dead, and what `ctx.count` counted |
 * | `broker` | the topics themselves, changelogs and all |
 *
 * There are no waits and no retries in such tests, because nothing happens outside the calls.
 */
test('what processors count can be asked for', () => {
  const driver = testDriver(stocks)
  for (const change of [1, 1, -1]) driver.pipe(moves, 'harbour', change)

  expect(driver.metrics.processed).toBe(3)
  expect(driver.metrics.counts.get('bikes_moved')).toBe(3)
  expect(driver.read(stock).map((record) => record.value)).toEqual([1, 2, 1])
})

/*
 * ## Every way to run
 *
 * By default the driver commits after every record. That is the kindest way there is; production is not like that. There, thousands of
 * records share a commit, stores do not fit in the cache, and workers restart in between. A topology must give the same answer
 * in all cases. So take one feed and run it every way:
 */
type Move = readonly [station: string, change: number]

interface Way extends TestDriverOptions {
  /** The process restarts after so many records. */
  readonly restartEvery?: number
  readonly wipeState?: boolean
}

const WAYS: Record<string, Way> = {
  'a commit per record': {},
  'all in one commit': { commit: 'manual' },
  'a cache that holds nothing': { cachedObjects: 1 },
  'a restart after every third record': { restartEvery: 3 },
  'no disk at all': { restartEvery: 3, wipeState: true },
  'work that is lost half done': { commit: 'manual', restartEvery: 3 },
  'a single partition': { partitions: { moves: 1, stock: 1 } },
}

/** The last stock of every station. */
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

/** What a loop over the feed says. */
function stocksByHand(feed: readonly Move[]): Record<string, number> {
  const expected: Record<string, number> = {}
  for (const [station, change] of feed) expected[station] = moved(expected[station] ?? 0, change)
  return expected
}

test.each(Object.entries(WAYS))('the answer is that of a plain loop: %s', (_name, way) => {
  fc.assert(
    fc.property(feeds, (feed) => {
      expect(stocksAfter(stocks, feed, way)).toEqual(stocksByHand(feed))
    }),
  )
})

/*
 * ## What this finds
 *
 * The most common mistake in a topology is to remember something outside a store. It passes every test that begins with an empty process
 * and ends before the next one. (A `Map` is fine for what `beforeCommit` empties: chapter 3.)
 */
const forgetful = topology('forgetful', (t) => {
  const bikes = new Map<string, number>()
  t.source(moves).process('move', { emits: [stock] }, function moveBike(change, ctx) {
    bikes.set(ctx.key, moved(bikes.get(ctx.key) ?? 0, change))
    ctx.emit(stock, ctx.key, bikes.get(ctx.key) ?? 0)
  })
})

test('state outside a store passes the kind ways and fails the others', () => {
  const feed: Move[] = [1, 1, 1, 1].map((change) => ['harbour', change])
  const right = Object.keys(WAYS).filter((name) => stocksAfter(forgetful, feed, WAYS[name]).harbour === 4)

  expect(right).toEqual([
    'a commit per record',
    'all in one commit',
    'a cache that holds nothing',
    'work that is lost half done',
    'a single partition',
  ])
})

/*
 * ## What the driver cannot show
 *
 * It has one process, so nothing moves between workers; its broker never fails; and its time is the test's. The engine's own tests do
 * those things with real brokers (`tests/pipelines/engine/worker/crash.integration.test.ts` and its neighbours), so that yours need not. What is left for a
 * service is one test that all the parts fit together: producer, topology, sink, view, API. `tests/stack/README.md` says how to get a broker, a
 * registry, Redis and ClickHouse in a test.
 *
 * Read next: chapter 11, sinks. Sources: `pipelines/engine/testing/test-driver.ts`; good examples are the tests of `tests/pipelines/trends`.
 */
