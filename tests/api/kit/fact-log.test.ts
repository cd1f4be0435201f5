import { expect, test } from 'vitest'
import { FactsLostError, factLog } from '../../../api/kit/fact-log.ts'
import { memoryBroker } from '../../../kafka/memory/broker.ts'
import { memoryTransport } from '../../../kafka/memory/transport.ts'
import { partitionFor } from '../../../kafka/partitioner.ts'
import { FencedError, TransportError, type WorkerProducer } from '../../../kafka/transport.ts'
import { utf8 } from '../../../schemas/keys.ts'
import { rawValue } from '../../../schemas/raw.ts'
import type { Topic } from '../../../schemas/topic.ts'

const PARTITIONS = 3
const NOW = 1_700_000_000_000
const topic: Topic<string, string> = { name: 'facts', key: utf8, value: rawValue(utf8), partitions: PARTITIONS }

/** A log on a broker in memory whose commits can fail. */
function opened() {
  const broker = memoryBroker()
  broker.createTopic({ name: topic.name, partitions: PARTITIONS })
  const inner = memoryTransport(broker).producer({})
  const faults = { next: undefined as Error | undefined, inits: 0 }
  const producer: WorkerProducer = {
    ...inner,
    appender: inner.appender,
    async init() {
      faults.inits++
      await inner.init()
    },
    async commit(offsets, member) {
      const error = faults.next
      faults.next = undefined
      if (error !== undefined) throw error
      return await inner.commit(offsets, member)
    },
  }
  const log = factLog({ topic, codec: utf8, partitions: PARTITIONS, producer, now: () => NOW })
  const records = () =>
    broker
      .records(topic.name)
      .map(({ partition, timestamp, key, value }) => ({ partition, timestamp, key: String(key), value: String(value) }))
  return { log, faults, records }
}

test('each fact goes to the partition of its key, in order, once it is sent', async () => {
  const { log, records } = opened()
  const facts = Array.from({ length: 20 }, (_, index) => [`key-${index % 5}`, `value ${index}`] as const)
  for (const [key, value] of facts) log.append(key, value)
  expect([log.pending, records()]).toEqual([20, []])
  expect(await log.send()).toBe(20)
  expect(log.pending).toBe(0)
  for (const key of new Set(facts.map(([name]) => name))) {
    const found = records().filter((record) => record.key === key)
    expect(found.map(({ value }) => value)).toEqual(facts.flatMap(([name, value]) => (name === key ? [value] : [])))
    for (const { partition, timestamp } of found) expect([partition, timestamp]).toEqual([partitionFor(Buffer.from(key), PARTITIONS), NOW])
  }
})

test('what is not acknowledged waits for the next call; what came meanwhile goes with it', async () => {
  const { log, faults, records } = opened()
  log.append('k', 'a')
  faults.next = new TransportError('NETWORK_EXCEPTION', 'away', { fatal: false })
  await expect(log.send()).rejects.toThrow('away')
  log.append('k', 'b')
  expect(log.pending).toBe(2)
  expect(await log.send()).toBe(2)
  expect(records().map(({ value }) => value)).toEqual(['a', 'b'])
})

test('a producer that the broker does not know any more begins anew, and says how many facts nobody knows of', async () => {
  const { log, faults, records } = opened()
  log.append('k', 'a')
  faults.next = new FencedError('UNKNOWN_PRODUCER_ID')
  const error = await log.send().catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(FactsLostError)
  expect([(error as FactsLostError).count, log.pending, faults.inits]).toEqual([1, 0, 1])
  log.append('k', 'b')
  await log.send()
  expect(records().map(({ value }) => value)).toEqual(['b'])
})
