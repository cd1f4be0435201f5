import { Admin } from '@platformatic/kafka'
import { Registry } from 'prom-client'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { factBuffer } from '../../../api/kit/fact-buffer.ts'
import { type KafkaFacts, kafkaFacts } from '../../../api/kit/facts.ts'
import { apiTransport } from '../../../api/kit/kafka.ts'
import { createLogger } from '../../../api/kit/logging.ts'
import type { SchemaRegistry } from '../../../kafka/registry-interface.ts'
import type { Transport } from '../../../kafka/transport.ts'
import { utf8 } from '../../../schemas/keys.ts'
import { swipeEvents } from '../../../schemas/matches/topics.ts'
import { rawValue } from '../../../schemas/raw.ts'
import type { Topic } from '../../../schemas/topic.ts'
import { type BrokerProxy, brokerProxy } from '../../kafka/client/broker-proxy.ts'
import { newTopic, readToEnd } from '../../kafka/client/harness.ts'
import { AT_FIRST_TRY, testStack } from '../../stack/index.ts'

const PARTITIONS = 2
const SOON = { timeout: 30_000 }
const log = createLogger('silent')
/** A placeholder for the registry, in tests whose topics have no schemas. */
const noRegistry = {} as SchemaRegistry

let brokers: string
beforeAll(async () => {
  brokers = await testStack().kafka()
})

interface Opened {
  readonly proxy: BrokerProxy
  readonly transport: Transport
  readonly facts: KafkaFacts
  readonly topic: Topic<string, string>
  values(): Promise<Map<string, string[]>>
}

async function opened(): Promise<Opened> {
  const proxy = await brokerProxy(brokers)
  const transport = apiTransport({ brokers: [proxy.address], log })
  await transport.connect()
  const name = await newTopic(transport, PARTITIONS)
  const topic: Topic<string, string> = { name, key: utf8, value: rawValue(utf8), partitions: PARTITIONS }
  const facts = kafkaFacts({ transport, registry: noRegistry, topics: [topic], log })
  onTestFinished(async () => {
    await facts.close()
    await transport.close()
    await proxy.close()
  })
  await expect.poll(() => facts.probe.check(), SOON).toBeUndefined()
  async function values(): Promise<Map<string, string[]>> {
    const records = await Promise.all([0, 1].map((partition) => readToEnd(transport, { topic: name, partition })))
    const byKey = Map.groupBy(records.flat(), ({ key }) => key as string)
    return new Map([...byKey].map(([key, found]) => [key, found.map(({ value }) => value as string)]))
  }
  return { proxy, transport, facts, topic, values }
}

test('an API that starts while Kafka is unreachable registers its schemas immediately, and reports what it is waiting for', async () => {
  const transport = apiTransport({ brokers: ['127.0.0.1:1'], log })
  const registered: string[] = []
  const registry = { register: async (subject: string) => registered.push(subject) } as unknown as SchemaRegistry
  const facts = kafkaFacts({ transport, registry, topics: [swipeEvents], log })
  onTestFinished(async () => {
    await facts.close()
    await transport.close()
  })
  await expect.poll(() => registered, SOON).toEqual([`${swipeEvents.name}-value`])
  await expect.poll(() => facts.probe.check(), SOON).toContain('127.0.0.1:1')
})

test('the partition counts are stored again after the stored counts were damaged or removed', async () => {
  const { transport, topic } = await opened()
  let stored: string | null = 'not JSON'
  const memory = {
    load: async () => stored,
    save: async (text: string) => {
      stored = text
    },
  }
  const facts = kafkaFacts({ transport, registry: noRegistry, topics: [topic], memory, rememberEveryMs: 10, log })
  onTestFinished(() => facts.close())
  await expect.poll(() => stored, SOON).toBe(JSON.stringify({ [topic.name]: PARTITIONS }))
  for (const lost of ['{', null]) {
    stored = lost
    await expect.poll(() => stored, SOON).toBe(JSON.stringify({ [topic.name]: PARTITIONS }))
  }
})

test('acknowledged facts are written once and in order per key, even if responses are lost', AT_FIRST_TRY, async () => {
  const { proxy, facts, topic, values } = await opened()
  const keys = ['a', 'b', 'c', 'd']
  const published: Promise<void>[] = []
  for (let index = 0; index < 200; index++) {
    for (const key of keys) published.push(facts.publish(topic, key, `${index}`))
    if (index % 70 === 10) proxy.interfere({ api: 'produce', action: 'cut', after: 1 })
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  await Promise.all(published)
  const expected = Array.from({ length: 200 }, (_, index) => `${index}`)
  const found = await values()
  for (const key of keys) expect(found.get(key)).toEqual(expected)
})

test('if Kafka permanently rejects a fact, only this fact fails, with a specific error', async () => {
  const { facts, topic, values } = await opened()
  const large = facts.publish(topic, 'a', 'x'.repeat(2_000_000))
  const small = facts.publish(topic, 'a', 'small')
  await expect(large).rejects.toMatchObject({ message: 'The event log rejected this record.' })
  await small
  expect((await values()).get('a')).toEqual(['small'])
})

test('a buffer drops and counts a fact that Kafka rejects permanently, and continues', async () => {
  const { facts, topic, values } = await opened()
  const registry = new Registry()
  const buffer = factBuffer({ open: () => facts.openLog(topic), capacity: 100, registry, name: 'facts', log })
  for (const value of ['before', 'x'.repeat(2_000_000), 'after']) buffer.offer('a', value)
  await expect.poll(() => buffer.size, SOON).toBe(0)
  expect((await registry.getSingleMetric('facts_dropped_total')!.get()).values[0].value).toBe(1)
  expect((await values()).get('a')).toEqual(['before', 'after'])
})

/** Delay in each direction, so that an acknowledgement takes one second. */
const SLOW_MS = 500
const OFFER_EVERY_MS = 100
const OFFERED_AT_ONCE = 100
const OFFERS = 50
/**
 * The buffer's size, in facts. With pipelined requests, the facts from little more than one round trip accumulate, so
 * they fit. With one request in flight at a time, the facts from two round trips would accumulate and exceed this size.
 */
const CAPACITY = 1_900

test('nothing is dropped when Kafka is slow, because requests are pipelined', AT_FIRST_TRY, async () => {
  const { proxy, facts, topic, values } = await opened()
  const registry = new Registry()
  const buffer = factBuffer({ open: () => facts.openLog(topic), capacity: CAPACITY, registry, name: 'facts', log })
  for (const key of ['a', 'b', 'c', 'd']) buffer.offer(key, 'first')
  await expect.poll(() => buffer.size, SOON).toBe(0)
  proxy.delay(SLOW_MS)
  for (let offer = 0; offer < OFFERS; offer++) {
    for (let index = 0; index < OFFERED_AT_ONCE; index++) buffer.offer('abcd'[index % 4], `${offer * OFFERED_AT_ONCE + index}`)
    await new Promise((resolve) => setTimeout(resolve, OFFER_EVERY_MS))
  }
  proxy.delay(0)
  await expect.poll(() => buffer.size, SOON).toBe(0)
  expect((await registry.getSingleMetric('facts_dropped_total')!.get()).values[0]?.value ?? 0).toBe(0)
  const found = await values()
  expect([...found.values()].flat().length).toBe(OFFERS * OFFERED_AT_ONCE + 4)
  for (const list of found.values())
    expect(list.slice(1).map(Number)).toEqual(
      list
        .slice(1)
        .map(Number)
        .toSorted((a, b) => a - b),
    )
})

test('the probe names topics that have gained partitions, and new facts still go to the old partitions only', async () => {
  const { facts, topic, values } = await opened()
  const admin = new Admin({ clientId: 'test', bootstrapBrokers: [brokers] })
  onTestFinished(() => admin.close())
  await admin.createPartitions({ topics: [{ name: topic.name, count: 5, assignments: null }] })
  await expect.poll(() => facts.probe.check(), SOON).toMatch(new RegExp(`^${topic.name} has 5 partitions instead of ${PARTITIONS}`))
  for (let i = 0; i < 20; i++) await facts.publish(topic, `key ${i}`, 'x')
  expect((await values()).size).toBe(20)
})
