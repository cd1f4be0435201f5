import { join } from 'node:path'
import { Registry } from 'prom-client'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { apiTransport } from '../../../../api/kit/kafka.ts'
import { createLogger } from '../../../../api/kit/logging.ts'
import { packedTableOpener } from '../../../../api/kit/packed/open.ts'
import { memoryRegistry } from '../../../../kafka/memory/registry.ts'
import { commit, connected, newProducer } from '../../../kafka/client/harness.ts'
import { guardedFolder } from '../../../stack/folder.ts'
import { newKafka } from '../../../stack/servers.ts'
import { packing, reports, topic } from './table-world.ts'

const SOON = { timeout: 60_000, interval: 100 }
const ENTRIES = 2_000
const log = createLogger('silent')
const folder = guardedFolder()

afterAll(() => folder.finish())

test('an API that starts while Kafka is unreachable answers with its snapshot, and catches up when Kafka is back', async () => {
  const kafka = await newKafka(folder.path)
  await kafka.start()

  /** Publishes values in one transaction. The value null deletes a key. */
  async function publish(values: Iterable<readonly [string, string | null]>): Promise<void> {
    const transport = await connected(kafka.address)
    const producer = await newProducer(transport)
    for (const [key, value] of values) {
      const [keyBytes, valueBytes] = [Buffer.from(key), value === null ? null : Buffer.from(value)]
      const appender = producer.appender(topic.name, keyBytes[keyBytes.length - 1] % topic.partitions)
      appender.append(Date.now(), keyBytes, 0, keyBytes.length, valueBytes, 0, valueBytes?.length ?? 0)
    }
    await commit(producer)
    await transport.close()
  }

  /** Opens the table with a separate transport, like a separate process. */
  async function open() {
    const transport = apiTransport({ brokers: [kafka.address], log })
    const metrics = new Registry()
    const clocks = { now: Date.now, monotonic: () => performance.now() }
    const tables = { transport, registry: memoryRegistry(), folder: join(folder.path, 'tables'), metrics, log, ...clocks }
    const table = await packedTableOpener(tables)(topic, packing)
    async function close(): Promise<void> {
      await table.close()
      await transport.close()
    }
    return { table, metrics, close }
  }

  const setup = await connected(kafka.address)
  await setup.ensureTopics([{ name: topic.name, partitions: topic.partitions, config: { 'cleanup.policy': 'compact' } }])
  await publish(Array.from({ length: ENTRIES }, (_, index) => [`key ${index}`, String(index)] as const))
  const first = await open()
  await expect.poll(() => reports(first.table), SOON).toEqual({})
  expect([first.table.size, first.table.get('key 7')]).toEqual([ENTRIES, 7])
  await publish([['key 7', null]])
  await expect.poll(() => first.table.get('key 7')).toBeUndefined()
  await first.close()
  await publish([['key 8', null], ['key 9', '99'], ['new', '1']]) // biome-ignore format: short
  await kafka.stop()

  const second = await open()
  onTestFinished(second.close)
  expect(() => second.table.get('key 9')).toThrow(/still being loaded/)
  await expect.poll(() => second.table.isFromSnapshot, SOON).toBe(true)
  const known = () => ['key 7', 'key 8', 'key 9', 'key 10', 'new'].map((key) => second.table.get(key))
  expect([known(), second.table.isStale]).toEqual([[undefined, 8, 9, 10, undefined], true])
  expect(Object.keys(await reports(second.table))).toEqual([`news of table ${topic.name}`])
  expect(await second.metrics.metrics()).toContain('packed_table_from_snapshot{topic="entries"} 1')

  await kafka.start()
  await expect.poll(() => second.table.isFromSnapshot, SOON).toBe(false)
  expect(known()).toEqual([undefined, undefined, 99, 10, 1])
  await expect.poll(() => reports(second.table), SOON).toEqual({})

  // Simulates an outage while the process is running.
  await kafka.kill()
  await expect.poll(() => second.table.isStale, SOON).toBe(true)
  expect([known(), second.table.isFromSnapshot]).toEqual([[undefined, undefined, 99, 10, 1], false])
  await kafka.start()
  await publish([['key 10', '100']])
  await expect.poll(() => second.table.get('key 10'), SOON).toBe(100)
  await expect.poll(() => second.table.isStale, SOON).toBe(false)
  // While nothing changes, the broker still responds often enough that the table does not become stale.
  let last = second.table.staleMs
  for (let times = 0; times < 5; times++) {
    const hasNews = () => {
      const before = last
      last = second.table.staleMs
      return last < before
    }
    await expect.poll(hasNews, { interval: 20 }).toBe(true)
    expect(second.table.isStale).toBe(false)
  }
})
