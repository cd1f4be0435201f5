import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createLogger } from '../../../api/kit/logging.ts'
import { followTopic } from '../../../api/kit/topic-follower.ts'
import { memoryBroker } from '../../../kafka/memory/broker.ts'
import { memoryTransport } from '../../../kafka/memory/transport.ts'
import type { ReaderReset } from '../../../kafka/transport.ts'

const RECORDS = 5_000
/** The poll timeout of an idle topic in production. */
const IDLE_POLL_MS = 15_000

test('if the callback for the end of the topic fails, it is called again', async () => {
  const broker = memoryBroker()
  broker.createTopic({ name: 'items', partitions: 1 })
  let calls = 0
  const follower = followTopic({
    transport: memoryTransport(broker),
    topic: 'items',
    log: createLogger('silent'),
    monotonic: () => performance.now(),
    pollMs: 1,
    apply: () => undefined,
    onCaughtUp() {
      if (++calls === 1) throw new Error('not now')
    },
  })
  onTestFinished(() => follower.close())
  await expect.poll(() => follower.failure?.reason).toBe('not now')
  expect(follower.missing).toBe('not now')
  await expect.poll(() => [calls, follower.missing]).toEqual([2, undefined])
})

test('a large batch is applied in slices of less than 20 ms, so that the process serves requests in between', async () => {
  const broker = memoryBroker()
  broker.createTopic({ name: 'items', partitions: 1 })
  for (let record = 0; record < RECORDS; record++) {
    broker.append('items', 0, { timestamp: 1, key: Buffer.from(String(record)), value: Buffer.from('x'), headers: [] })
  }
  // Applying a record takes a tenth of a millisecond.
  let applied = 0
  const follower = followTopic({
    transport: memoryTransport(broker),
    topic: 'items',
    log: createLogger('silent'),
    monotonic: () => applied / 10,
    pollMs: 1,
    apply: () => void applied++,
  })
  onTestFinished(() => follower.close())
  let mostInTurn = 0
  for (let before = 0; applied < RECORDS; before = applied) {
    await nextTurn()
    mostInTurn = Math.max(mostInTurn, applied - before)
  }
  expect(mostInTurn).toBeLessThan(200)
  await expect.poll(() => follower.missing).toBeUndefined()
  expect(applied).toBe(RECORDS)
})

test('if a topic has lost records that the follower has read, the follower reads it again from its beginning', async () => {
  const broker = memoryBroker()
  broker.createTopic({ name: 'items', partitions: 1 })
  const record = { timestamp: 1, key: Buffer.from('key'), value: Buffer.from('x'), headers: [] }
  broker.append('items', 0, record)
  const inner = memoryTransport(broker)
  let isLost = false
  const applied: number[] = []
  const startedOver = vi.fn()
  const follower = followTopic({
    transport: {
      ...inner,
      fetcher(options) {
        const fetcher = inner.fetcher(options)
        let policy: ReaderReset = 'fail'
        return {
          ...fetcher,
          assign(partition, offset, reset) {
            policy = reset
            fetcher.assign(partition, offset, reset)
          },
          // Like the Kafka client, this fetcher reports that the log differs from what was read, but only with the
          // policy `rebuild`.
          async poll(ms, maxBytes) {
            const isReset = isLost && policy === 'rebuild'
            isLost = false
            if (isReset) fetcher.assign({ topic: 'items', partition: 0 }, 0, policy)
            return (await fetcher.poll(ms, maxBytes)).map((data) => ({ ...data, wasReset: isReset }))
          },
        }
      },
    },
    topic: 'items',
    log: createLogger('silent'),
    monotonic: () => performance.now(),
    pollMs: 1,
    apply: (chunk, index) => void applied.push(chunk.offsets[index]),
    onStartOver: startedOver,
  })
  onTestFinished(() => follower.close())
  await expect.poll(() => follower.missing).toBeUndefined()
  isLost = true
  broker.append('items', 0, record)
  await expect.poll(() => startedOver.mock.calls.length).toBe(1)
  // A poll that was already in flight may have read the second record before the loss was noticed.
  await expect.poll(() => [applied.length > 2, ...applied.slice(-2)]).toEqual([true, 0, 1])
  expect(startedOver).toHaveBeenCalledOnce()
})

test('after an error, a follower resumes with the leader epoch of the last record that it has read, so that a loss of records is detected', async () => {
  const broker = memoryBroker()
  broker.createTopic({ name: 'items', partitions: 1 })
  broker.append('items', 0, { timestamp: 1, key: Buffer.from('key'), value: Buffer.from('x'), headers: [] })
  const inner = memoryTransport(broker)
  const assigned: [number, number | undefined][] = []
  let mustFail = false
  const follower = followTopic({
    transport: {
      ...inner,
      fetcher(options) {
        const fetcher = inner.fetcher(options)
        return {
          ...fetcher,
          assign(partition, offset, reset, leaderEpoch) {
            assigned.push([offset, leaderEpoch])
            fetcher.assign(partition, offset, reset)
          },
          async poll(ms, maxBytes) {
            if (mustFail) throw new Error('no answer')
            return (await fetcher.poll(ms, maxBytes)).map((data) => ({ ...data, leaderEpoch: 7 }))
          },
        }
      },
    },
    topic: 'items',
    log: createLogger('silent'),
    monotonic: () => performance.now(),
    pollMs: 1,
    apply: () => undefined,
    onStartOver: () => undefined,
  })
  onTestFinished(() => follower.close())
  await expect.poll(() => follower.missing).toBeUndefined()
  expect(assigned).toEqual([[0, undefined]])
  mustFail = true
  await expect.poll(() => follower.failure?.reason).toBe('no answer')
  mustFail = false
  await expect
    .poll(() => assigned, { timeout: 5_000 })
    .toEqual([
      [0, undefined],
      [1, 7],
    ])
})

test('a follower that is closed while it opens its topic does not wait for records', async () => {
  const broker = memoryBroker()
  broker.createTopic({ name: 'items', partitions: 1 })
  const inner = memoryTransport(broker)
  const opening = Promise.withResolvers<void>()
  const follower = followTopic({
    transport: {
      ...inner,
      async partitionCounts(topics) {
        await opening.promise
        return await inner.partitionCounts(topics)
      },
      // Like a poll of an idle topic on a real broker, this poll waits for the whole time.
      fetcher: (options) => ({ ...inner.fetcher(options), poll: (ms) => delay(ms, []) }),
    },
    topic: 'items',
    log: createLogger('silent'),
    monotonic: () => performance.now(),
    pollMs: IDLE_POLL_MS,
    apply: () => undefined,
  })
  const closed = follower.close()
  opening.resolve()
  await closed
}, 5_000)

test('each failure is counted in the log once, and closing the follower logs the failures since the last report', async () => {
  const broker = memoryBroker()
  broker.createTopic({ name: 'items', partitions: 1 })
  let attempts = 0
  const failures: number[] = []
  const log = createLogger('silent')
  vi.spyOn(log, 'error').mockImplementation((fields: unknown) => void failures.push((fields as { failures: number }).failures))
  const follower = followTopic({
    transport: memoryTransport(broker),
    topic: 'items',
    log,
    monotonic: () => performance.now(),
    pollMs: 1,
    apply: () => undefined,
    onCaughtUp() {
      attempts++
      throw new Error('not now')
    },
  })
  onTestFinished(() => follower.close())
  await expect.poll(() => attempts, { timeout: 30_000 }).toBe(3)
  expect(failures).toEqual([1])
  await follower.close()
  expect(failures).toEqual([1, 2])
})

test('when a topic can be read again, the log first reports the failures since the last report, and then that reading has resumed', async () => {
  const broker = memoryBroker()
  broker.createTopic({ name: 'items', partitions: 1 })
  let attempts = 0
  const lines: unknown[] = []
  const log = createLogger('silent')
  const note = (fields: unknown, event?: string) => void lines.push([event, (fields as { failures?: number }).failures])
  vi.spyOn(log, 'error').mockImplementation(note)
  vi.spyOn(log, 'info').mockImplementation(note)
  const follower = followTopic({
    transport: memoryTransport(broker),
    topic: 'items',
    log,
    monotonic: () => performance.now(),
    pollMs: 1,
    apply: () => undefined,
    onCaughtUp() {
      if (++attempts <= 3) throw new Error('not now')
    },
  })
  onTestFinished(() => follower.close())
  await expect.poll(() => lines.at(-1), { timeout: 30_000 }).toEqual(['global_table_resumed', undefined])
  expect(lines).toEqual([
    ['global_table_interrupted', 1],
    ['global_table_interrupted', 2],
    ['global_table_resumed', undefined],
  ])
})
