import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { waitUntil } from '../../../deploy/local/wait.ts'
import { partitionKey } from '../../../kafka/transport.ts'
import { AT_FIRST_TRY, testStack } from '../../stack/index.ts'
import { brokerProxy } from './broker-proxy.ts'
import { append, commit, connected, DEADLINE_MS, flatten, newProducer, newTopic, pollUntil, readToEnd, valuesOf } from './harness.ts'

let brokers: string
beforeAll(async () => {
  brokers = await testStack().kafka()
})

const KIB = 1_024
const LARGE = 'v'.repeat(10 * KIB)
/**
 * Offset of the partition's error code in a Fetch response. The response begins with throttle time, error and session
 * id, followed by one topic with one partition. The partition's error follows its index.
 */
const FETCH_ERROR_AT = 5 + 4 + 2 + 4 + 1 + 16 + 1 + 4
/**
 * Offset of the client id's length in a request. API key, version and correlation id precede the length. The client id
 * and an empty list of tagged fields follow it.
 */
const CLIENT_ID_AT = 2 + 2 + 4
/** A wait that is longer than a test may take. The test fails unless something else ends the wait. */
const PATIENT_MS = 600_000
/** With these options, the request timeout does not end the wait either. */
const PATIENT = { requestTimeoutMs: 2 * PATIENT_MS, deliveryTimeoutMs: 2 * PATIENT_MS }

test('a waiting fetch returns new records at once, long before its maximum wait', async () => {
  const transport = await connected(brokers, PATIENT)
  const topic = await newTopic(transport)
  const fetcher = transport.fetcher({ maxWaitMs: PATIENT_MS })
  fetcher.assign({ topic, partition: 0 }, 0, 'fail')
  const polling = pollUntil(fetcher, (data) => flatten(data).length > 0, 'the record')
  const producer = await newProducer(transport)
  append(producer, topic, 0, 'a')
  await commit(producer)
  expect(valuesOf(flatten(await polling))).toEqual(['a'])
})

test('a newly assigned partition does not wait for a pending fetch of another partition', async () => {
  const transport = await connected(brokers)
  const [quiet, full] = [await newTopic(transport), await newTopic(transport)]
  const producer = await newProducer(transport)
  append(producer, full, 0, 'a')
  await commit(producer)
  const proxy = await brokerProxy(brokers)
  onTestFinished(() => proxy.close())
  const reader = await connected(proxy.address, PATIENT)
  const fetcher = reader.fetcher({ maxWaitMs: PATIENT_MS })
  fetcher.assign({ topic: quiet, partition: 0 }, 0, 'fail')
  await waitUntil(() => proxy.requests('fetch').length === 1, { what: 'the waiting fetch', timeoutMs: DEADLINE_MS })
  fetcher.assign({ topic: full, partition: 0 }, 0, 'fail')
  await pollUntil(fetcher, (data) => flatten(data).length > 0, 'the record')
})

/** Reads how long a request allows the broker to wait for data, in ms. This is the first field after the header. */
function waitOf(request: Buffer): number {
  const clientIdBytes = request.readInt16BE(CLIENT_ID_AT)
  return request.readInt32BE(CLIENT_ID_AT + 2 + clientIdBytes + 1)
}

test('after an empty response, a request lets the broker wait for data for the longer idle time; after a response with data, only for the normal time', async () => {
  const direct = await connected(brokers)
  const topic = await newTopic(direct)
  const proxy = await brokerProxy(brokers)
  onTestFinished(() => proxy.close())
  const transport = await connected(proxy.address)
  let idleWaitMs = 150
  const fetcher = transport.fetcher({ maxWaitMs: 100, idleWaitMs: () => idleWaitMs })
  const waits = () => proxy.requests('fetch').map(waitOf)
  fetcher.assign({ topic, partition: 0 }, 0, 'fail')
  await waitUntil(() => waits().includes(150), { what: 'a wait of 150 ms', timeoutMs: DEADLINE_MS })
  expect(waits()[0]).toBe(100)
  idleWaitMs = 60_000
  await waitUntil(() => waits().some((waitMs) => waitMs > 1_000), { what: 'a wait of seconds', timeoutMs: DEADLINE_MS })
  expect(Math.max(...waits())).toBeGreaterThan(5_000)
  expect(Math.max(...waits())).toBeLessThanOrEqual(15_000)
  const before = waits().length
  const producer = await newProducer(direct)
  append(producer, topic, 0, 'a')
  await commit(producer)
  await pollUntil(fetcher, (data) => flatten(data).length > 0, 'the record')
  await waitUntil(() => waits().slice(before).includes(100), { what: 'a shorter wait', timeoutMs: DEADLINE_MS })
})

test('a request allows the broker to wait for data for at most half of the request timeout', async () => {
  const proxy = await brokerProxy(brokers)
  onTestFinished(() => proxy.close())
  const transport = await connected(proxy.address, { requestTimeoutMs: 1_400 })
  const fetcher = transport.fetcher()
  fetcher.assign({ topic: await newTopic(transport), partition: 0 }, 0, 'fail')
  const waits = () => proxy.requests('fetch').map(waitOf)
  await waitUntil(() => waits().some((waitMs) => waitMs > 500), { what: 'a wait of half the timeout', timeoutMs: DEADLINE_MS })
  expect(Math.max(...waits())).toBeLessThanOrEqual(700)
})

test('a new partition does not wait for the pending requests for silent partitions, and the partition of the abandoned request is fetched again', async () => {
  const direct = await connected(brokers)
  const topic = await newTopic(direct, 3)
  const producer = await newProducer(direct)
  append(producer, topic, 2, 'of the new one')
  await commit(producer)
  const proxy = await brokerProxy(brokers)
  onTestFinished(() => proxy.close())
  const transport = await connected(proxy.address)
  const fetcher = transport.fetcher({ maxWaitMs: 50, idleWaitMs: () => 5_000 })
  const requests = (count: number) =>
    waitUntil(() => proxy.requests('fetch').length >= count, { what: `${count} requests`, timeoutMs: DEADLINE_MS })
  // The broker answers the first fetch of each silent partition with an empty response. The proxy drops the response to
  // the second fetch.
  proxy.interfere({ api: 'fetch', after: 1, action: 'lose-response' })
  fetcher.assign({ topic, partition: 0 }, 0, 'fail')
  await requests(2)
  proxy.interfere({ api: 'fetch', after: 1, action: 'lose-response' })
  fetcher.assign({ topic, partition: 1 }, 0, 'fail')
  await requests(4)

  fetcher.assign({ topic, partition: 2 }, 0, 'fail')
  expect(valuesOf(flatten(await pollUntil(fetcher, (data) => flatten(data).length > 0, 'the new partition')))).toEqual(['of the new one'])
  // To fetch the new partition, the fetcher has abandoned one of the two unanswered requests. It must fetch the silent
  // partition of the abandoned request again. The other silent partition still waits for its lost response.
  append(producer, topic, 0, 'of a silent one')
  append(producer, topic, 1, 'of a silent one')
  await commit(producer)
  expect(valuesOf(flatten(await pollUntil(fetcher, (data) => flatten(data).length > 0, 'a silent one')))).toEqual(['of a silent one'])
  await fetcher.close()
})

test('partitions that are assigned again do not wait for the responses to their earlier requests', async () => {
  const direct = await connected(brokers)
  const topic = await newTopic(direct, 2)
  const producer = await newProducer(direct)
  append(producer, topic, 0, 'a')
  append(producer, topic, 1, 'b')
  await commit(producer)
  const proxy = await brokerProxy(brokers)
  onTestFinished(() => proxy.close())
  const transport = await connected(proxy.address, { requestTimeoutMs: 110_000 })
  const fetcher = transport.fetcher()
  for (const partition of [0, 1]) {
    proxy.interfere({ api: 'fetch', action: 'lose-response' })
    fetcher.assign({ topic, partition }, 0, 'fail')
    await waitUntil(() => proxy.requests('fetch').length > partition, { what: `request ${partition}`, timeoutMs: DEADLINE_MS })
  }
  for (const partition of [0, 1]) fetcher.unassign({ topic, partition })
  for (const partition of [0, 1]) fetcher.assign({ topic, partition }, 0, 'fail')
  const read = await pollUntil(fetcher, (data) => flatten(data).length === 2, 'both records')
  expect(valuesOf(flatten(read)).sort()).toEqual(['a', 'b'])
  await fetcher.close()
})

test('silent partitions that were assigned at different times eventually share one request', async () => {
  const direct = await connected(brokers)
  const topic = await newTopic(direct, 2)
  const proxy = await brokerProxy(brokers)
  onTestFinished(() => proxy.close())
  const transport = await connected(proxy.address)
  const fetcher = transport.fetcher({ maxWaitMs: 50, idleWaitMs: () => 400 })
  const fetches = () => proxy.requests('fetch')
  fetcher.assign({ topic, partition: 0 }, 0, 'fail')
  await waitUntil(() => fetches().some((request) => waitOf(request) > 50), { what: 'an idle request', timeoutMs: DEADLINE_MS })
  const [{ length: one }] = fetches()
  fetcher.assign({ topic, partition: 1 }, 0, 'fail')
  // A request for both partitions is longer than a request for one of them.
  await expect.poll(() => Math.max(...fetches().map(({ length }) => length)), { timeout: DEADLINE_MS }).toBeGreaterThan(one)
})

test('12 partitions that are assigned one after another need at most two requests', async () => {
  const direct = await connected(brokers)
  const topic = await newTopic(direct, 12)
  const producer = await newProducer(direct)
  append(producer, topic, 11, 'in the last one')
  await commit(producer)
  const proxy = await brokerProxy(brokers)
  onTestFinished(() => proxy.close())
  const transport = await connected(proxy.address)
  await transport.partitionCounts([topic])
  const fetcher = transport.fetcher({ maxWaitMs: 20_000 })
  for (let partition = 0; partition < 12; partition++) fetcher.assign({ topic, partition }, 0, 'fail')
  await pollUntil(fetcher, (data) => flatten(data).length > 0, 'the record')
  expect(proxy.requests('fetch').length).toBeLessThanOrEqual(2)
})

test('a new assignment starts at its offset, unassign removes the partition, and position returns the offset of the next record', async () => {
  const transport = await connected(brokers)
  const topic = await newTopic(transport)
  const partition = { topic, partition: 0 }
  const producer = await newProducer(transport)
  append(producer, topic, 0, 'a', 'b', 'c')
  await commit(producer)
  const fetcher = transport.fetcher({ maxWaitMs: 50 })
  expect(fetcher.position(partition)).toBeUndefined()
  fetcher.assign(partition, 0, 'fail')
  expect(fetcher.position(partition)).toBe(0)
  const [first] = await pollUntil(fetcher, (data) => flatten(data).length > 0, 'records')
  expect(flatten([first])).toHaveLength(3)
  expect(first.nextOffset).toBeGreaterThanOrEqual(3)
  expect(fetcher.position(partition)).toBe(first.nextOffset)
  fetcher.assign(partition, 1, 'fail')
  expect(fetcher.position(partition)).toBe(1)
  expect(valuesOf(flatten(await pollUntil(fetcher, (data) => flatten(data).length > 0, 'records')))).toEqual(['b', 'c'])
  fetcher.unassign(partition)
  expect(fetcher.position(partition)).toBeUndefined()
  append(producer, topic, 0, 'd')
  await commit(producer)
  expect(await fetcher.poll(200)).toEqual([])
})

test('records that were fetched before a pause are returned after resume', async () => {
  const direct = await connected(brokers)
  const topic = await newTopic(direct)
  const producer = await newProducer(direct)
  append(producer, topic, 0, 'a', 'b')
  await commit(producer)
  const proxy = await brokerProxy(brokers)
  onTestFinished(() => proxy.close())
  const transport = await connected(proxy.address)
  const fetcher = transport.fetcher({ maxWaitMs: 50 })
  fetcher.assign({ topic, partition: 0 }, 0, 'fail')
  // The client has processed the first response when it sends the third request.
  await waitUntil(() => proxy.requests('fetch').length > 2, { what: 'answers', timeoutMs: DEADLINE_MS })
  fetcher.pause({ topic, partition: 0 })
  expect(await fetcher.poll(100)).toEqual([])
  expect(fetcher.position({ topic, partition: 0 })).toBe(0)
  fetcher.resume({ topic, partition: 0 })
  expect(valuesOf(flatten(await fetcher.poll(DEADLINE_MS)))).toEqual(['a', 'b'])
})

test('if a partition is assigned again, the response to its earlier request is dropped, even if the response contains an error', async () => {
  const direct = await connected(brokers)
  const topic = await newTopic(direct)
  const proxy = await brokerProxy(brokers)
  onTestFinished(() => proxy.close())
  const transport = await connected(proxy.address)
  await transport.partitionCounts([topic])
  const fetcher = transport.fetcher({ maxWaitMs: 50 })
  proxy.freeze()
  fetcher.assign({ topic, partition: 0 }, 77, 'fail')
  await waitUntil(() => proxy.requests('fetch').length === 1, { what: 'the request', timeoutMs: DEADLINE_MS })
  fetcher.assign({ topic, partition: 0 }, 0, 'fail')
  proxy.thaw()
  const data = await pollUntil(fetcher, (seen) => seen.length > 2, 'empty answers')
  expect(data.every(({ nextOffset }) => nextOffset === 0)).toBe(true)
})

test('while a partition is paused, only the other partitions return records, and after a resume all of its records arrive once', async () => {
  const transport = await connected(brokers)
  const topic = await newTopic(transport, 2)
  const producer = await newProducer(transport)
  const texts = Array.from({ length: 50 }, (_, i) => `${i}`)
  append(producer, topic, 0, ...texts)
  append(producer, topic, 1, ...texts)
  await commit(producer)
  const fetcher = transport.fetcher({ maxWaitMs: 50 })
  for (const partition of [0, 1]) fetcher.assign({ topic, partition }, 0, 'fail')
  fetcher.pause({ topic, partition: 0 })
  const first = await pollUntil(fetcher, (data) => flatten(data).length === 50 && data.length > 3, 'the other partition')
  expect(new Set(first.map(({ partition }) => partition))).toEqual(new Set([1]))
  fetcher.resume({ topic, partition: 0 })
  const rest = await pollUntil(fetcher, (data) => flatten(data).length >= 50, 'the resumed partition')
  expect(valuesOf(flatten(rest.filter(({ partition }) => partition === 0)))).toEqual(texts)
})

test('without polls, the fetcher stops sending requests; polls with a small limit take turns between partitions; no record is lost', async () => {
  const direct = await connected(brokers)
  const topic = await newTopic(direct, 2)
  const producer = await newProducer(direct)
  const count = 200
  for (let i = 0; i < count; i++) {
    for (const partition of [0, 1]) append(producer, topic, partition, `${i} ${LARGE}`)
    // The batches are small, because a broker always returns at least one whole batch regardless of limits.
    if (i % 4 === 3) await commit(producer)
  }

  const proxy = await brokerProxy(brokers)
  onTestFinished(() => proxy.close())
  const transport = await connected(proxy.address)
  const fetcher = transport.fetcher({ maxWaitMs: 50, maxPartitionBytes: 50 * KIB, maxBufferedBytes: 200 * KIB, maxPollBytes: 60 * KIB })
  for (const partition of [0, 1]) fetcher.assign({ topic, partition }, 0, 'fail')
  // The test does not poll. The buffers therefore fill up, and the client must stop sending requests.
  let before = -1
  await waitUntil(
    () => {
      const now = proxy.requests('fetch').length
      const still = now === before
      before = now
      return still && now > 0
    },
    { what: 'the end of the requests', timeoutMs: DEADLINE_MS, intervalMs: 500 },
  )
  expect(before).toBeLessThan(10)
  const first = await fetcher.poll(0)
  const firstBytes = flatten(first).reduce((sum, { value }) => sum + (value as string).length, 0)
  expect(firstBytes).toBeLessThan(200 * KIB)
  // With a limit of 1 byte, each poll returns data of only one partition. The two polls return different partitions.
  const little = [await fetcher.poll(0, 1), await fetcher.poll(0, 1)]
  expect(little.map((data) => data.length)).toEqual([1, 1])
  expect(little[0][0].partition).not.toBe(little[1][0].partition)
  first.push(...little.flat())
  const rest = await pollUntil(fetcher, (data) => flatten(data).length + flatten(first).length === 2 * count, 'everything')
  for (const partition of [0, 1]) {
    const values = valuesOf(flatten([...first, ...rest].filter((data) => data.partition === partition)))
    expect(values).toEqual(Array.from({ length: count }, (_, i) => `${i} ${LARGE}`))
  }
})

test.each(['none', 'zstd'] as const)(
  'compression %s: committed records arrive once and in order with every poll limit, even after a pause and a new assignment',
  async (compression) => {
    const transport = await connected(brokers)
    const topic = await newTopic(transport, 2)
    const producer = transport.producer({ transactionalId: topic, compression })
    await producer.init()
    const values: string[] = []
    for (let transaction = 0; transaction < 6; transaction++) {
      const texts = Array.from({ length: 40 }, (_, i) => `${transaction}.${i} ${LARGE}`)
      for (const partition of [0, 1]) append(producer, topic, partition, ...texts)
      if (transaction % 3 === 1) {
        await producer.flushFull()
        await producer.abort()
      } else {
        await commit(producer)
        values.push(...texts)
      }
    }
    const ends = await transport.offsets(
      [0, 1].map((partition) => ({ topic, partition })),
      'end',
    )
    const fetcher = transport.fetcher({ maxWaitMs: 50 })
    // A batch contains 40 records of 10 KiB, so the first two limits are below the size of a batch.
    for (const limitBytes of [1, 300 * KIB, undefined]) {
      for (const partition of [0, 1]) fetcher.assign({ topic, partition }, 0, 'fail')
      const read: (readonly { partition: number; values: (string | null)[] }[])[] = []
      const isOpen = (partition: number) =>
        (fetcher.position({ topic, partition }) as number) < (ends.get(partitionKey(topic, partition)) as number)
      const deadline = Date.now() + DEADLINE_MS
      while (isOpen(0) || isOpen(1)) {
        if (Date.now() > deadline) throw new Error(`not finished within ${DEADLINE_MS} ms with a poll limit of ${limitBytes} bytes`)
        const data = await fetcher.poll(1_000, limitBytes)
        const bytes = flatten(data).reduce((sum, { value }) => sum + (value?.length ?? 0), 0)
        expect(bytes).toBeLessThanOrEqual(Math.max(limitBytes ?? Infinity, 32 * KIB) + 64 * KIB)
        for (const { partition, nextOffset } of data) {
          expect(fetcher.position({ topic, partition })).toBe(nextOffset)
          // The fetcher keeps the unread rest of a response while the partition is paused, and drops it when the
          // partition is assigned again.
          if (read.length % 3 === 0) {
            fetcher.pause({ topic, partition })
            fetcher.resume({ topic, partition })
          } else if (read.length % 3 === 1) fetcher.assign({ topic, partition }, nextOffset, 'fail')
        }
        read.push(data.map((each) => ({ partition: each.partition, values: valuesOf(flatten([each])) })))
      }
      for (const partition of [0, 1])
        expect(read.flat().flatMap((each) => (each.partition === partition ? each.values : []))).toEqual(values)
    }
  },
)

test('wake makes a waiting poll return at once', async () => {
  const transport = await connected(brokers)
  const fetcher = transport.fetcher()
  const polling = fetcher.poll(PATIENT_MS)
  fetcher.wake()
  expect(await polling).toEqual([])
})

test.each([
  ['earliest', 'old'],
  ['latest', 'new'],
] as const)('an offset that does not exist is reset to %s', async (reset, value) => {
  const transport = await connected(brokers)
  const topic = await newTopic(transport)
  const producer = await newProducer(transport)
  append(producer, topic, 0, 'old')
  await commit(producer)
  const fetcher = transport.fetcher({ maxWaitMs: 50 })
  fetcher.assign({ topic, partition: 0 }, 1_000, reset)
  await waitUntil(() => fetcher.position({ topic, partition: 0 }) !== 1_000, { what: 'the reset', timeoutMs: DEADLINE_MS })
  append(producer, topic, 0, 'new')
  await commit(producer)
  const records = flatten(await pollUntil(fetcher, (data) => flatten(data).length > 0, 'a record'))
  expect(records[0].value).toBe(value)
})

test('with reset "fail", an offset that does not exist makes poll throw a fatal error, and other partitions can be read afterwards', async () => {
  const transport = await connected(brokers)
  const topic = await newTopic(transport, 2)
  const producer = await newProducer(transport)
  append(producer, topic, 1, 'good')
  await commit(producer)
  const fetcher = transport.fetcher({ maxWaitMs: 50 })
  fetcher.assign({ topic, partition: 0 }, 77, 'fail')
  await expect(pollUntil(fetcher, () => false, 'the error')).rejects.toMatchObject({
    name: 'TransportError',
    code: 'OFFSET_OUT_OF_RANGE',
    fatal: true,
  })
  fetcher.assign({ topic, partition: 1 }, 0, 'fail')
  expect(valuesOf(flatten(await pollUntil(fetcher, (data) => flatten(data).length > 0, 'the good partition')))).toEqual(['good'])
})

test('a corrupted batch causes a fatal error that names the partition and the offset, and none of its records are returned', async () => {
  const direct = await connected(brokers)
  const topic = await newTopic(direct)
  const producer = await newProducer(direct)
  append(producer, topic, 0, 'first')
  await commit(producer)
  append(producer, topic, 0, 'damaged on the way')
  await commit(producer)
  const proxy = await brokerProxy(brokers)
  onTestFinished(() => proxy.close())
  const transport = await connected(proxy.address)
  proxy.interfere({
    api: 'fetch',
    times: 100,
    action: 'edit',
    edit: (response) => {
      const at = response.indexOf('damaged on the way')
      if (at >= 0) response[at] ^= 1
      return response
    },
  })
  const fetcher = transport.fetcher({ maxWaitMs: 50 })
  fetcher.assign({ topic, partition: 0 }, 0, 'fail')
  const seen: unknown[] = []
  await expect(
    pollUntil(
      fetcher,
      (data) => {
        seen.push(...flatten(data))
        return false
      },
      'the error',
    ),
  ).rejects.toMatchObject({
    code: 'CORRUPT_BATCH',
    fatal: true,
    message: expect.stringMatching(new RegExp(`^${topic}-0: the record batch at offset 2 has checksum`)),
  })
  expect(JSON.stringify(seen)).not.toContain('damaged')
})

test.each([
  ['NOT_LEADER_OR_FOLLOWER', 6],
  ['FENCED_LEADER_EPOCH', 74],
  ['UNKNOWN_LEADER_EPOCH', 75],
  ['UNKNOWN_TOPIC_ID', 100],
  ['UNKNOWN_SERVER_ERROR', -1],
])('after the error %s, a fetcher refreshes the metadata and continues without loss or duplicates', async (_name, code) => {
  const direct = await connected(brokers)
  const topic = await newTopic(direct)
  const producer = await newProducer(direct)
  const texts = Array.from({ length: 20 }, (_, i) => `${i}`)
  for (const text of texts) {
    append(producer, topic, 0, text)
    await commit(producer)
  }
  const proxy = await brokerProxy(brokers)
  onTestFinished(() => proxy.close())
  const transport = await connected(proxy.address)
  const edit = (response: Buffer) => {
    response.writeInt16BE(code, FETCH_ERROR_AT)
    return response
  }
  proxy.interfere({ api: 'fetch', after: 1, times: 3, action: 'edit', edit })
  const metadata = proxy.requests('metadata').length
  expect(valuesOf(await readToEnd(transport, { topic, partition: 0 }, { maxPartitionBytes: 150 }))).toEqual(texts)
  expect(proxy.requests('metadata').length).toBeGreaterThan(metadata + 1)
})

test('lost responses and cut connections cause neither loss nor duplicates', AT_FIRST_TRY, async () => {
  const direct = await connected(brokers)
  const topic = await newTopic(direct)
  const producer = await newProducer(direct)
  const texts = Array.from({ length: 20 }, (_, i) => `${i}`)
  for (const text of texts) {
    append(producer, topic, 0, text)
    await commit(producer)
  }
  const proxy = await brokerProxy(brokers)
  onTestFinished(() => proxy.close())
  const transport = await connected(proxy.address, { requestTimeoutMs: 1_000 })
  proxy.interfere({ api: 'fetch', after: 1, action: 'cut' })
  proxy.interfere({ api: 'fetch', after: 2, action: 'lose-response' })
  proxy.interfere({ api: 'fetch', after: 2, action: 'cut', times: 3 })
  expect(valuesOf(await readToEnd(transport, { topic, partition: 0 }, { maxPartitionBytes: 150 }))).toEqual(texts)
})

test('a topic that was deleted and created again causes a fatal error, because its offsets refer to other records', async () => {
  const transport = await connected(brokers)
  const topic = await newTopic(transport)
  const producer = await newProducer(transport)
  append(producer, topic, 0, 'of the old topic')
  await commit(producer)
  const fetcher = transport.fetcher({ maxWaitMs: 50 })
  fetcher.assign({ topic, partition: 0 }, 0, 'earliest')
  await pollUntil(fetcher, (data) => flatten(data).length > 0, 'the first record')

  const { Admin } = await import('@platformatic/kafka')
  const admin = new Admin({ clientId: 'test', bootstrapBrokers: [brokers] })
  onTestFinished(() => admin.close())
  await admin.deleteTopics({ topics: [topic] })
  const other = await connected(brokers)
  await waitUntil(async () => !(await other.partitionCounts([topic])).has(topic), { what: 'the deletion', timeoutMs: DEADLINE_MS })
  await other.ensureTopics([{ name: topic, partitions: 1 }])
  await expect(pollUntil(fetcher, () => false, 'the error')).rejects.toMatchObject({ code: 'TOPIC_RECREATED', fatal: true })
})

test("the offsets of a compacted log have gaps, and the fetcher's position moves past them", async () => {
  const transport = await connected(brokers)
  const topic = await newTopic(transport, 1, {
    'cleanup.policy': 'compact',
    'min.cleanable.dirty.ratio': '0.0',
    'segment.ms': '100',
    'delete.retention.ms': '0',
  })
  const producer = await newProducer(transport)
  const value = Buffer.from('v')
  const write = async (keys: readonly string[]) => {
    for (const text of keys) {
      const key = Buffer.from(text)
      producer.appender(topic, 0).append(Date.now(), key, 0, key.length, value, 0, 1)
    }
    await commit(producer)
  }
  await write(['a', 'b', 'a', 'c', 'b', 'a'])
  let records = await readToEnd(transport, { topic, partition: 0 })
  await waitUntil(
    async () => {
      // Writes a record from time to time to close the previous segment, because only closed segments are compacted.
      await write(['last'])
      records = await readToEnd(transport, { topic, partition: 0 })
      return records.filter(({ key }) => key === 'a').length === 1
    },
    { what: 'the compaction', timeoutMs: 50_000, intervalMs: 1_000 },
  )
  const old = records.filter(({ key }) => key !== 'last')
  expect(old.map(({ offset, key }) => [offset, key])).toEqual([
    [3, 'c'],
    [4, 'b'],
    [5, 'a'],
  ])
  const end = (await transport.offsets([{ topic, partition: 0 }], 'end')).get(partitionKey(topic, 0)) as number
  for (let from = 0; from < end; from++) {
    // The cleaner is still running, but now it can only affect records with the key `last`.
    const seen = await readToEnd(transport, { topic, partition: 0 }, { from })
    expect(seen.filter(({ key }) => key !== 'last')).toEqual(old.filter(({ offset }) => offset >= from))
  }
})

test('when the partition whose records fill the buffer is unassigned, the fetcher fetches the other partitions again', async () => {
  const transport = await connected(brokers)
  const [full, quiet] = [await newTopic(transport), await newTopic(transport)]
  const producer = await newProducer(transport)
  append(producer, full, 0, LARGE, LARGE)
  await commit(producer)
  const proxy = await brokerProxy(brokers)
  onTestFinished(() => proxy.close())
  const reader = await connected(proxy.address)
  const fetcher = reader.fetcher({ maxWaitMs: 50, maxBufferedBytes: KIB })
  fetcher.assign({ topic: full, partition: 0 }, 0, 'fail')
  fetcher.assign({ topic: quiet, partition: 0 }, 0, 'fail')
  // The fetches stop, because the buffered records exceed the limit.
  let seen = -1
  await waitUntil(
    () => {
      const before = seen
      seen = proxy.requests('fetch').length
      return seen > 0 && seen === before
    },
    { what: 'no more fetches', timeoutMs: DEADLINE_MS, intervalMs: 300 },
  )
  fetcher.unassign({ topic: full, partition: 0 })
  append(producer, quiet, 0, 'a')
  await commit(producer)
  expect(valuesOf(flatten(await pollUntil(fetcher, (data) => flatten(data).length > 0, 'the record')))).toEqual(['a'])
})
