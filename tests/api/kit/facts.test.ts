import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { kafkaFacts } from '../../../api/kit/facts.ts'
import { createLogger } from '../../../api/kit/logging.ts'
import { diskFiles } from '../../../api/kit/spool/files.ts'
import { Spool } from '../../../api/kit/spool/spool.ts'
import type { SchemaRegistry } from '../../../kafka/registry-interface.ts'
import type { Receipt, Transport } from '../../../kafka/transport.ts'
import { systemRuntime } from '../../../runtime/system.ts'
import { utf8 } from '../../../schemas/keys.ts'
import { rawValue } from '../../../schemas/raw.ts'
import type { Topic } from '../../../schemas/topic.ts'

const SOON = { timeout: 30_000 }
const KEYS = ['a', 'b', 'c', 'd']
const log = createLogger('silent')
const topic: Topic<string, string> = { name: 'facts', key: utf8, value: rawValue(utf8), partitions: 8 }

/** Opens facts while Kafka does not answer. The stored count is one partition, but the topic has eight. */
async function opened() {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-facts-'))
  const appended: { readonly key: string; readonly partition: number }[] = []
  const kafka = { isAway: true, isTopicDeleted: false }
  const publisher = () => ({
    appender: (_topic: string, partition: number) => ({
      append(receipt: Receipt, _timestamp: number, key: Buffer, start: number, end: number) {
        appended.push({ key: key.toString('utf8', start, end), partition })
        queueMicrotask(() => receipt.settled(1, undefined))
      },
    }),
    close: async () => undefined,
  })
  async function partitionCounts() {
    if (kafka.isAway) throw new Error('Kafka is down')
    return new Map(kafka.isTopicDeleted ? [] : [[topic.name, 8]])
  }
  const transport = { connect: async () => undefined, partitionCounts, publisher } as unknown as Transport
  const memory = { load: async () => JSON.stringify({ [topic.name]: 1 }), save: async () => undefined }
  const spool = await Spool.open({ folder, maxBytes: 1_000_000, files: diskFiles, runtime: systemRuntime(log) })
  const facts = kafkaFacts({ transport, registry: {} as SchemaRegistry, topics: [topic], memory, spool, log })
  onTestFinished(async () => {
    await facts.close()
    await spool.close()
    rmSync(folder, { recursive: true, force: true })
  })
  await expect.poll(() => partitionsOrNone(), SOON).toBe(1)
  function partitionsOrNone(): number | undefined {
    try {
      return facts.partitionsOf(topic)
    } catch {
      return undefined
    }
  }
  const returned = async () => {
    kafka.isAway = false
    await expect.poll(() => facts.probe.check(), SOON).toBeUndefined()
  }
  const expected = () => KEYS.map((key) => ({ key, partition: facts.partitionOf(topic, key) }))
  return { facts, kafka, appended, returned, expected }
}

test('once Kafka has reported its partition counts, facts go to these partitions, even if the stored counts were different', async () => {
  const { facts, appended, returned, expected } = await opened()
  const publishAll = () => Promise.all(KEYS.map((key) => facts.publish(topic, key, 'value')))
  await publishAll()
  await returned()
  appended.length = 0
  await publishAll()
  expect(appended).toEqual(expected())
  expect(new Set(appended.map(({ partition }) => partition)).size).toBeGreaterThan(1)
})

test('facts that can be spooled are not sent before Kafka has reported its partition counts', async () => {
  const { facts, appended, returned, expected } = await opened()
  const options = { withinMs: 10, isDurable: false }
  const spooled = await Promise.all(KEYS.map((key) => facts.publishOrSpool(topic, key, 'value', options)))
  expect(spooled).toEqual(KEYS.map(() => 'spooled'))
  expect(appended).toEqual([])
  await returned()
  await expect.poll(() => appended, SOON).toEqual(expected())
})

test('the Kafka probe names a topic that was deleted while the process runs', async () => {
  const { facts, kafka, returned } = await opened()
  await returned()
  kafka.isTopicDeleted = true
  expect(await facts.probe.check()).toContain('no such topic: facts')
  kafka.isTopicDeleted = false
  expect(await facts.probe.check()).toBeUndefined()
})
