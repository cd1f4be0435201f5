import { Registry } from 'prom-client'
import { afterEach, expect, test, vi } from 'vitest'
import { factBuffer } from '../../../api/kit/fact-buffer.ts'
import type { FactLog } from '../../../api/kit/fact-log.ts'
import { createLogger } from '../../../api/kit/logging.ts'
import { type Receipt, TransportError } from '../../../kafka/transport.ts'
import { CodecError } from '../../../schemas/codec.ts'

const CAPACITY = 3

/** Creates a buffer on a fake Kafka that can be unavailable, delay acknowledgements, or refuse facts. */
function buffered() {
  const kafka = {
    /** Facts that are not acknowledged yet. */
    held: [] as { value: string; receipt: Receipt }[],
    isHolding: false,
    opens: 0,
    refusesToOpen: undefined as Error | undefined,
    refuses: undefined as TransportError | undefined,
    throws: undefined as TransportError | undefined,
  }
  const taken: string[] = []
  function answerAll(): void {
    for (const { value, receipt } of kafka.held.splice(0)) {
      if (kafka.refuses === undefined) taken.push(value)
      receipt.settled(1, kafka.refuses)
    }
  }
  const facts: FactLog<string, string> = {
    append(_key, value, receipt) {
      if (value === 'bad') throw new CodecError('no such form')
      if (kafka.throws !== undefined) throw kafka.throws
      kafka.held.push({ value: value as string, receipt })
      queueMicrotask(() => {
        if (!kafka.isHolding) answerAll()
      })
    },
  }
  const registry = new Registry()
  const lines: Record<string, unknown>[] = []
  const buffer = factBuffer<string, string>({
    async open() {
      kafka.opens++
      if (kafka.refusesToOpen !== undefined) throw kafka.refusesToOpen
      return facts
    },
    capacity: CAPACITY,
    registry,
    name: 'facts',
    log: createLogger('info', { write: (line: string) => void lines.push(JSON.parse(line)) }),
  })
  const metric = async (name: string) => (await registry.getSingleMetric(name)!.get()).values[0]?.value ?? 0
  /** Waits until the buffer has delivered a first fact. */
  async function opened(): Promise<void> {
    buffer.offer('k', 'first')
    await expect.poll(() => taken).toEqual(['first'])
    taken.length = 0
  }
  const countsOf = (event: string) => lines.filter((line) => line.event === event).map(({ count }) => count)
  return { buffer, taken, kafka, metric, opened, countsOf, answerAll }
}

afterEach(() => void vi.useRealTimers())

test('facts are delivered in order and counted', async () => {
  const { buffer, taken, metric } = buffered()
  for (const value of ['a', 'b', 'c']) expect(buffer.offer('k', value)).toBe(true)
  await expect.poll(() => taken).toEqual(['a', 'b', 'c'])
  expect(buffer.size).toBe(0)
  expect(await metric('facts_sent_total')).toBe(3)
})

test('facts from before the first connection are delivered in order once Kafka is available', async () => {
  const { buffer, taken, kafka, metric } = buffered()
  kafka.refusesToOpen = new Error('unavailable')
  expect(['a', 'bad', 'b', 'c'].map((value) => buffer.offer('k', value))).toEqual([true, true, true, false])
  await expect.poll(() => kafka.opens).toBeGreaterThan(1)
  expect([buffer.size, await metric('facts_waiting')]).toEqual([3, 3])
  kafka.refusesToOpen = undefined
  await expect.poll(() => taken).toEqual(['a', 'b'])
  expect(await metric('facts_dropped_total')).toBe(2)
})

test('facts are buffered until Kafka acknowledges them, and facts that do not fit into the buffer are dropped and counted', async () => {
  const { buffer, taken, kafka, metric, opened, answerAll } = buffered()
  await opened()
  kafka.isHolding = true
  expect(['a', 'b', 'c', 'd'].map((value) => buffer.offer('k', value))).toEqual([true, true, true, false])
  expect(buffer.offer('k', 'e')).toBe(false)
  expect([buffer.size, await metric('facts_waiting'), await metric('facts_dropped_total')]).toEqual([3, 3, 2])
  answerAll()
  expect(taken).toEqual(['a', 'b', 'c'])
  expect(buffer.size).toBe(0)
})

test('facts are handed over without waiting for acknowledgements, so that a slow Kafka delays no request', async () => {
  const { buffer, kafka, opened } = buffered()
  await opened()
  kafka.isHolding = true
  buffer.offer('k', 'a')
  buffer.offer('k', 'b')
  expect(kafka.held.map(({ value }) => value)).toEqual(['a', 'b'])
})

test('a fact that cannot be encoded is dropped and does not delay other facts', async () => {
  const { buffer, taken, metric, opened } = buffered()
  await opened()
  expect(buffer.offer('k', 'bad')).toBe(false)
  expect(await metric('facts_dropped_total')).toBe(1)
  buffer.offer('k', 'good')
  await expect.poll(() => taken).toEqual(['good'])
})

test('a fact that Kafka rejects permanently is dropped, counted, reported and never resent, and the next facts are delivered', async () => {
  const { buffer, taken, kafka, metric, opened, countsOf } = buffered()
  await opened()
  kafka.refuses = new TransportError('MESSAGE_TOO_LARGE', 'too large', { fatal: true })
  buffer.offer('k', 'a')
  await expect.poll(() => metric('facts_dropped_total')).toBe(1)
  expect([buffer.size, countsOf('facts_refused')]).toEqual([0, [1]])
  kafka.refuses = undefined
  buffer.offer('k', 'c')
  await expect.poll(() => taken).toEqual(['c'])
})

test('a fact for which the publisher has no room is dropped and reported, as if the buffer were full', async () => {
  const { buffer, kafka, metric, opened, countsOf } = buffered()
  await opened()
  kafka.throws = new TransportError('BUFFER_FULL', 'full', { fatal: false })
  expect(buffer.offer('k', 'a')).toBe(false)
  expect([buffer.size, await metric('facts_dropped_total'), countsOf('facts_dropped')]).toEqual([0, 1, [1]])
})

test('closing waits for buffered facts, but only up to its time limit', async () => {
  const { buffer, taken, kafka, countsOf } = buffered()
  buffer.offer('k', 'a')
  await buffer.close(10_000)
  expect([taken, countsOf('facts_lost')]).toEqual([['a'], []])
  const other = buffered()
  other.kafka.isHolding = true
  other.buffer.offer('k', 'b')
  await other.buffer.close(0)
  expect([other.buffer.size, other.countsOf('facts_lost').length, kafka.opens]).toEqual([1, 1, 1])
})

test('dropped facts are reported immediately, then periodically, with their number since the previous report', async () => {
  vi.useFakeTimers()
  const { buffer, kafka, countsOf } = buffered()
  const dropsTold = () => countsOf('facts_dropped')
  kafka.refusesToOpen = new Error('unavailable')
  const offer = (times: number) => {
    for (let time = 0; time < times; time++) buffer.offer('k', 'v')
  }
  offer(CAPACITY)
  expect(dropsTold()).toEqual([])
  offer(1_000)
  expect(dropsTold()).toEqual([1])
  await vi.advanceTimersByTimeAsync(10_000)
  expect(dropsTold()).toEqual([1, 999])
  offer(5)
  await vi.advanceTimersByTimeAsync(60_000)
  expect(dropsTold()).toEqual([1, 999, 5])
  // After a pause, the next dropped fact is again reported immediately.
  offer(1)
  expect(dropsTold()).toEqual([1, 999, 5, 1])
  offer(2)
  const closing = buffer.close(0)
  await vi.advanceTimersByTimeAsync(0)
  await closing
  expect(dropsTold()).toEqual([1, 999, 5, 1, 2])
})
