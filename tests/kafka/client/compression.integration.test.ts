import { beforeAll, describe, expect, test } from 'vitest'
import { testStack } from '../../stack/index.ts'
import { append, commit, connected, newTopic, readToEnd, valuesOf } from './harness.ts'
import { librdkafka } from './librdkafka.ts'

let brokers: string
beforeAll(async () => {
  brokers = await testStack().kafka()
})

const values = Array.from({ length: 2_000 }, (_, i) => `${i} ${'compressible '.repeat(i % 40)}`)

describe.each(['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const)('with compression %s', (codec) => {
  test('the client reads batches that librdkafka has written', async (context) => {
    const other = await librdkafka(context, brokers)
    const transport = await connected(brokers)
    const topic = await newTopic(transport)
    await other.bulk({ topic, partition: 0 }, values, { 'compression.type': codec })
    const records = await readToEnd(transport, { topic, partition: 0 })
    expect(valuesOf(records)).toEqual(values)
    expect(records[7]).toMatchObject({ offset: 7, key: `key of ${values[7]}`.slice(0, 40), headers: { from: 'librdkafka' } })
    expect(valuesOf(await readToEnd(transport, { topic, partition: 0 }, { from: 1_234 }))).toEqual(values.slice(1_234))
  })

  test('librdkafka reads batches that the client has written', async (context) => {
    const other = await librdkafka(context, brokers)
    const transport = await connected(brokers)
    const topic = await newTopic(transport)
    const producer = transport.producer({ transactionalId: topic, compression: codec })
    await producer.init()
    append(producer, topic, 0, ...values)
    await commit(producer)
    expect(valuesOf(await other.read(transport, { topic, partition: 0 }))).toEqual(values)
    expect(valuesOf(await readToEnd(transport, { topic, partition: 0 }))).toEqual(values)
  })
})

test("large batches stay below the broker's limit with every codec", async () => {
  const transport = await connected(brokers)
  const topic = await newTopic(transport)
  const many = Array.from({ length: 30_000 }, (_, i) => `${i} ${Math.imul(i, 2_654_435_761)} ${'x'.repeat(i % 100)}`)
  for (const codec of ['gzip', 'snappy', 'lz4', 'zstd'] as const) {
    const producer = transport.producer({ transactionalId: `${topic}-${codec}`, compression: codec })
    await producer.init()
    append(producer, topic, 0, ...many)
    await commit(producer)
  }
  expect(valuesOf(await readToEnd(transport, { topic, partition: 0 }))).toEqual([...many, ...many, ...many, ...many])
})
