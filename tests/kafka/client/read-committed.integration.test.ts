import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { partitionKey } from '../../../kafka/transport.ts'
import { AT_FIRST_TRY, testStack } from '../../stack/index.ts'
import { append, commit, connected, newProducer, newTopic, pollUntil, readToEnd, valuesOf } from './harness.ts'
import { librdkafka, type Step } from './librdkafka.ts'

let brokers: string
beforeAll(async () => {
  brokers = await testStack().kafka()
})

/** Maximum size of a response. It is so small that a response contains only one batch. */
const TINY_FETCH_BYTES = 100

/** Returns random steps of three producers on one partition, and the values that these steps commit. */
function mixedSteps(topic: string, seed: number, count: number): { steps: Step[]; committed: Set<string> } {
  const open = new Map<string, string[]>()
  const committed = new Set<string>()
  const steps: Step[] = []
  const end = (producer: string, outcome: 'commit' | 'abort') => {
    if (outcome === 'commit') for (const value of open.get(producer) ?? []) committed.add(value)
    open.delete(producer)
    steps.push([outcome, producer])
  }
  const actions = fc.sample(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.constantFrom('send', 'send', 'send', 'commit', 'abort')), {
    seed,
    numRuns: count,
  })
  actions.forEach(([producer, action], i) => {
    if (action !== 'send') {
      if (open.has(producer)) end(producer, action as 'commit' | 'abort')
      return
    }
    const value = `${producer} ${i}`
    open.set(producer, [...(open.get(producer) ?? []), value])
    steps.push(['send', producer, topic, 0, value])
  })
  for (const producer of [...open.keys()]) end(producer, 'abort')
  return { steps, committed }
}

test(
  'a reader gets all committed records of three interleaved producers in order, from many offsets and with tiny responses',
  AT_FIRST_TRY,
  async (context) => {
    const other = await librdkafka(context, brokers)
    const transport = await connected(brokers)
    const topic = await newTopic(transport)
    const partition = { topic, partition: 0 }
    const { steps, committed } = mixedSteps(topic, 42, 120)
    await other.write(steps)

    const written = await readToEnd(transport, partition, { isolation: 'read_uncommitted' })
    expect(written).toHaveLength(steps.filter(([action]) => action === 'send').length)
    const expected = written.filter(({ value }) => committed.has(value as string))
    expect(expected.length).toBeGreaterThan(10)
    expect(expected.length).toBeLessThan(written.length - 10)

    expect(await other.read(transport, partition)).toEqual(expected)
    expect(await readToEnd(transport, partition)).toEqual(expected)
    expect(await readToEnd(transport, partition, { maxPartitionBytes: TINY_FETCH_BYTES })).toEqual(expected)
    const end = (await transport.offsets([partition], 'end')).get(partitionKey(topic, 0)) as number
    for (let from = 1; from < end; from += 7) {
      const seen = await readToEnd(transport, partition, { from, maxPartitionBytes: TINY_FETCH_BYTES })
      expect(seen, `from ${from}`).toEqual(expected.filter(({ offset }) => offset >= from))
    }
  },
)

test('until an open transaction ends, readers get neither its records nor any later records', async () => {
  const transport = await connected(brokers)
  const topic = await newTopic(transport)
  const open = await newProducer(transport)
  append(open, topic, 0, 'x'.repeat(950_000), 'last of the open one')
  await open.flushFull()
  const other = await newProducer(transport)
  append(other, topic, 0, 'later')
  await commit(other)

  const fetcher = transport.fetcher({ maxWaitMs: 50 })
  fetcher.assign({ topic, partition: 0 }, 0, 'fail')
  const [held] = await pollUntil(fetcher, (data) => data.length > 0, 'an empty answer')
  expect(held).toMatchObject({ chunks: [], nextOffset: 0, lastStableOffset: 0, highWatermark: 3 })

  await commit(open)
  const data = await pollUntil(fetcher, () => fetcher.position({ topic, partition: 0 }) === 5, 'all records')
  const values = data.flatMap(({ chunks }) => chunks.flatMap((chunk) => Array.from(chunk.offsets.subarray(0, chunk.count))))
  expect(values).toEqual([0, 1, 3])
})

test('an empty response contains the time of its request, because the reader had caught up at that time', async () => {
  const transport = await connected(brokers)
  const topic = await newTopic(transport)
  const fetcher = transport.fetcher({ maxWaitMs: 50 })
  const before = Date.now()
  fetcher.assign({ topic, partition: 0 }, 0, 'fail')
  const [empty] = await pollUntil(fetcher, (data) => data.length > 0, 'an empty answer')
  expect(empty).toMatchObject({ topic, partition: 0, chunks: [], nextOffset: 0, highWatermark: 0, lastStableOffset: 0 })
  expect(empty.fetchedAt).toBeGreaterThanOrEqual(before)
  expect(empty.fetchedAt).toBeLessThanOrEqual(Date.now() - 40)
})

test('librdkafka and this client read the same committed records and no aborted records', AT_FIRST_TRY, async (context) => {
  const other = await librdkafka(context, brokers)
  const transport = await connected(brokers)
  const topic = await newTopic(transport)
  const producer = await newProducer(transport)
  const value = Buffer.from('value')
  const appender = producer.appender(topic, 0)
  appender.append(1_000, Buffer.from('xkeyx'), 1, 4, value, 0, 5, [
    { key: 'trace', value: Buffer.from('1') },
    { key: 'none', value: null },
  ])
  appender.append(2_000, null, 0, 0, null, 0, 0)
  await commit(producer)
  append(producer, topic, 0, 'y'.repeat(950_000), 'aborted')
  await producer.flushFull()
  await producer.abort()
  append(producer, topic, 0, 'after the abort')
  await commit(producer)

  const ours = await readToEnd(transport, { topic, partition: 0 })
  expect(await other.read(transport, { topic, partition: 0 })).toEqual(ours)
  expect(ours).toEqual([
    { offset: 0, key: 'key', value: 'value', headers: { trace: '1', none: null } },
    { offset: 1, key: null, value: null, headers: {} },
    { offset: 5, key: null, value: 'after the abort', headers: {} },
  ])
  expect(valuesOf(await readToEnd(transport, { topic, partition: 0 }, { isolation: 'read_uncommitted' }))).toHaveLength(4)
})
