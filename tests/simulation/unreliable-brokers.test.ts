import { expect, test } from 'vitest'
import { type Fetcher, type Transport, TransportError } from '../../kafka/transport.ts'
import type { PartitionLog } from './cluster/partition-log.ts'
import { handleRequest } from './cluster/requests.ts'
import type { Transaction } from './cluster/transactions.ts'
import { append, producerWorld, TOPIC, valuesIn } from './producer-world.ts'

/** Tests with brokers that hang, and with brokers that do not know the controller's decisions. */

const PARTITION = { topic: TOPIC, partition: 0 }
const BROKERS = 3
const GROUP = 'readers'
const PRODUCE = 0
const METADATA = 3
const FIND_COORDINATOR = 10
/** A leader epoch that the log never had. */
const LATER_EPOCH = 1_000
/** Timeout of requests to the broker that hangs. */
const REQUEST_TIMEOUT_MS = 30_000
const POLL_MS = 1_000

test('a broker that hangs does not keep the client from finding the leaders and coordinators that replace it', async () => {
  let hangs = false
  const { cluster, faults, now, run } = producerWorld(
    2,
    (request, broker, cluster) => {
      if (!hangs || broker.nodeId !== 1) handleRequest(request, broker, cluster)
    },
    BROKERS,
  )
  const log = cluster.log(TOPIC, 0) as PartitionLog
  await run(async (producer, transport) => {
    log.moveTo(1, log.end)
    append(producer, 'before')
    await producer.commit(new Map(), undefined)

    hangs = true
    log.moveTo(2, log.end)
    while (cluster.coordinator('transaction', 'single')?.nodeId === 1) faults.moveCoordinators()
    await transport.offsets([PARTITION], 'end')
    expect(now()).toBeLessThan(REQUEST_TIMEOUT_MS + POLL_MS)
    // After the first timeout, the client sends its requests to other brokers first.
    const askedAt = now()
    await transport.partitionCounts([TOPIC])
    expect(now() - askedAt).toBeLessThan(POLL_MS)
    append(producer, 'after')
    await producer.commit(new Map(), undefined)
  })
  expect(valuesIn(cluster)).toEqual(['before', 'after'])
})

/**
 * Starts three brokers. After `fallBehind` is called, broker 1 answers as if it still led the log and did not know of
 * the last election.
 * @param keys the API keys of the requests that broker 1 answers in this way; by default all
 */
function outdatedWorld(keys?: readonly number[]) {
  let isBehind = false
  const world = producerWorld(
    2,
    (request, broker, cluster) => {
      if (!isBehind || broker.nodeId !== 1 || keys?.includes(request.apiKey) === false) return handleRequest(request, broker, cluster)
      const { leader, leaderEpoch } = log
      Object.assign(log, { leader: 1, leaderEpoch: leaderEpoch - 1 })
      handleRequest(request, broker, { ...cluster, coordinator: () => broker })
      Object.assign(log, { leader, leaderEpoch })
    },
    BROKERS,
  )
  const log = world.cluster.log(TOPIC, 0) as PartitionLog
  function fallBehind(): void {
    isBehind = true
  }
  return { ...world, log, fallBehind }
}

async function firstText(fetcher: Fetcher): Promise<string> {
  for (;;) {
    for (const { chunks } of await fetcher.poll(POLL_MS))
      for (const { buffer, valueStart, valueEnd } of chunks) return buffer.toString('utf8', valueStart[0], valueEnd[0])
  }
}

test('a client that knows a later leader epoch does not believe a broker that has fallen behind', async () => {
  const { log, fallBehind, open, run } = outdatedWorld()
  await run(async (producer) => {
    log.moveTo(1, log.end)
    append(producer, 'first')
    await producer.commit(new Map(), undefined)
    log.moveTo(2, log.end)
    append(producer, 'second')
    await producer.commit(new Map(), undefined)
    const { end, leaderEpoch } = log
    append(producer, 'third')
    await producer.commit(new Map(), undefined)

    fallBehind()
    const comparing = open('comparing')
    await comparing.connect()
    expect([...(await comparing.epochEnds([{ ...PARTITION, leaderEpoch }])).values()]).toEqual([log.end])
    const reading = open('reading')
    await reading.connect()
    const fetcher = reading.fetcher()
    fetcher.assign(PARTITION, end, 'earliest', leaderEpoch)
    // If the reader believed the outdated broker, its offset would not exist. The reader would then begin again with
    // the first record.
    expect(await firstText(fetcher)).toBe('third')
  })
})

test('a reader that starts at an offset whose epoch no broker knows does not wait forever', async () => {
  const { open, run } = producerWorld(2, handleRequest, BROKERS)
  await run(async (producer) => {
    append(producer, 'first')
    await producer.commit(new Map(), undefined)
    const reading = open('reading')
    await reading.connect()
    const fetcher = reading.fetcher()
    fetcher.assign(PARTITION, 0, 'earliest', LATER_EPOCH)
    expect(await firstText(fetcher)).toBe('first')
  })
})

/** The first request of each kind of client, and the result that the client gets. */
const FIRST_STEPS: Record<string, (transport: Transport) => Promise<unknown>> = {
  offsets: async (transport) => (await transport.offsets([PARTITION], 'earliest')).size,
  async fetcher(transport) {
    const fetcher = transport.fetcher()
    fetcher.assign(PARTITION, 0, 'earliest')
    return (await firstText(fetcher)).length
  },
  async publisher(transport) {
    const { promise, resolve } = Promise.withResolvers<unknown>()
    const text = Buffer.from('published')
    const settled = (count: number, error: unknown) => resolve(error ?? count)
    transport.publisher().appender(TOPIC, 0).append({ settled }, 0, null, 0, 0, text, 0, text.length)
    return promise
  },
  async producer(transport) {
    const producer = transport.producer({ transactionalId: 'another' })
    await producer.init()
    append(producer, 'written')
    return (await producer.commit(new Map(), undefined)).size
  },
}

test.each(Object.keys(FIRST_STEPS))('a client leaves a broker that still names former leaders and coordinators: %s', async (part) => {
  const { cluster, log, faults, fallBehind, open, run } = outdatedWorld([METADATA, FIND_COORDINATOR])
  await run(async (producer) => {
    log.moveTo(2, log.end)
    append(producer, 'a')
    await producer.commit(new Map(), undefined)
    while (cluster.coordinator('transaction', 'another')?.nodeId === 1) faults.moveCoordinators()
    fallBehind()
    const transport = open('another')
    await transport.connect()
    expect(await FIRST_STEPS[part](transport)).toBe(1)
  })
})

test('if a partition leader moves during a commit, the committed offsets name the new leader epoch', async () => {
  let moves = false
  const { cluster, run } = producerWorld(
    2,
    (request, broker, cluster) => {
      const log = cluster.log(TOPIC, 0) as PartitionLog
      if (moves && request.apiKey === PRODUCE) {
        moves = false
        log.moveTo(log.leader === 1 ? 2 : 1, log.end)
      }
      handleRequest(request, broker, cluster)
    },
    BROKERS,
  )
  await run(async (producer, transport) => {
    append(producer, 'first')
    await producer.commit(new Map(), undefined)
    const member = transport.groupMember({ groupId: GROUP, memberId: '00000000-0000-4000-8000-000000000001', topics: [TOPIC] })
    await member.join()
    moves = true
    append(producer, 'second')
    const offset = {
      ...PARTITION,
      offset: 1,
      get metadata() {
        return String(transport.leaderEpoch(TOPIC, 0))
      },
    }
    await producer.commit(new Map([['offset', offset]]), member)
    const { metadata } = (await member.committed([PARTITION])).get(`${TOPIC}-0`) ?? {}
    expect(metadata).toBe(String(cluster.log(TOPIC, 0)?.leaderEpoch))
    await member.leave()
  })
  expect(valuesIn(cluster)).toEqual(['first', 'second'])
})

test('a broker that hangs does not delay ending an abandoned transaction that another broker coordinates', async () => {
  let hangs = false
  const { cluster, faults, now, open, run } = producerWorld(
    2,
    (request, broker, cluster) => {
      if (!hangs || broker.nodeId !== 1) handleRequest(request, broker, cluster)
    },
    BROKERS,
  )
  await run(async (_, transport) => {
    while (cluster.coordinator('transaction', 'single')?.nodeId === 1) faults.moveCoordinators()
    cluster.transactions.addPartition('single', cluster.transactions.find('single') as Transaction, TOPIC, 0)
    const other = open('other')
    await other.connect()
    hangs = true
    const askedAt = now()
    const all = other.endTransactions('single', async (ids) => ids)
    while (cluster.transactions.ongoing().length > 0 && now() - askedAt < POLL_MS) await transport.offsets([PARTITION], 'end')
    expect(cluster.transactions.ongoing()).toEqual([])
    expect(await all).toEqual(['single'])
  })
})

test.each([
  ['leaders', METADATA],
  ['coordinators', FIND_COORDINATOR],
])('closing a producer does not wait for brokers that hang when they are asked for %s', async (_, apiKey) => {
  const asked = Promise.withResolvers<void>()
  let hangs = false
  const { cluster, faults, now, run } = producerWorld(
    2,
    (request, broker, cluster) => {
      if (hangs && request.apiKey === apiKey) asked.resolve()
      else handleRequest(request, broker, cluster)
    },
    BROKERS,
  )
  const log = cluster.log(TOPIC, 0) as PartitionLog
  await run(async (producer) => {
    log.moveTo(1, log.end)
    append(producer, 'before')
    await producer.commit(new Map(), undefined)

    hangs = true
    log.moveTo(2, log.end)
    const coordinator = cluster.coordinator('transaction', 'single')?.nodeId
    while (cluster.coordinator('transaction', 'single')?.nodeId === coordinator) faults.moveCoordinators()
    append(producer, 'after')
    const lost = expect(producer.commit(new Map(), undefined)).rejects.toThrow(TransportError)
    await asked.promise
    const closedAt = now()
    await producer.close()
    await lost
    expect(now() - closedAt).toBeLessThan(POLL_MS)
  })
  expect(valuesIn(cluster)).toEqual(['before'])
})
