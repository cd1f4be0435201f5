/**
 * # 1. A topology
 *
 * A stream engine runs your functions over records that never stop coming. What it runs is called a *topology*: a named flow that reads
 * topics (*sources*), hands every record to *processors* (your functions), and writes to other topics. The engine does the rest: it reads
 * Kafka, spreads the work over processes, and makes sure that every record counts exactly once, also when a process dies.
 *
 * All chapters are about one small company: it rents bikes. When a bike is put back into a dock, the dock sends a record about the ride.
 * This chapter computes what each ride costs.
 *
 * Every chapter is a test. Run this one with `npx vitest run docs/guide/01-a-topology.test.ts`, change something, run it again.
 */

import { expect, test } from 'vitest'
import { avroValue, drop, type Topic, topology, utf8 } from '../../pipelines/engine/index.ts'
import { testDriver } from '../../pipelines/engine/testing.ts'

/*
 * ## Topics
 *
 * A topic has a name, a codec for its keys and a format for its values. Keys decide the partition: all records of one bike lie in one
 * partition, in the order in which they were sent. Values are Avro; chapter 9 says what that buys.
 *
 * Real services declare their topics once, in `schemas/<service>/topics.ts`, with their schemas in files. Here they stand in the chapter.
 */
interface Ride {
  rider: string
  minutes: number
  /** Mechanics ride too, to try the brakes. */
  test_ride: boolean
}

const rides: Topic<string, Ride> = {
  name: 'rides',
  key: utf8, // the bike
  value: avroValue<Ride>({
    type: 'record',
    name: 'Ride',
    fields: [
      { name: 'rider', type: 'string' },
      { name: 'minutes', type: 'int' },
      { name: 'test_ride', type: 'boolean' },
    ],
  }),
  partitions: 4,
}

const fares: Topic<string, number> = {
  name: 'fares',
  key: utf8, // the rider
  value: avroValue<number>('int'), // cents
  partitions: 4,
}

/*
 * ## The logic
 *
 * Keep what your service knows in pure functions. They need no engine, no mock and no clock to be tested.
 */
const UNLOCK_CENTS = 100
const MINUTE_CENTS = 20

function fareOf(ride: Ride): number {
  return UNLOCK_CENTS + ride.minutes * MINUTE_CENTS
}

test('the logic is tested without any engine', () => {
  expect(fareOf({ rider: 'ann', minutes: 10, test_ride: false })).toBe(300)
})

/*
 * ## The flow
 *
 * `topology(name, build)` declares the flow. The name matters: it is the consumer group in Kafka and the prefix of every topic that the
 * engine makes for itself. Choose it once.
 *
 * - `t.source(topic)` reads a topic and gives a stream.
 * - `.process(name, options, processor)` hangs a processor on the stream. It gets the decoded value and a context.
 * - `ctx.emit(topic, key, value)` writes. Which topics a processor writes stands in `emits`, so that the flow can be drawn.
 *
 * Several processors of one stream see each record one after the other. A processor that returns an *outcome* ends the record there:
 * `drop(reason)` ignores it on purpose and counts it under that reason. (The other outcomes, dead letters and late records, have chapters
 * of their own.) A processor that returns nothing has simply processed the record.
 *
 * Processors are synchronous, and they talk to nobody but the engine: no HTTP, no Redis. That is not a limitation but the reason why a
 * record can be processed again after a crash without harm.
 */
const ridePrices = topology('ride-prices', (t) => {
  t.source(rides)
    .process('skip-test-rides', {}, function skipTestRides(ride) {
      if (ride.test_ride) return drop('test-ride')
    })
    .process('price-ride', { emits: [fares] }, function priceRide(ride, ctx) {
      ctx.emit(fares, ride.rider, fareOf(ride))
    })
})

/*
 * ## Running it
 *
 * The test driver runs a topology on a broker in memory, by the same code that runs it on Kafka. `pipe` is a producer, `read` a consumer;
 * everything happens inside the calls, so there is nothing to wait for.
 */
test('every ride has its price, test rides are free', () => {
  const driver = testDriver(ridePrices)

  driver.pipe(rides, 'bike-7', { rider: 'ann', minutes: 10, test_ride: false })
  driver.pipe(rides, 'bike-7', { rider: 'tom', minutes: 3, test_ride: true })

  const charged = driver.read(fares).map(({ key, value }) => [key, value])
  expect(charged).toEqual([['ann', 300]])
  expect(driver.metrics.dropped.get('test-ride')).toBe(1)
})

/*
 * ## Order
 *
 * The topic has four partitions, and the engine runs one *task* per partition: a task is the unit that is moved between processes. Within
 * a partition records are processed in their order; across partitions there is no order, and nothing should need one. The key is how you
 * say what must stay in order.
 */
test('rides of one bike stay in order, and each partition has a task', () => {
  const driver = testDriver(ridePrices)
  for (const minutes of [1, 2, 3]) driver.pipe(rides, 'bike-7', { rider: 'ann', minutes, test_ride: false })

  expect(driver.read(fares).map((record) => record.value)).toEqual([120, 140, 160])
  expect(driver.tasks.map((task) => task.id)).toEqual(['0_0', '0_1', '0_2', '0_3'])
})

/*
 * ## Drawing it
 *
 * `describe()` shows the flow as text and as a Mermaid chart. A running worker serves the same under `/topology`.
 */
test('a topology can be read at a glance', () => {
  expect(ridePrices.describe().text).toBe(
    [
      'topology ride-prices',
      '  sub-topology 0: 4 partitions',
      '    source rides',
      '      process skip-test-rides',
      '      process price-ride → fares',
      '',
    ].join('\n'),
  )
  expect(ridePrices.describe().mermaid).toMatch(/^flowchart LR/)
})

/*
 * ## Mistakes
 *
 * The build function runs when the file is loaded, so that most mistakes show at once, with what to do about them. A few can only be seen
 * when a record comes; those stop the worker, loudly, and name the place: topology, processor, partition and offset. The engine never
 * skips a record because of a bug.
 */
test('a topic is read once, whatever the number of processors', () => {
  expect(() =>
    topology('twice', (t) => {
      t.source(rides)
      t.source(rides)
    }),
  ).toThrow('rides is read twice: hang every processor on the one stream that source() returned')
})

test('a processor emits only to topics that it names', () => {
  const forgetful = topology('forgetful', (t) => {
    t.source(rides).process('price-ride', {}, (ride, ctx) => ctx.emit(fares, ride.rider, fareOf(ride)))
  })
  const driver = testDriver(forgetful, { partitions: { [rides.name]: 1, [fares.name]: 1 } })

  expect(() => driver.pipe(rides, 'bike-7', { rider: 'ann', minutes: 10, test_ride: false })).toThrow(
    'forgetful/price-ride failed at rides-0 offset 0: price-ride emits to fares: name that topic in its `emits`',
  )
})

test('a processor is synchronous', () => {
  // TypeScript refuses an async processor; this is for those who talk it out of it.
  const priceLater = (async () => {}) as unknown as () => undefined
  const impatient = topology('impatient', (t) => {
    t.source(rides).process('price-ride', {}, priceLater)
  })

  expect(() => testDriver(impatient).pipe(rides, 'bike-7', { rider: 'ann', minutes: 10, test_ride: false })).toThrow(
    'it returned a promise, but processors are synchronous: return nothing, drop(), deadLetter() or late',
  )
})

/*
 * Read next: chapter 2, state. Sources: `pipelines/engine/topology/api.ts` (everything that a build function can say),
 * `pipelines/engine/topology/outcome.ts`, `pipelines/engine/testing/test-driver.ts`.
 */
