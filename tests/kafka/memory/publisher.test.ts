import { expect, test, vi } from 'vitest'
import { memoryBroker } from '../../../kafka/memory/broker.ts'
import { memoryTransport } from '../../../kafka/memory/transport.ts'
import { TransportError } from '../../../kafka/transport.ts'

const TOPIC = 'facts'

function opened() {
  const broker = memoryBroker()
  broker.createTopic({ name: TOPIC, partitions: 2, config: { 'max.message.bytes': '1000' } })
  const publisher = memoryTransport(broker).publisher()
  const fates: string[] = []
  function publish(value: string, { topic = TOPIC, timeoutMs }: { topic?: string; timeoutMs?: number } = {}): void {
    const bytes = Buffer.from(value)
    const settled = (_count: number, error?: TransportError) => void fates.push(error?.code ?? value)
    publisher.appender(topic, 1).append({ settled, timeoutMs }, 1_000, null, 0, 0, bytes, 0, bytes.length)
  }
  return { broker, publisher, fates, publish, values: () => broker.records(TOPIC).map(({ value }) => `${value}`) }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

test('records are acknowledged in order in a later turn of the event loop, and only records that the broker refuses fail', async () => {
  const { publisher, fates, publish, values } = opened()
  for (const value of ['a', 'x'.repeat(1_000), 'b']) publish(value)
  publish('c', { topic: 'absent' })
  expect([fates, publisher.pendingRecords]).toEqual([[], 4])
  await turn()
  expect(fates).toEqual(['a', 'MESSAGE_TOO_LARGE', 'b', 'UNKNOWN_TOPIC_OR_PARTITION'])
  expect([values(), publisher.pendingRecords, publisher.pendingBytes]).toEqual([['a', 'b'], 0, 0])
})

test('a record that waits at the publish gate for longer than its timeout fails and is not written', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    const { broker, fates, publish, values } = opened()
    const { promise, resolve } = Promise.withResolvers<void>()
    broker.publishGate = promise
    publish('late', { timeoutMs: 100 })
    publish('patient')
    await vi.advanceTimersByTimeAsync(100)
    expect(fates).toEqual(['TIMED_OUT'])
    resolve()
    await turn()
    expect([fates, values()]).toEqual([['TIMED_OUT', 'patient'], ['patient']])
  } finally {
    vi.useRealTimers()
  }
})

test('if the publish gate fails, the records waiting at it fail, too', async () => {
  const { broker, fates, publish, values } = opened()
  broker.publishGate = Promise.reject(new TransportError('TOPIC_AUTHORIZATION_FAILED', 'no', { fatal: true }))
  publish('a')
  await turn()
  expect([fates, values()]).toEqual([['TOPIC_AUTHORIZATION_FAILED'], []])
})

test('closing sends the buffered records, and no later records are accepted', async () => {
  const { publisher, fates, publish, values } = opened()
  publish('a')
  await publisher.close()
  expect(() => publish('b')).toThrow(expect.objectContaining({ code: 'CLOSED' }))
  expect([fates, values()]).toEqual([['a'], ['a']])
})
