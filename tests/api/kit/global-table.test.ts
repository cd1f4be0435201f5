import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type GlobalTableOptions, globalTable } from '../../../api/kit/global-table.ts'
import { createLogger } from '../../../api/kit/logging.ts'
import { memoryBroker } from '../../../kafka/memory/broker.ts'
import { memoryRegistry } from '../../../kafka/memory/registry.ts'
import { memoryTransport } from '../../../kafka/memory/transport.ts'
import { openSerdes } from '../../../kafka/serdes.ts'
import { type Transport, TransportError } from '../../../kafka/transport.ts'
import { byteWriter } from '../../../schemas/codec.ts'
import { userInterests } from '../../../schemas/trends/topics.ts'
import type { UserInterests } from '../../../schemas/trends/types.ts'
import { recreatable, watchProbe } from './recreatable.ts'
import { breakableTransport } from './snapshots/breakable-transport.ts'

const log = createLogger('silent')
const topic = userInterests

/** Creates a broker with the topic, and functions that write to it and open a table on it. */
async function world() {
  const broker = memoryBroker()
  broker.createTopic({ name: topic.name, partitions: topic.partitions })
  const registry = memoryRegistry()
  const serdes = await openSerdes(registry, [topic])
  const codec = serdes.codecFor(topic)

  function put(userId: bigint, music: number | undefined): void {
    const out = byteWriter()
    if (music !== undefined) codec.encode({ user_id: userId, topic_weights: { music }, exclude_topics: [], updated_at: 1 }, out)
    putRaw(String(userId), music === undefined ? null : Buffer.from(out.buffer.subarray(0, out.length)))
  }

  function putRaw(key: string | null, value: Buffer | null): void {
    const partition = Number(BigInt.asUintN(8, BigInt(key?.length ?? 0))) % topic.partitions
    broker.append(topic.name, partition, { timestamp: 1, key: key === null ? null : Buffer.from(key), value, headers: [] })
  }

  function open(more: Partial<GlobalTableOptions<bigint, UserInterests>> = {}) {
    const table = globalTable({ transport: memoryTransport(broker), topic, values: codec, loadSchema: serdes.schemas.load, log, ...more })
    onTestFinished(() => table.close())
    return table
  }
  return { broker, registry, serdes, put, putRaw, open }
}

test('the table contains the last value of every key, and no deleted keys', async () => {
  const change = fc.tuple(fc.bigInt({ min: 1n, max: 12n }), fc.option(fc.integer({ min: 0, max: 100 }), { nil: undefined }))
  await fc.assert(
    fc.asyncProperty(fc.array(change), fc.array(change), async (before, after) => {
      const { put, open } = await world()
      for (const [userId, music] of before) put(userId, music)
      const table = open()
      await expect.poll(() => table.probe.check()).toBeUndefined()
      for (const [userId, music] of after) put(userId, music)
      const expected = new Map([...before, ...after])
      for (const [userId, music] of expected) {
        await expect.poll(() => table.get(userId)?.topic_weights.music).toBe(music)
      }
      const live = [...expected].filter(([, music]) => music !== undefined).map(([userId]) => userId)
      expect([...table.entries()].map(([userId]) => userId).sort()).toEqual(live.sort())
      expect(table.size).toBe(live.length)
      await table.close()
    }),
    { numRuns: 20 },
  )
})

test('the table answers not_ready until it has read to the end, because until then a missing key proves nothing', async () => {
  const { put, open, broker } = await world()
  put(1n, 5)
  const held = Promise.withResolvers<void>()
  const transport = memoryTransport(broker)
  const slow: Transport = { ...transport, offsets: (...args) => held.promise.then(() => transport.offsets(...args)) }
  const table = open({ transport: slow })
  expect(() => table.get(1n)).toThrow(expect.objectContaining({ definition: expect.objectContaining({ code: 'not_ready' }) }))
  expect(() => table.entries()).toThrow(/still being loaded/)
  expect(await table.probe.check()).toContain('user-interests')
  held.resolve()
  await expect.poll(() => table.probe.check()).toBeUndefined()
  expect(table.get(1n)?.topic_weights.music).toBe(5)
})

test('the table skips and logs a record that it cannot read, and contains all other records', async () => {
  const { put, putRaw, open, broker } = await world()
  const lines: string[] = []
  put(1n, 5)
  putRaw('not a number', Buffer.from('x'))
  putRaw('2', Buffer.from([0, 0, 0, 0, 99, 1]))
  putRaw(null, Buffer.from('x'))
  put(3n, 7)
  const table = open({ log: createLogger('error', { write: (line: string) => void lines.push(line) }) })
  await expect.poll(() => table.probe.check()).toBeUndefined()
  expect([table.get(1n)?.topic_weights.music, table.get(2n), table.get(3n)?.topic_weights.music]).toEqual([5, undefined, 7])
  expect(lines.filter((line) => line.includes('global_table_bad_record'))).toHaveLength(2)
  expect(broker.records(topic.name)).toHaveLength(5)
})

test('after a transport error, the table continues reading from the same offset', async () => {
  const { put, open, broker } = await world()
  const transport = memoryTransport(broker)
  let failures = 1
  const changes: bigint[] = []
  const flaky: Transport = {
    ...transport,
    fetcher(options) {
      const fetcher = transport.fetcher(options)
      return { ...fetcher, poll: async (ms) => (failures-- > 0 ? Promise.reject(new Error('connection reset')) : fetcher.poll(ms)) }
    },
  }
  put(1n, 5)
  const table = open({ transport: flaky, onChange: (key) => void changes.push(key) })
  await expect.poll(() => table.probe.check()).toBe('connection reset')
  await expect.poll(() => table.probe.check()).toBeUndefined()
  put(1n, 6)
  await expect.poll(() => table.get(1n)?.topic_weights.music).toBe(6)
  expect(changes).toEqual([1n, 1n])
})

test('after the table could not read for so long that Kafka may have removed tombstones, it reads the topic from the start', async () => {
  const { put, open, broker } = await world()
  put(1n, 5)
  const [state, begun] = [{ isAway: false, aheadMs: 0 }, [] as number[][]]
  const transport = breakableTransport(broker, state, begun)
  const table = open({ transport, monotonic: () => performance.now() + state.aheadMs })
  await expect.poll(() => table.probe.check()).toBeUndefined()
  state.isAway = true
  state.aheadMs += 13 * 3_600_000
  state.isAway = false
  await expect.poll(() => begun.length).toBe(2)
  expect(begun.at(-1)!.every((offset) => offset === 0)).toBe(true)
  expect(table.get(1n)?.topic_weights.music).toBe(5)
})

test('after the topic was deleted and created again, the table gets the contents of the new topic, and answers in the meantime', async () => {
  const { put, open, broker } = await world()
  const { transport, recreate } = recreatable(broker)
  const changes: [bigint, number | undefined][] = []
  let readies = 0
  for (const userId of [1n, 2n]) put(userId, 5)
  const onReady = () => void readies++
  const table = open({ transport, onReady, onChange: (key, value) => void changes.push([key, value?.topic_weights.music]) })
  await expect.poll(() => table.probe.check()).toBeUndefined()
  const probed = watchProbe(table.probe.check)
  recreate(topic.name, () => put(2n, 6))
  expect([table.get(1n)?.topic_weights.music, table.size]).toEqual([5, 2])
  await expect.poll(() => table.get(2n)?.topic_weights.music).toBe(6)
  await expect.poll(() => table.get(1n)).toBeUndefined()
  expect([table.size, readies]).toEqual([1, 1])
  expect(changes.slice(2)).toEqual([
    [2n, 6],
    [1n, undefined],
  ])
  expect(await probed()).toEqual([undefined])
})

describe('a table that keeps failing after it was ready', () => {
  const STALE_AFTER_MS = 60_000

  /** Opens a table with a manual clock, and waits until it is ready. The test can make the table's reads fail. */
  async function failing() {
    const { put, open, broker } = await world()
    const transport = memoryTransport(broker)
    const state = { isFailing: false, isKafkaAway: false, unanswered: 0, untilRead: Promise.resolve() }
    const clock = { now: 0 }
    const flaky: Transport = {
      ...transport,
      async partitionCounts(topics) {
        if (!state.isKafkaAway) return await transport.partitionCounts(topics)
        state.unanswered++
        throw new TransportError('DISCONNECTED', 'no broker', { fatal: false })
      },
      fetcher(options) {
        const fetcher = transport.fetcher(options)
        return {
          ...fetcher,
          async poll() {
            if (state.isFailing) throw new Error('no schema')
            await state.untilRead
            return await fetcher.poll(10)
          },
        }
      },
    }
    put(1n, 5)
    const table = open({ transport: flaky, monotonic: () => clock.now, staleAfterMs: STALE_AFTER_MS })
    await expect.poll(() => table.probe.check()).toBeUndefined()
    expect(table.staleMs).toBe(0)
    async function untilFailing(): Promise<void> {
      await expect
        .poll(() => {
          clock.now++
          return table.staleMs
        })
        .toBeGreaterThan(0)
    }
    return { table, state, clock, put, untilFailing }
  }

  test('serves its last values, reports how stale they are, and is not ready once they are too stale', async () => {
    const { table, state, clock, put, untilFailing } = await failing()
    state.isFailing = true
    await untilFailing()
    expect(await table.probe.check()).toBeUndefined()
    clock.now += STALE_AFTER_MS
    expect(table.staleMs).toBeGreaterThanOrEqual(STALE_AFTER_MS)
    expect(await table.probe.check()).toMatch(/not been read for 60 s: no schema/)
    expect(table.get(1n)?.topic_weights.music).toBe(5)
    put(1n, 6)
    state.isFailing = false
    await expect.poll(() => table.staleMs).toBe(0)
    expect(await table.probe.check()).toBeUndefined()
    await expect.poll(() => table.get(1n)?.topic_weights.music).toBe(6)
  })

  test('stays ready while Kafka is unreachable, because the process can still serve requests that do not need Kafka', async () => {
    const { table, state, clock, untilFailing } = await failing()
    Object.assign(state, { isFailing: true, isKafkaAway: true })
    await untilFailing()
    clock.now += STALE_AFTER_MS
    expect(await table.probe.check()).toBeUndefined()
  })

  test('is still ready when Kafka has returned after a long outage, unless it then cannot read the topic for too long', async () => {
    const { table, state, clock, untilFailing } = await failing()
    const read = Promise.withResolvers<void>()
    onTestFinished(() => read.resolve())
    Object.assign(state, { isFailing: true, isKafkaAway: true, untilRead: read.promise })
    await untilFailing()
    clock.now += STALE_AFTER_MS
    await expect.poll(() => state.unanswered, { timeout: 30_000 }).toBeGreaterThan(0)
    Object.assign(state, { isFailing: false, isKafkaAway: false })
    expect(table.staleMs).toBeGreaterThanOrEqual(STALE_AFTER_MS)
    expect(await table.probe.check()).toBeUndefined()
    clock.now += STALE_AFTER_MS
    expect(await table.probe.check()).toMatch(/not been read for 120 s: no broker/)
    read.resolve()
    await expect.poll(() => table.probe.check()).toBeUndefined()
  })
})

test('the table reports exactly once that it has become ready, and can be read at that moment', async () => {
  const { put, open } = await world()
  put(1n, 5)
  const seen: (number | undefined)[] = []
  const table: ReturnType<typeof open> = open({ onReady: () => void seen.push(table.get(1n)?.topic_weights.music) })
  await expect.poll(() => seen).toEqual([5])
  put(1n, 6)
  await expect.poll(() => table.get(1n)?.topic_weights.music).toBe(6)
  expect(seen).toEqual([5])
})

test('the table skips a batch that cannot be decompressed, and continues after it', async () => {
  const { broker, put, open } = await world()
  const inner = memoryTransport(broker)
  const nothing = Int32Array.of(-1)
  const columns = { keyStart: nothing, keyEnd: nothing, valueStart: nothing, valueEnd: nothing, headerStart: nothing }
  const bomb = { buffer: Buffer.alloc(0), count: 1, offsets: Float64Array.of(0), timestamps: Float64Array.of(0), ...columns }
  const asked: unknown[] = []
  const transport: Transport = {
    ...inner,
    fetcher(options) {
      asked.push(options?.unreadableBatches)
      const fetcher = inner.fetcher(options)
      return {
        ...fetcher,
        async poll(timeoutMs, maxBytes) {
          const polled = await fetcher.poll(timeoutMs, maxBytes)
          return polled.map((data) => {
            const standIn = { ...bomb, topic: data.topic, partition: data.partition, unreadable: 'too large' }
            return { ...data, chunks: [standIn, ...data.chunks] }
          })
        },
      }
    },
  }
  put(1n, 5)
  const table = open({ transport })
  await expect.poll(() => table.get(1n)?.topic_weights.music).toBe(5)
  expect(table.size).toBe(1)
  expect(asked).toEqual(['stand-in'])
})

test('a table that has never been read is ready only if its readers have a fallback and Kafka is unreachable', async () => {
  const { broker, open, put } = await world()
  put(1n, 5)
  const state = { isKafkaAway: true }
  const transport = memoryTransport(broker)
  const flaky: Transport = {
    ...transport,
    async partitionCounts(topics) {
      if (state.isKafkaAway) throw new Error('no brokers')
      return await transport.partitionCounts(topics)
    },
  }
  const [without, fallback] = [false, true].map((hasFallback) => open({ transport: flaky, hasFallback }))
  await expect.poll(() => without.probe.check()).toBe('no brokers')
  expect(await fallback.probe.check()).toBeUndefined()
  expect(() => fallback.get(1n)).toThrow('still being loaded')
  state.isKafkaAway = false
  expect(await fallback.probe.check()).toBe('no brokers')
  await expect.poll(() => fallback.probe.check()).toBeUndefined()
  expect(fallback.get(1n)?.topic_weights.music).toBe(5)
})

test('the table reads partitions that are added to its topic, and keeps its contents', async () => {
  const { broker, put, putRaw, open } = await world()
  put(1n, 5)
  putRaw('2', null)
  let now = 0
  const table = open({ monotonic: () => now })
  await expect.poll(() => table.get(1n)?.topic_weights.music).toBe(5)
  const added = topic.partitions
  broker.addPartitions(topic.name, added + 1)
  const [{ value }] = broker.records(topic.name).filter(({ key }) => key?.toString() === '1')
  broker.append(topic.name, added, { timestamp: 2, key: Buffer.from('3'), value, headers: [] })
  now += 60_000
  await expect.poll(() => table.get(3n)?.topic_weights.music).toBe(5)
  expect(table.get(1n)?.topic_weights.music).toBe(5)
})
