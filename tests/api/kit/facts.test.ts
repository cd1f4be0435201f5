import { expect, onTestFinished, test } from 'vitest'
import { kafkaFacts } from '../../../api/kit/facts.ts'
import { createLogger } from '../../../api/kit/logging.ts'
import type { SchemaRegistry } from '../../../kafka/registry-interface.ts'
import type { Receipt, Transport } from '../../../kafka/transport.ts'
import { utf8 } from '../../../schemas/keys.ts'
import { rawValue } from '../../../schemas/raw.ts'
import type { Topic } from '../../../schemas/topic.ts'

const SOON = { timeout: 30_000 }

test('once Kafka has answered, facts go to its partitions, even if the stored partition counts were different', async () => {
  const topic: Topic<string, string> = { name: 'facts', key: utf8, value: rawValue(utf8), partitions: 8 }
  const appended: number[] = []
  let isAway = true
  const publisher = () => ({
    appender: (_topic: string, partition: number) => ({
      append(receipt: Receipt) {
        appended.push(partition)
        queueMicrotask(() => receipt.settled(1, undefined))
      },
    }),
    close: async () => undefined,
  })
  async function partitionCounts() {
    if (isAway) throw new Error('Kafka is away')
    return new Map([[topic.name, 8]])
  }
  const transport = { connect: async () => undefined, partitionCounts, publisher } as unknown as Transport
  const memory = { load: async () => JSON.stringify({ [topic.name]: 1 }), save: async () => undefined }
  const facts = kafkaFacts({ transport, registry: {} as SchemaRegistry, topics: [topic], memory, log: createLogger('silent') })
  onTestFinished(() => facts.close())
  const keys = ['a', 'b', 'c', 'd']
  const publishAll = () => Promise.all(keys.map((key) => facts.publish(topic, key, 'value')))
  await expect.poll(() => publishAll(), SOON).toBeDefined()
  expect(new Set(appended)).toEqual(new Set([0]))
  appended.length = 0
  isAway = false
  await expect.poll(() => facts.probe.check(), SOON).toBeUndefined()
  await publishAll()
  expect(appended).toEqual(keys.map((key) => facts.partitionOf(topic, key)))
  expect(new Set(appended).size).toBeGreaterThan(1)
})
