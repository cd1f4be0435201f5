/**
 * # 9. Schemas
 *
 * Topics outlive the programs that write them. A record that a dock wrote last year is read by a worker that was deployed today, and this
 * worker's records are read by somebody's Python script. What holds them together is the *schema*: what fields a value has and of
 * which types. Millrace uses Avro, registered in a schema registry, for topics and for state alike.
 *
 * You need chapters 1, 2 and 8.
 */

import { expect, test } from 'vitest'
import { openSerdes } from '../../kafka/serdes.ts'
import {
  type AvroSchema,
  avroValue,
  DEAD_LETTER_HEADERS,
  type KeyedStore,
  keyedStore,
  type Topic,
  topology,
  utf8,
} from '../../pipelines/engine/index.ts'
import { memoryRegistry, testDriver } from '../../pipelines/engine/testing.ts'

/*
 * ## Where schemas stand
 *
 * In this guide they stand in the chapters. In the project each is a file, `schemas/trends/Tweet.avsc`; `npm run schemas` writes the TypeScript types
 * of all of them into `types.ts` of its folder; and `avro('trends/Tweet')` is the format of `Tweet` objects. So a type and its schema cannot drift apart.
 */
const rideSchema = (...fields: AvroSchema[]): AvroSchema => ({ type: 'record', name: 'Ride', namespace: 'bikes', fields })
const bike: AvroSchema = { name: 'bike', type: 'string' }

interface RideV1 {
  bike: string
  minutes: number
}

const rideV1 = avroValue<RideV1>(rideSchema(bike, { name: 'minutes', type: 'int' }))
const ridesV1: Topic<string, RideV1> = { name: 'rides', key: utf8, value: rideV1, partitions: 1 }

/*
 * ## On the wire
 *
 * A value is a zero byte, four bytes with the id of its schema in the registry, and the Avro binary: Confluent's format, which every Kafka client
 * can read. The record does not say its field names; the schema does. Hence the size.
 */
test('a value is an id and the bare fields', () => {
  const store = topology('wire', (t) => void t.source(ridesV1))
  const driver = testDriver(store)
  driver.pipe(ridesV1, 'bike-7', { bike: 'b7', minutes: 5 })

  const [{ value }] = driver.broker.records('rides')
  expect([...(value ?? [])]).toEqual([0, 0, 0, 0, 1, 4, 'b'.charCodeAt(0), '7'.charCodeAt(0), 10])
})

/*
 * ## Types
 *
 * | Avro | TypeScript | note |
 * |---|---|---|
 * | `int`, `float`, `double` | `number` | |
 * | `long` | `number` | safe integers only: anything beyond 2^53 is refused, never rounded |
 * | `long` with `"logicalType": "int64"` | `bigint` | ids |
 * | `long` with `"logicalType": "timestamp-millis"` | `number` | epoch ms |
 * | `string`, `boolean`, `bytes` | `string`, `boolean`, `Buffer` | |
 * | `array`, `map` | `T[]`, `{ [key: string]: T }` | |
 * | union with `null` | `T \| null` | |
 */
test('64-bit ids are exact', () => {
  const beyondDoubles = 2n ** 53n + 1n
  const ids: Topic<string, bigint> = {
    name: 'ids',
    key: utf8,
    value: avroValue<bigint>({ type: 'long', logicalType: 'int64' }),
    partitions: 1,
  }
  const numbers: Topic<string, number> = { ...ids, value: avroValue<number>('long') }
  const seen: bigint[] = []
  const driver = testDriver(topology('exact', (t) => void t.source(ids).process('see', {}, (id) => void seen.push(id))))

  driver.pipe(ids, 'bike-7', beyondDoubles)
  expect(seen).toEqual([beyondDoubles])
  expect(() => driver.pipe(numbers, 'bike-7', Number(beyondDoubles))).toThrow()
})

/*
 * ## Evolution
 *
 * A new version of a schema must be able to read what the old one wrote (`BACKWARD`, the registry's default rule). Allowed is:
 *
 * - a new field *with a default*: old records are read as if they had it
 * - a field left out: it is skipped in old records
 * - a field renamed, with its old name as an alias
 * - a number widened: `int` to `long`, `float` or `double`
 *
 * Then the order of deployment is always the same: readers first, writers when they like.
 */
interface RideV2 {
  bike: string
  /** Was called `minutes`, and whole. */
  duration: number
  electric: boolean
}

const rideV2 = avroValue<RideV2>(
  rideSchema(bike, { name: 'duration', type: 'double', aliases: ['minutes'] }, { name: 'electric', type: 'boolean', default: false }),
)
const ridesV2: Topic<string, RideV2> = { ...ridesV1, value: rideV2 }

test('a reader of the new schema reads what the old one wrote', () => {
  const seen: RideV2[] = []
  const driver = testDriver(topology('reader', (t) => void t.source(ridesV2).process('see', {}, (ride) => void seen.push(ride))))
  driver.pipe(ridesV1, 'bike-7', { bike: 'bike-7', minutes: 5 }) // a dock with the old firmware
  driver.pipe(ridesV2, 'bike-8', { bike: 'bike-8', duration: 2.5, electric: true })

  expect(seen).toEqual([
    { bike: 'bike-7', duration: 5, electric: false },
    { bike: 'bike-8', duration: 2.5, electric: true },
  ])
})

/*
 * ## What is not allowed
 *
 * A worker registers the schemas of everything it reads, writes and keeps when it starts. An incompatible one is refused by the registry then,
 * with the reason, and the worker does not start. Nothing has been written yet, so nothing must be repaired.
 */
const riderWanted: Topic<string, RideV1 & { rider: string }> = {
  ...ridesV1,
  value: avroValue(rideSchema(bike, { name: 'minutes', type: 'int' }, { name: 'rider', type: 'string' })),
}

test('an incompatible schema is refused before anything starts', async () => {
  const registry = memoryRegistry()
  await openSerdes(registry, [ridesV1])
  await openSerdes(registry, [ridesV2])

  await expect(openSerdes(registry, [riderWanted])).rejects.toThrow(
    /the value schema of topic rides could not be registered as rides-value: .*the writer does not have it/,
  )
})

/*
 * And where a record comes all the same whose schema cannot be read, it is a dead letter like any other.
 */
test('a record of an unreadable schema is a dead letter that says why', () => {
  const driver = testDriver(topology('strict-reader', (t) => void t.source(riderWanted)))
  driver.pipe(ridesV1, 'bike-7', { bike: 'bike-7', minutes: 5 })

  const [{ headers }] = driver.readDeadLetters()
  const message = headers.find((header) => header.key === DEAD_LETTER_HEADERS.message)
  expect(String(message?.value)).toBe(
    'the value was written with a schema that cannot be read here: .rider: the field has no default and the writer does not have it',
  )
})

/*
 * ## State evolves the same way
 *
 * Values in stores are Avro too, under the subject of their changelog. So a new version of a topology reads the state of the old one, value by
 * value as it comes by; there is no migration to run. `driver.restart({ topology })` deploys a new version in a test: the same topics, the
 * same state, new code.
 */
interface WearV1 {
  km: number
}
interface WearV2 extends WearV1 {
  rides: number
}

const km: AvroSchema = { name: 'km', type: 'double' }
const wearV1 = avroValue<WearV1>({ type: 'record', name: 'Wear', fields: [km] })
const wearV2 = avroValue<WearV2>({ type: 'record', name: 'Wear', fields: [km, { name: 'rides', type: 'int', default: 0 }] })

const wearTopology1 = topology('wear', (t) => {
  const wear = keyedStore('wear', { key: utf8, value: wearV1 })
  t.source(ridesV1).process('add', { stores: [wear] }, (ride) => wear.put(ride.bike, { km: (wear.get(ride.bike)?.km ?? 0) + 1 }))
})

const wearTopology2 = topology('wear', (t) => {
  const wear = keyedStore('wear', { key: utf8, value: wearV2 })
  t.source(ridesV2).process('add', { stores: [wear] }, (ride) => {
    const known = wear.get(ride.bike) ?? { km: 0, rides: 0 }
    wear.put(ride.bike, { km: known.km + 1, rides: known.rides + 1 })
  })
})

test.each([false, true])('a new version continues with the state of the old one (folder lost: %s)', (wipeState) => {
  const driver = testDriver(wearTopology1)
  driver.pipe(ridesV1, 'bike-7', { bike: 'bike-7', minutes: 5 })

  driver.restart({ topology: wearTopology2, wipeState })
  driver.pipe(ridesV2, 'bike-7', { bike: 'bike-7', duration: 5, electric: false })

  const wear = driver.store<KeyedStore<string, WearV2>>('wear')
  expect(wear.get('bike-7')).toEqual({ km: 2, rides: 1 })
})

/*
 * Keys are different: they decide partitions and are compared byte by byte, so they have no schema and no id. Their codecs are in
 * `schemas/keys.ts` (text, decimal ids) and `schemas/composite.ts` (several parts that sort as you expect). A key's form never changes.
 *
 * Read next: chapter 10, testing. Sources: `schemas/trends/topics.ts`, `schemas/avro/resolve.ts` (the rules), `kafka/serdes.ts`. That a Python
 * producer and consumer understand all this is tested in `tests/deploy/local/registry/registry.integration.test.ts`.
 */
