/**
 * # 9. Schemas
 *
 * Topics outlive the programs that write them. A worker that was deployed today reads records that a dock wrote last
 * year, and another team's Python script reads its output. All these programs must agree on a *schema*, which defines
 * the fields of a value and their types. Millrace uses Avro with a schema registry, for topics and for state.
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
 * ## Schema files
 *
 * In this guide, the chapters contain their schemas. In the project, each schema is a file, for example
 * `schemas/trends/Tweet.avsc`. `npm run schemas` generates the file `types.ts` in each folder, with the TypeScript
 * types of all schemas in the folder, so a type always agrees with its schema. `avro('trends/Tweet')` returns the value
 * format for `Tweet` objects.
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
 * ## Wire format
 *
 * On the wire, a value consists of a zero byte, four bytes with the id of its schema in the registry, and the fields in
 * Avro's binary encoding. This is Confluent's format, for which there are libraries in most languages. The field names
 * are in the schema and not in the record, so records are small.
 */
test('a value consists of a schema id and the fields, without their names', () => {
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
 * | `long` | `number` | safe integers only: larger numbers (2^53 and above) are refused, never rounded |
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
 * Programs with a new version of a schema must be able to read records that were written with the old version
 * (`BACKWARD`, the registry's default compatibility rule). These changes are allowed:
 *
 * - a new field *with a default*: old records are read as if they had the default value
 * - a removed field: it is skipped in old records
 * - a renamed field, with its old name as an alias
 * - a wider number: `int` to `long`, `float` or `double`
 *
 * The rule does not guarantee that programs with the old version can read new records. Therefore, always deploy a new
 * schema to readers first, and to writers at any later time.
 */
interface RideV2 {
  bike: string
  /** An earlier version named this field `minutes`, with the type int. */
  duration: number
  electric: boolean
}

const rideV2 = avroValue<RideV2>(
  rideSchema(bike, { name: 'duration', type: 'double', aliases: ['minutes'] }, { name: 'electric', type: 'boolean', default: false }),
)
const ridesV2: Topic<string, RideV2> = { ...ridesV1, value: rideV2 }

test('a reader with the new schema reads records that were written with the old one', () => {
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
 * ## Incompatible changes
 *
 * When a worker starts, it registers the schemas of everything that it reads, writes and stores. The registry refuses
 * an incompatible schema and gives the reason, and the worker does not start. At that point, nothing has been written,
 * so nothing has to be repaired.
 */
const riderWanted: Topic<string, RideV1 & { rider: string }> = {
  ...ridesV1,
  value: avroValue(rideSchema(bike, { name: 'minutes', type: 'int' }, { name: 'rider', type: 'string' })),
}

test('the registry refuses an incompatible schema and gives the reason', async () => {
  const registry = memoryRegistry()
  await openSerdes(registry, [ridesV1])
  await openSerdes(registry, [ridesV2])

  await expect(openSerdes(registry, [riderWanted])).rejects.toThrow(
    /the value schema of topic rides could not be registered as rides-value: .*the writer does not have the field/,
  )
})

/*
 * If a record that was written with an incompatible schema arrives nevertheless, it becomes a dead letter like any
 * other record that cannot be decoded.
 */
test('a record with an incompatible schema becomes a dead letter with the reason', () => {
  const driver = testDriver(topology('strict-reader', (t) => void t.source(riderWanted)))
  driver.pipe(ridesV1, 'bike-7', { bike: 'bike-7', minutes: 5 })

  const [{ headers }] = driver.readDeadLetters()
  const message = headers.find((header) => header.key === DEAD_LETTER_HEADERS.message)
  expect(String(message?.value)).toBe(
    "this program cannot read values of the writer's schema: .rider: the writer does not have the field, and the field has no default",
  )
})

/*
 * ## Evolution of state
 *
 * Values in stores are also encoded in Avro. Their schemas are registered under the subject of the store's changelog
 * topic. A new version of a topology converts the values of the old version one by one, when it reads them, so there is
 * no migration. In a test, `driver.restart({ topology })` deploys a new version: the same topics, the same state, new
 * code.
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
 * Keys are different: they determine partitions and are compared byte by byte, so they have no schema and no schema id.
 * Their codecs are in `schemas/keys.ts` (text, decimal ids) and `schemas/composite.ts` (several parts; the encoded keys
 * sort like the parts). The encoding of a key must never change.
 *
 * Read next: chapter 10, testing. Sources: `schemas/trends/topics.ts`, `schemas/avro/resolve.ts` (the rules of
 * evolution), `kafka/serdes.ts`. `tests/deploy/local/registry/registry.integration.test.ts` proves that a Python
 * producer and consumer can write and read these records.
 */
