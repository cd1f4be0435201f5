/**
 * # 1. A topology
 *
 * A stream engine calls your functions with records that never stop arriving. It runs *topologies*. A topology is a
 * named flow that reads topics (*sources*), passes every record to *processors* (your functions), and writes to other
 * topics. The engine reads from Kafka, distributes the work over processes, and makes sure that every record takes
 * effect exactly once, even if a process dies.
 *
 * All chapters are about a small company that rents out bikes. When a rider returns a bike to a dock, the dock sends a
 * record about the ride. This chapter computes the price of each ride.
 *
 * Every chapter is a test. Run this one with `npx vitest run docs/guide/01-a-topology.test.ts`, change something, and
 * run it again.
 */

import { expect, test } from 'vitest'
import { avroValue, drop, type Topic, topology, utf8 } from '../../pipelines/engine/index.ts'
import { testDriver } from '../../pipelines/engine/testing.ts'

/*
 * ## Topics
 *
 * A topic has a name, a codec for its keys and a format for its values. The key determines the partition: all records
 * of one bike are in one partition, in the order in which they were sent. Values are encoded in Avro. Chapter 9
 * explains why.
 *
 * Real services declare their topics in `schemas/<service>/topics.ts`, with each schema in a file of its own. In this
 * guide, each chapter declares its own topics.
 */
interface Ride {
  rider: string
  minutes: number
  /** Mechanics also ride, to test the brakes. */
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
 * Put the business rules of your service into pure functions. You can test them without an engine, a mock or a clock.
 */
const UNLOCK_CENTS = 100
const MINUTE_CENTS = 20

function fareOf(ride: Ride): number {
  return UNLOCK_CENTS + ride.minutes * MINUTE_CENTS
}

test('a fare is the unlock price plus a price per minute', () => {
  expect(fareOf({ rider: 'ann', minutes: 10, test_ride: false })).toBe(300)
})

/*
 * ## The flow
 *
 * `topology(name, build)` declares the flow. Its name is both the name of the consumer group in Kafka and the prefix of
 * every topic that the engine creates for it, so it must not change later.
 *
 * - `t.source(topic)` reads a topic and returns a stream.
 * - `.process(name, options, processor)` attaches a processor to the stream. The processor gets the decoded value and a
 *   context.
 * - `ctx.emit(topic, key, value)` writes a record. The option `emits` lists the topics that the processor writes to, so
 *   that the flow can be drawn.
 *
 * If a stream has several processors, each record passes through them in order. If a processor returns an *outcome*,
 * later processors do not get the record. `drop(reason)` discards the record on purpose and counts it under that
 * reason. Later chapters introduce the other outcomes: dead letters and late records. A processor that returns nothing
 * has processed the record normally.
 *
 * Processors are synchronous, and they communicate only with the engine: no HTTP, no Redis. This rule makes it safe to
 * process a record again after a crash, because the engine can discard the effects of the first attempt.
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
 * The test driver runs a topology on an in-memory broker, with the same code that runs it on Kafka. `pipe` acts as a
 * producer and `read` as a consumer. Everything happens inside these calls, so a test never has to wait.
 */
test('a ride gets a price, and a test ride is dropped', () => {
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
 * The topic has four partitions, and the engine runs one *task* for each. The engine distributes the work over
 * processes by assigning tasks to them. Records of one partition are processed in order. There is no order across
 * partitions, so records that must stay in order need the same key.
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
 * `describe()` returns the flow as text and as a Mermaid diagram. A running worker serves both under `/topology`.
 */
test('describe shows the whole topology', () => {
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
 * `topology` runs the build function when your module is loaded, so the engine reports most mistakes immediately, and
 * says how to fix them. Other mistakes appear only when a record arrives. They stop the worker with an error that names
 * the topology, the processor, the partition and the offset. By default, the engine never skips a record because of a
 * bug.
 */
test('a topology may declare a source only once, for any number of processors', () => {
  expect(() =>
    topology('twice', (t) => {
      t.source(rides)
      t.source(rides)
    }),
  ).toThrow('rides is read twice: attach all its processors to the stream that source() returned')
})

test('a processor may emit only to the topics that it declares', () => {
  const forgetful = topology('forgetful', (t) => {
    t.source(rides).process('price-ride', {}, (ride, ctx) => ctx.emit(fares, ride.rider, fareOf(ride)))
  })
  const driver = testDriver(forgetful, { partitions: { [rides.name]: 1 } })

  expect(() => driver.pipe(rides, 'bike-7', { rider: 'ann', minutes: 10, test_ride: false })).toThrow(
    'forgetful/price-ride failed at rides-0 offset 0: price-ride emits to fares: name that topic in its `emits`',
  )
})

test('a processor that returns a promise is refused', () => {
  // TypeScript rejects async processors. The check at run time catches code that bypasses the types.
  const priceLater = (async () => {}) as unknown as () => undefined
  const impatient = topology('impatient', (t) => {
    t.source(rides).process('price-ride', {}, priceLater)
  })

  expect(() => testDriver(impatient).pipe(rides, 'bike-7', { rider: 'ann', minutes: 10, test_ride: false })).toThrow(
    'it returned a promise, but processors are synchronous: return nothing, drop(), deadLetter() or late',
  )
})

/*
 * Read next: chapter 2, state. Sources: `pipelines/engine/topology/api.ts` (everything that a build function can use),
 * `pipelines/engine/topology/outcome.ts`, `pipelines/engine/testing/test-driver.ts`.
 */
