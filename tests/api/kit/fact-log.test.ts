import { expect, test } from 'vitest'
import { factLog } from '../../../api/kit/fact-log.ts'
import { memoryBroker } from '../../../kafka/memory/broker.ts'
import { memoryTransport } from '../../../kafka/memory/transport.ts'
import { partitionFor } from '../../../kafka/partitioner.ts'
import type { TransportError } from '../../../kafka/transport.ts'
import { CodecError } from '../../../schemas/codec.ts'
import { utf8 } from '../../../schemas/keys.ts'
import { rawValue } from '../../../schemas/raw.ts'
import type { Topic } from '../../../schemas/topic.ts'

const PARTITIONS = 3
const NOW = 1_700_000_000_000
const MAX_RECORD_BYTES = 1_000
const topic: Topic<string, string> = { name: 'facts', key: utf8, value: rawValue(utf8), partitions: PARTITIONS }
const bad = 'a value without a form'
const codec = {
  ...utf8,
  encode(value: string, out: Parameters<typeof utf8.encode>[1]) {
    if (value === bad) throw new CodecError('no such form')
    utf8.encode(value, out)
  },
}

/** Opens a log on an in-memory broker, and records the outcome of each fact. */
function opened() {
  const broker = memoryBroker()
  broker.createTopic({ name: topic.name, partitions: PARTITIONS, config: { 'max.message.bytes': String(MAX_RECORD_BYTES) } })
  const log = factLog({ topic, codec, partitions: PARTITIONS, publisher: memoryTransport(broker).publisher(), now: () => NOW })
  const fates: string[] = []
  const append = (key: string, value: string | null) =>
    log.append(key, value, { settled: (_count: number, error?: TransportError) => void fates.push(error?.code ?? `${value}`) })
  const records = () =>
    broker
      .records(topic.name)
      .map(({ partition, timestamp, key, value }) => ({ partition, timestamp, key: `${key}`, value: value && `${value}` }))
  return { broker, append, fates, records }
}

test('each fact goes to the partition of its key, in order, and is acknowledged', async () => {
  const { append, fates, records } = opened()
  const facts = Array.from({ length: 20 }, (_, index) => [`key-${index % 5}`, `value ${index}`] as const)
  for (const [key, value] of facts) append(key, value)
  expect([fates, records()]).toEqual([[], []])
  await expect.poll(() => fates).toEqual(facts.map(([, value]) => value))
  for (const key of new Set(facts.map(([name]) => name))) {
    const found = records().filter((record) => record.key === key)
    expect(found.map(({ value }) => value)).toEqual(facts.flatMap(([name, value]) => (name === key ? [value] : [])))
    for (const { partition, timestamp } of found) expect([partition, timestamp]).toEqual([partitionFor(Buffer.from(key), PARTITIONS), NOW])
  }
})

test('null is written as a tombstone', async () => {
  const { append, fates, records } = opened()
  append('k', null)
  await expect.poll(() => fates).toEqual(['null'])
  expect(records().map(({ key, value }) => [key, value])).toEqual([['k', null]])
})

test('if Kafka rejects a fact, only this fact fails', async () => {
  const { append, fates, records } = opened()
  for (const value of ['a', 'x'.repeat(MAX_RECORD_BYTES), 'b']) append('k', value)
  await expect.poll(() => fates).toEqual(['a', 'MESSAGE_TOO_LARGE', 'b'])
  expect(records().map(({ value }) => value)).toEqual(['a', 'b'])
})

test('appending a fact that cannot be encoded throws, and writes nothing', async () => {
  const { append, fates, records } = opened()
  expect(() => append('k', bad)).toThrow(CodecError)
  append('k', 'good')
  await expect.poll(() => fates).toEqual(['good'])
  expect(records().map(({ value }) => value)).toEqual(['good'])
})

test('facts wait in order until Kafka answers', async () => {
  const { broker, append, fates, records } = opened()
  const { promise, resolve } = Promise.withResolvers<void>()
  broker.publishGate = promise
  append('k', 'a')
  await new Promise((later) => setImmediate(later))
  append('k', 'b')
  expect([fates, records()]).toEqual([[], []])
  resolve()
  await expect.poll(() => fates).toEqual(['a', 'b'])
})
