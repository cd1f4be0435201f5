import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../../deploy/local/ports.ts'
import { kafkaTransport } from '../../../kafka/client/index.ts'
import { partitionKey } from '../../../kafka/transport.ts'
import { systemRuntime } from '../../../runtime/system.ts'
import { testStack, uniqueName } from '../../stack/index.ts'
import { brokerProxy } from './broker-proxy.ts'
import { append, commit, connected, newProducer, newTopic, silent } from './harness.ts'

const HOUR_MS = 3_600_000

let brokers: string
beforeAll(async () => {
  brokers = await testStack().kafka()
})

test('ensureTopics creates missing topics with their configuration, and leaves existing topics unchanged', async () => {
  const transport = await connected(brokers)
  const [first, second] = [uniqueName('first'), uniqueName('second')]
  await transport.ensureTopics([{ name: first, partitions: 3, config: { 'max.message.bytes': '4194304' } }])
  await transport.ensureTopics([
    { name: first, partitions: 3 },
    { name: second, partitions: 1 },
  ])
  expect(await transport.partitionCounts([first, second, uniqueName('absent')])).toEqual(
    new Map([
      [first, 3],
      [second, 1],
    ]),
  )
  expect(await transport.maxBatchBytes([first])).toEqual(new Map([[first, 4_194_304]]))
  // A new topic is ready when ensureTopics returns: its leaders can answer requests immediately.
  expect((await transport.offsets([{ topic: first, partition: 2 }], 'end')).get(`${first}-2`)).toBe(0)
})

test('if an existing topic has a different partition count, ensureTopics fails with an error that names both counts', async () => {
  const transport = await connected(brokers)
  const name = await newTopic(transport, 2)
  await expect(transport.ensureTopics([{ name, partitions: 3 }])).rejects.toMatchObject({ code: 'PARTITION_COUNT_MISMATCH', fatal: true })
  await expect(transport.ensureTopics([{ name, partitions: 3 }])).rejects.toThrow(`topic ${name} has 2 partitions, but 3 are declared`)
})

test('if a setting of a new topic is unknown, ensureTopics fails with the reason from the broker', async () => {
  const transport = await connected(brokers)
  await expect(transport.ensureTopics([{ name: uniqueName('bad'), partitions: 1, config: { 'no.such.setting': '1' } }])).rejects.toThrow(
    /INVALID_CONFIG.*no\.such\.setting/,
  )
})

test('the end offset is the high watermark, which includes open transactions, and not the last stable offset', async () => {
  const transport = await connected(brokers)
  const topic = await newTopic(transport)
  const closed = await newProducer(transport)
  append(closed, topic, 0, 'a', 'b')
  await commit(closed)
  const open = transport.producer({ transactionalId: uniqueName('open') })
  await open.init()
  append(open, topic, 0, 'x'.repeat(950_000), 'y')
  await open.flushFull()
  const key = partitionKey(topic, 0)
  // The log contains a, b, the commit marker, and the full batch of the open transaction.
  expect((await transport.offsets([{ topic, partition: 0 }], 'end')).get(key)).toBe(4)
  expect((await transport.offsets([{ topic, partition: 0 }], 'earliest')).get(key)).toBe(0)
  await open.abort()
})

test('the offset since a time is that of the first record with this timestamp or a later one', async () => {
  const transport = await connected(brokers)
  const topic = await newTopic(transport)
  const producer = await newProducer(transport)
  const value = Buffer.from('value')
  const place = { topic, partition: 0 }
  const now = Date.now()
  const appendAt = (timestamp: number) => producer.appender(topic, 0).append(timestamp, null, 0, 0, value, 0, value.length)
  for (const age of [5_000, 2_000, 3_000]) appendAt(now - age)
  await commit(producer)
  appendAt(now - 1_000)
  await commit(producer)
  const since = async (time: number) => (await transport.offsetsSince([place], time)).get(partitionKey(topic, 0))
  expect([await since(0), await since(now - 5_000), await since(now - 4_000), await since(now - 2_000)]).toEqual([0, 0, 1, 1])
  // The commit marker at offset 3 has the broker's time.
  expect(await since(now - 1_999.5)).toBe(3)
  expect(await since(now + HOUR_MS)).toBeUndefined()
  expect(await since(-1)).toBe(0)
})

test('connecting to an address without a listener fails with an error that says what to check', async () => {
  const address = `127.0.0.1:${await freePort()}`
  const transport = kafkaTransport({ brokers: [address], clientId: 'test' }, { runtime: systemRuntime(silent) })
  await expect(transport.connect()).rejects.toMatchObject({ code: 'BROKERS_UNREACHABLE', fatal: false })
  await expect(transport.connect()).rejects.toThrow(new RegExp(`${address}.*is Kafka running`))
  await transport.close()
})

test('an unreachable address is ignored if another address works', async () => {
  const transport = await connected(brokers, { brokers: [`127.0.0.1:${await freePort()}`, brokers] })
  expect(await transport.partitionCounts([])).toEqual(new Map())
})

test('maxBatchBytes returns the limit of each topic, which is the limit of the broker by default', async () => {
  const transport = await connected(brokers)
  const [plain, large] = [await newTopic(transport), await newTopic(transport, 1, { 'max.message.bytes': '4194304' })]
  expect(await transport.maxBatchBytes([plain, large])).toEqual(
    new Map([
      [plain, 1_048_588],
      [large, 4_194_304],
    ]),
  )
})

test('the request that looks up a topic does not name topics that were looked up before', async () => {
  const direct = await connected(brokers)
  const [first, second] = [await newTopic(direct), await newTopic(direct)]
  const proxy = await brokerProxy(brokers)
  onTestFinished(() => proxy.close())
  const transport = await connected(proxy.address)
  await transport.partitionCounts([first])
  const before = proxy.requests('metadata').length
  expect((await transport.topicIds([second])).has(second)).toBe(true)
  const names = proxy.requests('metadata').slice(before).join()
  expect(names).toContain(second)
  expect(names).not.toContain(first)
})

test('lookups that wait for another lookup to finish share one request', async () => {
  const direct = await connected(brokers)
  const topics = [await newTopic(direct), await newTopic(direct), await newTopic(direct, 2)]
  const proxy = await brokerProxy(brokers)
  onTestFinished(() => proxy.close())
  const transport = await connected(proxy.address)
  const before = proxy.requests('metadata').length
  const counts = await Promise.all(topics.map((topic) => transport.partitionCounts([topic])))
  expect(counts.map((count, index) => count.get(topics[index]))).toEqual([1, 1, 2])
  expect(proxy.requests('metadata').length - before).toBeLessThanOrEqual(2)
})
