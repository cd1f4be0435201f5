import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { waitUntil } from '../../../deploy/local/wait.ts'
import type { KafkaOptions } from '../../../kafka/client/index.ts'
import type { Publisher, PublisherOptions, Transport, TransportError } from '../../../kafka/transport.ts'
import { AT_FIRST_TRY, privateKafka, testStack } from '../../stack/index.ts'
import { type BrokerProxy, brokerProxy } from './broker-proxy.ts'
import { connected, DEADLINE_MS, newTopic, readToEnd, valuesOf } from './harness.ts'

const SHORT_REQUEST_TIMEOUT_MS = 500
const RESTART_TEST_MS = 120_000

let brokers: string
beforeAll(async () => {
  brokers = await testStack().kafka()
})

async function throughProxy(): Promise<BrokerProxy> {
  const proxy = await brokerProxy(brokers)
  onTestFinished(() => proxy.close())
  return proxy
}

interface Published {
  readonly transport: Transport
  readonly topic: string
  readonly publisher: Publisher
  /** @returns `ok` or the code of the failure */
  publish(partition: number, value: string, timeoutMs?: number): Promise<string>
  values(partition: number): Promise<(string | null)[]>
}

async function opened(
  address: string,
  options: { partitions?: number; config?: Record<string, string>; publisher?: PublisherOptions; transport?: Partial<KafkaOptions> } = {},
): Promise<Published> {
  const transport = await connected(address, options.transport)
  const topic = await newTopic(transport, options.partitions, options.config)
  const publisher = transport.publisher(options.publisher)
  return {
    transport,
    topic,
    publisher,
    publish(partition, value, timeoutMs) {
      const { promise, resolve } = Promise.withResolvers<string>()
      const bytes = Buffer.from(value)
      const settled = (_count: number, error?: TransportError) => resolve(error?.code ?? 'ok')
      publisher.appender(topic, partition).append({ timeoutMs, settled }, Date.now(), null, 0, 0, bytes, 0, bytes.length)
      return promise
    },
    values: async (partition) => valuesOf(await readToEnd(transport, { topic, partition })),
  }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

/** Publishes `count` records to every partition, a few in each turn of the event loop. */
async function publishMany({ publish }: Published, partitions: number, count: number, each?: (index: number) => void): Promise<string[]> {
  const fates: Promise<string>[] = []
  for (let index = 0; index < count; index++) {
    for (let partition = 0; partition < partitions; partition++) fates.push(publish(partition, `${index}`))
    each?.(index)
    if (index % 3 === 0) await turn()
    if (index % 50 === 0) await Promise.race(fates.slice(-1))
  }
  return Promise.all(fates)
}

const numbers = (count: number) => Array.from({ length: count }, (_, index) => `${index}`)

test('a publisher writes every record once, in the order of the appends, and holds no records afterwards', async () => {
  const one = await opened(brokers, { partitions: 3 })
  expect(new Set(await publishMany(one, 3, 500))).toEqual(new Set(['ok']))
  for (const partition of [0, 1, 2]) expect(await one.values(partition)).toEqual(numbers(500))
  expect([one.publisher.pendingRecords, one.publisher.pendingBytes]).toEqual([0, 0])
})

test('a publisher pipelines at most five requests, and collects later records into the next request', async () => {
  const proxy = await throughProxy()
  const one = await opened(proxy.address)
  expect(await one.publish(0, 'first')).toBe('ok')
  const before = proxy.requests('produce').length
  proxy.freeze()
  const fates: Promise<string>[] = []
  for (let index = 0; index < 20; index++) {
    fates.push(one.publish(0, `${index}`))
    await turn()
    await turn()
  }
  await waitUntil(() => proxy.requests('produce').length === before + 5, { what: 'five requests', timeoutMs: DEADLINE_MS })
  proxy.thaw()
  expect(new Set(await Promise.all(fates))).toEqual(new Set(['ok']))
  expect(proxy.requests('produce').length).toBe(before + 6)
  expect(await one.values(0)).toEqual(['first', ...numbers(20)])
})

test('records that arrive within the minimum interval between requests share the next request', async () => {
  const proxy = await throughProxy()
  const one = await opened(proxy.address, { publisher: { spacingMs: 300 } })
  const before = proxy.requests('produce').length
  const fates = [one.publish(0, 'at once')]
  await fates[0]
  for (let index = 0; index < 20; index++) {
    fates.push(one.publish(0, `${index}`))
    await turn()
  }
  await Promise.all(fates)
  expect(proxy.requests('produce').length).toBe(before + 2)
})

test.for(['lose-request', 'lose-response', 'cut'] as const)(
  'although produce requests are affected by the fault %s, every record is written once and in order',
  AT_FIRST_TRY,
  async (action) => {
    const proxy = await throughProxy()
    const one = await opened(proxy.address, { partitions: 2, publisher: { requestTimeoutMs: SHORT_REQUEST_TIMEOUT_MS } })
    const count = 600
    const lose = (index: number) => {
      if (index % 150 === 20) proxy.interfere({ api: 'produce', action, times: 2, after: index % 4 })
    }
    expect(new Set(await publishMany(one, 2, count, lose))).toEqual(new Set(['ok']))
    for (const partition of [0, 1]) expect(await one.values(partition)).toEqual(numbers(count))
  },
)

test('repeatedly cut connections neither lose nor duplicate records', AT_FIRST_TRY, async () => {
  const proxy = await throughProxy()
  const one = await opened(proxy.address, { partitions: 2 })
  const count = 1_000
  const cut = (index: number) => {
    if (index % 100 === 50) proxy.cutAll()
  }
  expect(new Set(await publishMany(one, 2, count, cut))).toEqual(new Set(['ok']))
  for (const partition of [0, 1]) expect(await one.values(partition)).toEqual(numbers(count))
})

test('when the broker is killed and restarted, every record is written once and in order', {
  ...AT_FIRST_TRY,
  timeout: RESTART_TEST_MS,
}, async () => {
  const broker = await privateKafka()
  const one = await opened(broker.address, { partitions: 2, publisher: { requestTimeoutMs: 5_000 } })
  const count = 1_000
  let restarted: Promise<unknown> | undefined
  const kill = (index: number) => {
    if (index === 300) restarted = broker.kill().then(() => broker.start())
  }
  expect(new Set(await publishMany(one, 2, count, kill))).toEqual(new Set(['ok']))
  await restarted
  for (const partition of [0, 1]) expect(await one.values(partition)).toEqual(numbers(count))
})

test('a record that is too large for its topic fails without the other records of its batch, and is not sent again', async () => {
  const proxy = await throughProxy()
  const one = await opened(proxy.address, { config: { 'max.message.bytes': '10000' } })
  const large = 'x'.repeat(20_000)
  const values = Array.from({ length: 40 }, (_, index) => (index % 10 === 5 ? `${large}${index}` : `${index}`.padEnd(1_000, '.')))
  const fates = await Promise.all(values.map((value) => one.publish(0, value)))
  expect(fates).toEqual(values.map((value) => (value.length > 10_000 ? 'MESSAGE_TOO_LARGE' : 'ok')))
  const sent = proxy.requests('produce').length
  expect(await one.publish(0, 'after')).toBe('ok')
  expect(proxy.requests('produce').length).toBe(sent + 1)
  expect(await one.values(0)).toEqual([...values.filter((value) => value.length <= 10_000), 'after'])
})

test('a partition whose records cannot be written does not delay other partitions', async () => {
  const one = await opened(brokers, { partitions: 2, config: { 'max.message.bytes': '10000' } })
  const refused = one.publish(0, 'x'.repeat(20_000))
  expect(await one.publish(1, 'small')).toBe('ok')
  expect(await refused).toBe('MESSAGE_TOO_LARGE')
})

test('publishing to a missing topic fails at the deadline and does not delay other topics', async () => {
  const one = await opened(brokers)
  const { promise, resolve } = Promise.withResolvers<TransportError | undefined>()
  const bytes = Buffer.from('value')
  const receipt = { timeoutMs: 1_000, settled: (_count: number, error?: TransportError) => resolve(error) }
  one.publisher.appender(`${one.topic}-absent`, 0).append(receipt, Date.now(), null, 0, 0, bytes, 0, bytes.length)
  expect(await one.publish(0, 'there')).toBe('ok')
  expect(await promise).toMatchObject({ code: 'TIMED_OUT', message: expect.stringContaining('LEADER_NOT_AVAILABLE') })
})

test('an append beyond the memory limit throws, and appends succeed again after Kafka has answered', async () => {
  const proxy = await throughProxy()
  const one = await opened(proxy.address, { publisher: { maxPendingBytes: 100_000 } })
  expect(await one.publish(0, 'first')).toBe('ok')
  proxy.freeze()
  const fates: Promise<string>[] = []
  const value = 'x'.repeat(1_000)
  const fill = () => {
    for (;;) fates.push(one.publish(0, value))
  }
  expect(fill).toThrow(expect.objectContaining({ code: 'BUFFER_FULL', fatal: false }))
  expect(fates.length).toBeGreaterThan(80)
  expect(one.publisher.pendingBytes).toBeLessThanOrEqual(100_000)
  proxy.thaw()
  expect(new Set(await Promise.all(fates))).toEqual(new Set(['ok']))
  expect(await one.publish(0, 'last')).toBe('ok')
  expect(() => one.publish(0, 'x'.repeat(10_000_000))).toThrow(expect.objectContaining({ code: 'MESSAGE_TOO_LARGE', fatal: true }))
})

test('each record has a deadline, after which an unsent record is never sent', async () => {
  const proxy = await throughProxy()
  const one = await opened(proxy.address, { publisher: { requestTimeoutMs: SHORT_REQUEST_TIMEOUT_MS } })
  expect(await one.publish(0, 'first')).toBe('ok')
  proxy.freeze()
  const sent = Array.from({ length: 5 }, (_, index) => one.publish(0, `sent ${index}`, 300))
  await turn()
  await turn()
  const unsent: Promise<string>[] = []
  for (let index = 0; index < 10; index++) {
    unsent.push(one.publish(0, `unsent ${index}`, 300))
    await turn()
  }
  const patient = one.publish(0, 'patient')
  expect(new Set(await Promise.all([...sent, ...unsent]))).toEqual(new Set(['TIMED_OUT']))
  proxy.thaw()
  expect(await patient).toBe('ok')
  const values = await one.values(0)
  expect(values.at(-1)).toBe('patient')
  expect(new Set(values).size).toBe(values.length)
  // Up to five requests may have been sent, but the last records were appended too late to be part of them.
  expect(values).not.toContain('unsent 9')
})

test('closing sends the buffered records, and records that are not acknowledged in time fail', async () => {
  const proxy = await throughProxy()
  const one = await opened(proxy.address)
  const fates = numbers(100).map((value) => one.publish(0, value))
  await one.publisher.close(DEADLINE_MS)
  expect(new Set(await Promise.all(fates))).toEqual(new Set(['ok']))
  expect(() => one.publish(0, 'late')).toThrow(expect.objectContaining({ code: 'CLOSED' }))
  const other = await opened(proxy.address)
  expect(await other.publish(0, 'first')).toBe('ok')
  proxy.freeze()
  const fate = other.publish(0, 'second')
  await other.publisher.close(50)
  expect(await fate).toBe('CLOSED')
  proxy.thaw()
})
