import { Registry } from 'prom-client'
import { afterEach, expect, test, vi } from 'vitest'
import { factBuffer } from '../../../api/kit/fact-buffer.ts'
import { type FactLog, FactsLostError } from '../../../api/kit/fact-log.ts'
import { createLogger } from '../../../api/kit/logging.ts'
import { CodecError } from '../../../schemas/codec.ts'

const CAPACITY = 3

/** A Kafka that can be away, or hold requests open. */
function buffered() {
  const taken: string[] = []
  const kafka = {
    error: undefined as Error | undefined,
    held: undefined as Promise<void> | undefined,
    requests: 0,
    refusesToOpen: undefined as Error | undefined,
  }
  const appended: string[] = []
  const facts: FactLog<string, string> = {
    append(_key, value) {
      if (value === 'bad') throw new CodecError('no such form')
      appended.push(value)
    },
    get pending() {
      return appended.length
    },
    async send() {
      const count = appended.length
      kafka.requests++
      await kafka.held
      if (kafka.error instanceof FactsLostError) appended.length = 0
      if (kafka.error !== undefined) throw kafka.error
      taken.push(...appended.splice(0, count))
      return count
    },
  }
  const registry = new Registry()
  const lines: Record<string, unknown>[] = []
  const buffer = factBuffer<string, string>({
    async open() {
      kafka.requests++
      if (kafka.refusesToOpen !== undefined) throw kafka.refusesToOpen
      return facts
    },
    capacity: CAPACITY,
    registry,
    name: 'facts',
    log: createLogger('info', { write: (line: string) => void lines.push(JSON.parse(line)) }),
  })
  const metric = async (name: string) => (await registry.getSingleMetric(name)!.get()).values[0]?.value ?? 0
  /** Kafka has answered for the first time. */
  async function opened(): Promise<void> {
    buffer.offer('k', 'first')
    await expect.poll(() => taken).toEqual(['first'])
    taken.length = 0
    kafka.requests = 0
  }
  const dropsTold = () => lines.filter(({ event }) => event === 'facts_dropped').map(({ count }) => count)
  return { buffer, taken, kafka, metric, opened, dropsTold }
}

afterEach(() => void vi.useRealTimers())

test('facts arrive in order, and are counted', async () => {
  const { buffer, taken, metric } = buffered()
  for (const value of ['a', 'b', 'c']) expect(buffer.offer('k', value)).toBe(true)
  await expect.poll(() => taken).toEqual(['a', 'b', 'c'])
  expect(buffer.size).toBe(0)
  expect(await metric('facts_sent_total')).toBe(3)
})

test('facts wait for a Kafka that was never there, and go out in order when it comes', async () => {
  const { buffer, taken, kafka, metric } = buffered()
  kafka.refusesToOpen = new Error('away')
  expect(['a', 'bad', 'b', 'c'].map((value) => buffer.offer('k', value))).toEqual([true, true, true, false])
  await expect.poll(() => kafka.requests).toBeGreaterThan(1)
  expect([buffer.size, await metric('facts_waiting')]).toEqual([3, 3])
  kafka.refusesToOpen = undefined
  await expect.poll(() => taken, { timeout: 10_000 }).toEqual(['a', 'b'])
  expect(await metric('facts_dropped_total')).toBe(2)
})

test('what Kafka does not take waits; what does not fit is dropped and counted; then it goes on', async () => {
  const { buffer, taken, kafka, metric, opened } = buffered()
  await opened()
  kafka.error = new Error('away')
  expect(['a', 'b', 'c', 'd'].map((value) => buffer.offer('k', value))).toEqual([true, true, true, false])
  await expect.poll(() => kafka.requests).toBeGreaterThan(1)
  expect(buffer.offer('k', 'e')).toBe(false)
  expect([buffer.size, await metric('facts_waiting'), await metric('facts_dropped_total')]).toEqual([3, 3, 2])
  kafka.error = undefined
  await expect.poll(() => taken, { timeout: 10_000 }).toEqual(['a', 'b', 'c'])
})

test('a Kafka that is slow is asked by one request at a time, and holds nobody up', async () => {
  const { buffer, taken, kafka, opened } = buffered()
  await opened()
  const { promise, resolve } = Promise.withResolvers<void>()
  kafka.held = promise
  buffer.offer('k', 'a')
  await expect.poll(() => kafka.requests).toBe(1)
  buffer.offer('k', 'b')
  expect(kafka.requests).toBe(1)
  resolve()
  await expect.poll(() => taken).toEqual(['a', 'b'])
})

test('a fact that cannot be encoded is dropped and holds up no other', async () => {
  const { buffer, taken, metric, opened } = buffered()
  await opened()
  buffer.offer('k', 'bad')
  expect(await metric('facts_dropped_total')).toBe(1)
  buffer.offer('k', 'good')
  await expect.poll(() => taken).toEqual(['good'])
})

test('facts whose fate the broker has forgotten are counted as dropped; the next ones go out', async () => {
  const { buffer, taken, kafka, metric, opened } = buffered()
  await opened()
  kafka.error = new FactsLostError(2, new Error('unknown producer'))
  buffer.offer('k', 'a')
  buffer.offer('k', 'b')
  await expect.poll(() => metric('facts_dropped_total')).toBe(2)
  kafka.error = undefined
  buffer.offer('k', 'c')
  await expect.poll(() => taken).toEqual(['c'])
})

test('closing sends what is there, as far as that goes', async () => {
  const { buffer, taken, kafka } = buffered()
  buffer.offer('k', 'a')
  await buffer.close(10_000)
  expect(taken).toEqual(['a'])
  kafka.error = new Error('away')
  buffer.offer('k', 'b')
  await buffer.close(0)
  expect(buffer.size).toBe(1)
})

test('what is dropped is told at once, then now and then while it goes on, and how many in all', async () => {
  vi.useFakeTimers()
  const { buffer, kafka, dropsTold } = buffered()
  kafka.refusesToOpen = new Error('away')
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
  // After a quiet while it is news again.
  offer(1)
  expect(dropsTold()).toEqual([1, 999, 5, 1])
  offer(2)
  await buffer.close(0)
  expect(dropsTold()).toEqual([1, 999, 5, 1, 2])
})
