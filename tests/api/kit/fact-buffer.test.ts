import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { factBuffer } from '../../../api/kit/fact-buffer.ts'
import { createLogger } from '../../../api/kit/logging.ts'
import { CodecError } from '../../../schemas/codec.ts'
import { utf8 } from '../../../schemas/keys.ts'
import { rawValue } from '../../../schemas/raw.ts'
import type { Topic } from '../../../schemas/topic.ts'

const topic: Topic<string, string> = { name: 'facts', key: utf8, value: rawValue(utf8), partitions: 1 }
const CAPACITY = 3

/** A Kafka that can be away, or hold requests open. */
function buffered() {
  const taken: string[] = []
  const kafka = { error: undefined as Error | undefined, held: undefined as Promise<void> | undefined, requests: 0 }
  const registry = new Registry()
  const buffer = factBuffer({
    topic,
    facts: {
      async publishAll(_topic, records) {
        kafka.requests++
        await kafka.held
        if (kafka.error !== undefined) throw kafka.error
        taken.push(...records.map(([, value]) => String(value)))
      },
    },
    capacity: CAPACITY,
    registry,
    name: 'facts',
    log: createLogger('silent'),
  })
  const metric = async (name: string) => (await registry.getSingleMetric(name)!.get()).values[0]?.value ?? 0
  return { buffer, taken, kafka, metric }
}

test('facts arrive in order, and are counted', async () => {
  const { buffer, taken, metric } = buffered()
  for (const value of ['a', 'b', 'c']) expect(buffer.offer('k', value)).toBe(true)
  await expect.poll(() => taken).toEqual(['a', 'b', 'c'])
  expect(buffer.size).toBe(0)
  expect(await metric('facts_sent_total')).toBe(3)
})

test('what Kafka does not take waits; what does not fit is dropped and counted; then it goes on', async () => {
  const { buffer, taken, kafka, metric } = buffered()
  kafka.error = new Error('away')
  expect(['a', 'b', 'c', 'd'].map((value) => buffer.offer('k', value))).toEqual([true, true, true, false])
  await expect.poll(() => kafka.requests).toBeGreaterThan(1)
  expect(buffer.offer('k', 'e')).toBe(false)
  expect([buffer.size, await metric('facts_waiting'), await metric('facts_dropped_total')]).toEqual([3, 3, 2])
  kafka.error = undefined
  await expect.poll(() => taken, { timeout: 10_000 }).toEqual(['a', 'b', 'c'])
})

test('a Kafka that is slow is asked by one request at a time, and holds nobody up', async () => {
  const { buffer, taken, kafka } = buffered()
  const { promise, resolve } = Promise.withResolvers<void>()
  kafka.held = promise
  buffer.offer('k', 'a')
  await expect.poll(() => kafka.requests).toBe(1)
  buffer.offer('k', 'b')
  expect(kafka.requests).toBe(1)
  resolve()
  await expect.poll(() => taken).toEqual(['a', 'b'])
})

test('facts that cannot be encoded are given up, not repeated for ever', async () => {
  const { buffer, taken, kafka, metric } = buffered()
  kafka.error = new CodecError('no such form')
  buffer.offer('k', 'bad')
  await expect.poll(() => metric('facts_dropped_total')).toBe(1)
  kafka.error = undefined
  buffer.offer('k', 'good')
  await expect.poll(() => taken).toEqual(['good'])
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
