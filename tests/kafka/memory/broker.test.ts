import { expect, test } from 'vitest'
import { memoryBroker } from '../../../kafka/memory/broker.ts'
import { memoryProducer } from '../../../kafka/memory/producer.ts'
import { memoryTransport } from '../../../kafka/memory/transport.ts'
import { headersOf } from '../../../kafka/record-batch/chunk.ts'
import { FencedError, type PartitionData, partitionKey, type Transport } from '../../../kafka/transport.ts'
import { systemRuntime } from '../../../runtime/system.ts'

function opened(partitions = 2) {
  const broker = memoryBroker({ runtime: { ...systemRuntime(), now: () => 1_000 } })
  broker.createTopic({ name: 't', partitions })
  return { broker, transport: memoryTransport(broker) }
}

function texts(data: readonly PartitionData[]): string[] {
  return data.flatMap(({ chunks }) =>
    chunks.flatMap((chunk) =>
      Array.from(
        { length: chunk.count },
        (_, i) => `${chunk.offsets[i]}:${chunk.buffer.toString('utf8', chunk.valueStart[i], chunk.valueEnd[i])}`,
      ),
    ),
  )
}

function write(transport: Transport, transactionalId: string | undefined) {
  const producer = transport.producer({ transactionalId })
  const append = (partition: number, ...values: string[]) => {
    for (const text of values) {
      const value = Buffer.from(text)
      producer.appender('t', partition).append(5, null, 0, 0, value, 0, value.length)
    }
  }
  return { producer, append }
}

test('a committed transaction becomes visible as a whole and adds a control record', async () => {
  const { transport } = opened()
  const { producer, append } = write(transport, 'tx')
  const fetcher = transport.fetcher()
  for (const partition of [0, 1]) fetcher.assign({ topic: 't', partition }, 0, 'earliest')
  await producer.init()
  append(0, 'a', 'b')
  append(1, 'c')
  expect(texts(await fetcher.poll(0))).toEqual([])
  expect(await producer.commit(new Map(), undefined)).toEqual(
    new Map([
      ['t-0', 2],
      ['t-1', 1],
    ]),
  )
  expect(texts(await fetcher.poll(0))).toEqual(['0:a', '1:b', '0:c'])
  append(0, 'd')
  await producer.commit(new Map(), undefined)
  expect(texts(await fetcher.poll(0))).toEqual(['3:d'])
  expect(fetcher.position({ topic: 't', partition: 0 })).toBe(5)
})

test('aborted records are never visible', async () => {
  const { transport, broker } = opened()
  const { producer, append } = write(transport, 'tx')
  await producer.init()
  append(0, 'a')
  expect(producer.pendingBytes).toBeGreaterThan(0)
  await producer.abort()
  expect(producer.pendingBytes).toBe(0)
  await producer.commit(new Map(), undefined)
  expect(broker.records('t')).toEqual([])
})

test("a newer instance of a transactional id fences the older instance, and the older instance's transaction is not committed", async () => {
  const { transport, broker } = opened()
  const first = write(transport, 'tx')
  const second = write(transport, 'tx')
  await first.producer.init()
  await second.producer.init()
  first.append(0, 'old')
  second.append(0, 'new')
  await expect(first.producer.commit(new Map(), undefined)).rejects.toThrow(FencedError)
  await second.producer.commit(new Map(), undefined)
  expect(broker.records('t').map(({ value }) => String(value))).toEqual(['new'])
})

test('offsets and records from a member that has lost its partitions are refused together', async () => {
  const { transport, broker } = opened()
  const member = transport.groupMember({ groupId: 'g', memberId: 'm', topics: ['t'] })
  await member.join()
  const { producer, append } = write(transport, 'tx')
  await producer.init()
  broker.groups.expire('g', 'm')
  append(0, 'a')
  const offsets = new Map([['t-0', { topic: 't', partition: 0, offset: 7 }]])
  await expect(producer.commit(offsets, member)).rejects.toThrow(FencedError)
  expect(broker.records('t')).toEqual([])
  expect(broker.groups.committed('g').size).toBe(0)
  expect(member.takeEvent()?.type).toBe('fenced')
})

test('committed offsets are returned with their metadata', async () => {
  const { transport } = opened()
  const member = transport.groupMember({ groupId: 'g', memberId: 'm', topics: ['t'] })
  await member.join()
  await member.commit(new Map([['t-0', { topic: 't', partition: 0, offset: 7, metadata: 'seven' }]]))
  const partitions = [0, 1].map((partition) => ({ topic: 't', partition }))
  expect(await member.committed(partitions)).toEqual(new Map([['t-0', { offset: 7, metadata: 'seven' }]]))
})

test('keys, values, timestamps and headers are read back as written', async () => {
  const { transport } = opened(1)
  const producer = transport.producer({})
  const headers = [
    { key: 'h', value: Buffer.from('v') },
    { key: 'none', value: null },
  ]
  producer.appender('t', 0).append(123, Buffer.from('xkeyx'), 1, 4, null, 0, 0, headers)
  producer.appender('t', 0).append(124, null, 0, 0, Buffer.from('value'), 0, 5)
  await producer.commit(new Map(), undefined)
  const fetcher = transport.fetcher()
  fetcher.assign({ topic: 't', partition: 0 }, 0, 'earliest')
  const [{ chunks, highWatermark, fetchedAt }] = await fetcher.poll(0)
  const [chunk] = chunks
  expect([chunk.buffer.toString('utf8', chunk.keyStart[0], chunk.keyEnd[0]), chunk.valueStart[0], chunk.timestamps[0]]).toEqual([
    'key',
    -1,
    123,
  ])
  expect(headersOf(chunk, 0)).toEqual(headers)
  expect([chunk.keyStart[1], chunk.headerStart[1], chunk.timestamps[1]]).toEqual([-1, -1, 124])
  expect([highWatermark, fetchedAt]).toEqual([2, 1_000])
})

test('the offset since a time is that of the first record with this timestamp or a later one', async () => {
  const { transport, broker } = opened()
  const place = { topic: 't', partition: 1 }
  for (const timestamp of [10, 30, 20]) broker.append('t', 1, { timestamp, key: null, value: null, headers: [] })
  const since = async (time: number) => (await transport.offsetsSince([place], time)).get('t-1')
  expect([await since(0), await since(11), await since(30), await since(31)]).toEqual([0, 1, 1, undefined])
})

test('a poll waits for records, and an empty response proves that the reader has caught up', async () => {
  const { transport, broker } = opened(1)
  const fetcher = transport.fetcher()
  fetcher.assign({ topic: 't', partition: 0 }, 0, 'earliest')
  expect(await fetcher.poll(0)).toHaveLength(1)
  expect(await fetcher.poll(0)).toEqual([])
  const empty = await fetcher.poll(5)
  expect(empty.map(({ chunks, highWatermark }) => [chunks.length, highWatermark])).toEqual([[0, 0]])
  const waiting = fetcher.poll(10_000)
  broker.append('t', 0, { timestamp: 1, key: null, value: Buffer.from('late'), headers: [] })
  expect(texts(await waiting)).toEqual(['0:late'])
  const woken = fetcher.poll(10_000)
  fetcher.wake()
  expect(texts(await woken)).toEqual([])
})

test('a poll ends when its data reaches the byte limit, and polls take turns between partitions and lose no record', async () => {
  const broker = memoryBroker()
  broker.createTopic({ name: 't', partitions: 2 })
  const values = Array.from({ length: 20 }, (_, i) => Buffer.from(`value ${i}`.padEnd(10)))
  for (const partition of [0, 1]) for (const value of values) broker.append('t', partition, { timestamp: 0, key: null, value, headers: [] })
  const fetcher = memoryTransport(broker).fetcher({ maxPollBytes: 70 })
  for (const partition of [0, 1]) fetcher.assign({ topic: 't', partition }, 0, 'fail')
  const polls: PartitionData[][] = []
  for (const maxBytes of [25, 25, undefined, undefined, undefined, undefined, undefined]) polls.push(await fetcher.poll(0, maxBytes))
  expect(polls.map((data) => data.map(({ partition, chunks }) => [partition, chunks[0]?.count]))).toEqual([
    [[0, 3]],
    [[1, 3]],
    [[0, 7]],
    [[1, 7]],
    [[0, 7]],
    [[1, 7]],
    [
      [0, 3],
      [1, 3],
    ],
  ])
  for (const partition of [0, 1]) {
    const data = polls.flat().filter((each) => each.partition === partition)
    const read = data.flatMap(({ chunks }) =>
      chunks.flatMap((chunk) =>
        Array.from({ length: chunk.count }, (_, i) => chunk.buffer.toString('utf8', chunk.valueStart[i], chunk.valueEnd[i])),
      ),
    )
    expect(read).toEqual(values.map(String))
    expect(data.at(-1)?.nextOffset).toBe(20)
  }
})

test('a paused partition returns nothing, an unassigned partition is removed, and assigning a partition again moves its position', async () => {
  const { transport, broker } = opened(1)
  const partition = { topic: 't', partition: 0 }
  for (const text of ['a', 'b', 'c']) broker.append('t', 0, { timestamp: 1, key: null, value: Buffer.from(text), headers: [] })
  const fetcher = transport.fetcher()
  fetcher.assign(partition, 1, 'earliest')
  fetcher.pause(partition)
  expect(await fetcher.poll(0)).toEqual([])
  fetcher.resume(partition)
  expect(texts(await fetcher.poll(0))).toEqual(['1:b', '2:c'])
  fetcher.assign(partition, 0, 'earliest')
  expect(texts(await fetcher.poll(0))).toEqual(['0:a', '1:b', '2:c'])
  fetcher.unassign(partition)
  expect(fetcher.position(partition)).toBeUndefined()
})

test.each([
  ['earliest', 2],
  ['latest', 3],
] as const)('the offset of a record that retention has deleted is reset to %s', (reset, expected) => {
  const { transport, broker } = opened(1)
  for (const text of ['a', 'b', 'c']) broker.append('t', 0, { timestamp: 1, key: null, value: Buffer.from(text), headers: [] })
  broker.log('t', 0).truncateBefore(2)
  const fetcher = transport.fetcher()
  fetcher.assign({ topic: 't', partition: 0 }, 0, reset)
  expect(fetcher.position({ topic: 't', partition: 0 })).toBe(expected)
  expect(() => fetcher.assign({ topic: 't', partition: 0 }, 0, 'fail')).toThrow('out of range')
})

test('a partition is assigned to its next owner only after the previous owner has revoked it', async () => {
  const { transport, broker } = opened(4)
  const [a, b] = ['a', 'b'].map((memberId) => transport.groupMember({ groupId: 'g', memberId, topics: ['t'] }))
  const partitionsOf = (event: ReturnType<typeof a.takeEvent>) =>
    event?.type === 'assignment' ? event.partitions.map(({ partition }) => partition) : event
  const range = (...numbers: number[]) => numbers.map((partition) => ({ topic: 't', partition }))
  await a.join()
  expect(partitionsOf(a.takeEvent())).toEqual([0, 1, 2, 3])
  a.acknowledge(range(0, 1, 2, 3))
  await b.join()
  expect(partitionsOf(b.takeEvent())).toEqual([])
  expect(partitionsOf(a.takeEvent())).toEqual([0, 1])
  expect(b.takeEvent()).toBeUndefined()
  a.acknowledge(range(0, 1))
  expect(partitionsOf(b.takeEvent())).toEqual([2, 3])
  await a.leave()
  expect(partitionsOf(b.takeEvent())).toEqual([0, 1, 2, 3])
  expect(broker.groups.members('g')).toEqual(['b'])
})

test('a topic keeps the partition count that it was created with', async () => {
  const { transport } = opened(2)
  await expect(transport.ensureTopics([{ name: 't', partitions: 3 }])).rejects.toThrow('has 2 partitions, not 3')
  expect(await transport.partitionCounts(['t', 'absent'])).toEqual(new Map([['t', 2]]))
  expect(await transport.offsets([{ topic: 't', partition: 1 }], 'end')).toEqual(new Map([[partitionKey('t', 1), 0]]))
})

test('compaction keeps the last value of each key, removes deleted keys and leaves gaps', () => {
  const { broker } = opened(1)
  const add = (key: string, value: string | null) =>
    broker.append('t', 0, { timestamp: 1, key: Buffer.from(key), value: value === null ? null : Buffer.from(value), headers: [] })
  add('a', '1')
  add('b', '1')
  add('a', '2')
  add('b', null)
  broker.log('t', 0).compact()
  expect(texts([broker.fetch('t', 0, 0, 10)])).toEqual(['2:2'])
  expect(broker.fetch('t', 0, 0, 10).nextOffset).toBe(4)
})

test('compaction keeps a record with an empty key, and removes records without a key', () => {
  const { broker } = opened(1)
  const add = (key: Buffer | null, value: string) => broker.append('t', 0, { timestamp: 1, key, value: Buffer.from(value), headers: [] })
  add(Buffer.alloc(0), 'empty')
  add(null, 'none')
  broker.log('t', 0).compact()
  expect(texts([broker.fetch('t', 0, 0, 10)])).toEqual(['0:empty'])
})

test('a commit stores the offsets of all existing partitions and reports unknown partitions, but a transaction with an unknown partition changes nothing', async () => {
  const { broker } = opened(1)
  const offsets = [
    { topic: 'absent', partition: 0, offset: 5 },
    { topic: 't', partition: 1, offset: 6 },
    { topic: 't', partition: 0, offset: 7 },
  ]
  expect(() => broker.groups.commit('g', undefined, offsets)).toThrow('topic absent has no partition 0')
  expect([...broker.groups.committed('g')]).toEqual([[partitionKey('t', 0), { offset: 7, metadata: '' }]])

  broker.groups.join('h', 'a', ['t'])
  const producer = memoryProducer(broker, { transactionalId: 'x' })
  producer.initSync()
  producer.appender('t', 0).append(1, null, 0, 0, Buffer.from('v'), 0, 1)
  expect(() => producer.commitSync(offsets, { groupId: 'h', memberId: 'a' })).toThrow('topic absent does not exist')
  expect([broker.records('t'), broker.groups.committed('h').size]).toEqual([[], 0])
})

test('a crash between the steps of a commit leaves the whole transaction or none of it', () => {
  const { broker } = opened(1)
  for (const step of ['produced', 'offsets-added', 'committed'] as const) {
    const producer = memoryProducer(broker, {
      transactionalId: step,
      onCommitStep(passed) {
        if (passed === step) throw new Error('crash')
      },
    })
    producer.initSync()
    const value = Buffer.from(step)
    producer.appender('t', 0).append(1, null, 0, 0, value, 0, value.length)
    expect(() => producer.commitSync([], undefined)).toThrow('crash')
  }
  expect(broker.records('t').map(({ value }) => String(value))).toEqual(['committed'])
})
