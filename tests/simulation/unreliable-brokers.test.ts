import { expect, test } from 'vitest'
import { Writer } from '../../kafka/client/protocol.ts'
import { type Fetcher, type Transport, TransportError } from '../../kafka/transport.ts'
import type { PartitionLog } from './cluster/partition-log.ts'
import { handleRequest } from './cluster/requests.ts'
import type { Transaction } from './cluster/transactions.ts'
import { append, producerWorld, TOPIC, valuesIn } from './producer-world.ts'

/** Tests with brokers that hang, and with brokers that the controller's decisions do not reach. */

const PARTITION = { topic: TOPIC, partition: 0 }
const BROKERS = 3
const GROUP = 'readers'
const PRODUCE = 0
const METADATA = 3
const FIND_COORDINATOR = 10
const INIT_PRODUCER_ID = 22
const CREATE_TOPICS = 19
const LOAD_IN_PROGRESS = 14
const REQUEST_TIMED_OUT = 7
/** A leader epoch that the log never had. */
const LATER_EPOCH = 1_000
/** Timeout of requests to the broker that hangs. */
const REQUEST_TIMEOUT_MS = 30_000
const DELIVERY_TIMEOUT_MS = 120_000
const POLL_MS = 1_000
/** How long a leader waits for its replicas. */
const REPLICATION_TIMEOUT_MS = 10_000
/** Interval at which the client refreshes its metadata. */
const METADATA_AGE_MS = 300_000
/** How long a broker stays outdated, and how soon the controller fences a broker that is cut off. */
const TROUBLE_MS = 300_000
const FENCED_MS = 9_000

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
 * Starts three brokers. After `fallBehind` is called, broker 1 answers as if the last election had not taken place and
 * it still led the log.
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

function threeBrokers() {
  const world = producerWorld(2, handleRequest, BROKERS)
  return { ...world, log: world.cluster.log(TOPIC, 0) as PartitionLog }
}

async function firstText(fetcher: Fetcher): Promise<string> {
  for (;;) {
    for (const { chunks } of await fetcher.poll(POLL_MS))
      for (const { buffer, valueStart, valueEnd } of chunks) return buffer.toString('utf8', valueStart[0], valueEnd[0])
  }
}

test('a client that knows a later leader epoch ignores the answers of a broker that has fallen behind', async () => {
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
    // According to the outdated broker, the reader's offset does not exist. If the reader relied on this answer, it
    // would begin again with the first record.
    expect(await firstText(fetcher)).toBe('third')
  })
})

test('a reader can start at an offset with a leader epoch that the log never had', async () => {
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

/** Each function performs the first operation of one kind of client, and returns 1 if the operation succeeds. */
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

test.each(Object.keys(FIRST_STEPS))('a client stops using a broker that still names former leaders and coordinators: %s', async (part) => {
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

test.each(Object.keys(FIRST_STEPS))(
  'a client stops using a broker that still names a leader and a coordinator that are down: %s',
  async (part) => {
    const { cluster, log, faults, now, open, run } = threeBrokers()
    const [outdated, working, down] = cluster.brokers
    await run(async (producer, first) => {
      log.moveTo(down.nodeId, log.end)
      append(producer, 'a')
      await producer.commit(new Map(), undefined)
      while (cluster.coordinator('transaction', 'another') !== down) faults.moveCoordinators()
      faults.trouble(outdated, 'outdated', TROUBLE_MS, TROUBLE_MS)
      faults.crash(down)
      while (log.leader !== working.nodeId) await first.partitionCounts([TOPIC])
      const transport = open('another')
      await transport.connect()
      const askedAt = now()
      expect(await FIRST_STEPS[part](transport)).toBe(1)
      expect(now() - askedAt).toBeLessThan(REQUEST_TIMEOUT_MS)
    })
  },
)

/** The answer of a leader whose wait for its replicas has timed out. */
function notReplicated(): Writer {
  return Writer.create()
    .appendArray([TOPIC], (writer, name) => {
      writer.appendString(name).appendArray([0], (inner, partition) => {
        inner.appendInt32(partition).appendInt16(REQUEST_TIMED_OUT).appendInt64(-1n).appendInt64(-1n).appendInt64(0n)
        inner.appendArray([], () => {}).appendString(null)
      })
    })
    .appendInt32(0)
    .appendTaggedFields()
}

/** Starts three brokers. After `isolate` is called, the leader reaches neither the controller nor the other brokers. */
function isolatedWorld() {
  let isIsolated = false
  const world = producerWorld(
    2,
    (request, broker, cluster) => {
      if (!isIsolated || broker.nodeId !== 1 || request.apiKey !== PRODUCE) return handleRequest(request, broker, cluster)
      cluster.scheduler.after(REPLICATION_TIMEOUT_MS, broker.actor, 'waits in vain', () => request.reply(notReplicated()))
    },
    BROKERS,
  )
  const log = world.cluster.log(TOPIC, 0) as PartitionLog
  const [leader] = world.cluster.brokers
  log.moveTo(leader.nodeId, log.end)
  function isolate(): void {
    isIsolated = true
    world.faults.trouble(leader, 'isolated', 2 * METADATA_AGE_MS, FENCED_MS)
  }
  return { ...world, log, leader, isolate }
}

test.each(['publisher', 'producer'])(
  'a client stops using a leader that reaches neither the controller nor the other brokers: %s',
  async (part) => {
    const { cluster, faults, leader, isolate, now, open, run } = isolatedWorld()
    await run(async (producer) => {
      append(producer, 'a')
      await producer.commit(new Map(), undefined)
      while (cluster.coordinator('transaction', 'another') === leader) faults.moveCoordinators()
      const transport = open('another')
      await transport.connect()
      await transport.offsets([PARTITION], 'end')
      isolate()
      const askedAt = now()
      // A producer may have to begin again, because its transaction has timed out.
      for (let result: unknown; result !== 1; ) result = await FIRST_STEPS[part](transport).catch((error) => error)
      expect(now() - askedAt).toBeLessThan(REQUEST_TIMEOUT_MS + 3 * REPLICATION_TIMEOUT_MS)
    })
  },
)

test('a reader stops using a leader that is cut off and therefore gets no new records', async () => {
  const { cluster, faults, log, leader, isolate, now, open, run } = isolatedWorld()
  await run(async (producer) => {
    while (cluster.coordinator('transaction', 'single') === leader) faults.moveCoordinators()
    await producer.init()
    const reading = open('reading')
    await reading.connect()
    const fetcher = reading.fetcher()
    fetcher.assign(PARTITION, log.end, 'earliest')
    await fetcher.poll(POLL_MS)
    isolate()
    const cutOffAt = now()
    while (log.leader === leader.nodeId) await fetcher.poll(POLL_MS)
    for (let isWritten = false; !isWritten; ) {
      append(producer, 'new')
      isWritten = await producer.commit(new Map(), undefined).then(
        () => true,
        () => producer.init().then(() => false),
      )
    }
    expect(await firstText(fetcher)).toBe('new')
    expect(now() - cutOffAt).toBeLessThan(METADATA_AGE_MS + REQUEST_TIMEOUT_MS)
  })
})

test('a publisher stops using an outdated broker, even while it succeeds in publishing to other partitions', async () => {
  const { cluster, log, fallBehind, open, run } = outdatedWorld([METADATA, FIND_COORDINATOR])
  cluster.createTopic('other', 1, new Map())
  await run(async (producer) => {
    log.moveTo(2, log.end)
    append(producer, 'a')
    await producer.commit(new Map(), undefined)
    fallBehind()
    const transport = open('another')
    await transport.connect()
    const publisher = transport.publisher()
    const text = Buffer.from('published')
    let isPublished = false
    async function publish(topic: string): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>()
      publisher.appender(topic, 0).append({ settled: () => resolve() }, 0, null, 0, 0, text, 0, text.length)
      await promise
    }
    const publishing = publish(TOPIC).then(() => {
      isPublished = true
    })
    while (!isPublished) await publish('other')
    await publishing
  })
})

function noProducerId(): Writer {
  return Writer.create().appendInt32(0).appendInt16(LOAD_IN_PROGRESS).appendInt64(-1n).appendInt16(-1).appendTaggedFields()
}

function notCreated(): Writer {
  const answer = Writer.create().appendInt32(0)
  answer.appendArray(['created'], (writer, name) => {
    writer.appendString(name).appendUUID(undefined).appendInt16(REQUEST_TIMED_OUT).appendString(null)
    writer
      .appendInt32(-1)
      .appendInt16(-1)
      .appendArray([], () => {})
  })
  return answer.appendTaggedFields()
}

test.each([
  ['coordinator', FIND_COORDINATOR, FIRST_STEPS.producer],
  ['producer id', INIT_PRODUCER_ID, FIRST_STEPS.publisher],
  ['controller', CREATE_TOPICS, (transport: Transport) => transport.ensureTopics([{ name: 'created', partitions: 1 }])],
] as const)('if a broker that is cut off finds no %s, the client asks the other brokers', async (_, apiKey, step) => {
  let isCutOff = false
  const { open, run } = producerWorld(
    2,
    (request, broker, cluster) => {
      if (!isCutOff || broker.nodeId !== 1 || request.apiKey !== apiKey) return handleRequest(request, broker, cluster)
      if (apiKey === FIND_COORDINATOR) {
        const knowledge = { ...cluster.knowledgeOf(broker), coordinator: () => undefined }
        return handleRequest(request, broker, { ...cluster, knowledgeOf: () => knowledge })
      }
      request.reply(apiKey === CREATE_TOPICS ? notCreated() : noProducerId())
    },
    BROKERS,
  )
  await run(async (producer) => {
    append(producer, 'a')
    await producer.commit(new Map(), undefined)
    isCutOff = true
    const transport = open('another')
    await transport.connect()
    await step(transport)
  })
})

test('a commit of offsets fails after the delivery timeout if no broker finds a coordinator', async () => {
  let isMissing = false
  const { now, run } = producerWorld(2, (request, broker, cluster) => {
    const knowledge = { ...cluster.knowledgeOf(broker), coordinator: () => undefined }
    handleRequest(request, broker, isMissing ? { ...cluster, knowledgeOf: () => knowledge } : cluster)
  })
  await run(async (_, transport) => {
    isMissing = true
    const askedAt = now()
    const group = transport.memberlessGroup(GROUP)
    await expect(group.commit(new Map([['offset', { ...PARTITION, offset: 0 }]]))).rejects.toMatchObject({ fatal: false })
    expect(now() - askedAt).toBeLessThan(DELIVERY_TIMEOUT_MS + REQUEST_TIMEOUT_MS + POLL_MS)
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

test('a broker that hangs does not delay the end of an abandoned transaction that another broker coordinates', async () => {
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
])('closing a producer does not wait for brokers that do not answer requests for %s', async (_, apiKey) => {
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

test('if a client refreshes its metadata from a broker that does not know a topic yet, the client soon asks another broker', async () => {
  let isBehind = false
  const { cluster, now, run } = producerWorld(
    2,
    (request, broker, cluster) => {
      if (!isBehind || broker.nodeId === 1) return handleRequest(request, broker, cluster)
      const knowledge = { ...cluster.knowledgeOf(broker), topics: new Map() }
      handleRequest(request, broker, { ...cluster, knowledgeOf: () => knowledge })
    },
    BROKERS,
  )
  const log = cluster.log(TOPIC, 0) as PartitionLog
  await run(async (producer) => {
    log.moveTo(1, log.end)
    append(producer, 'first')
    await producer.commit(new Map(), undefined)
    isBehind = true
    // After five minutes, the client asks for metadata again, and first asks a broker that it has not asked before.
    while (now() < 1.2 * METADATA_AGE_MS) {
      append(producer, 'next')
      const committedAt = now()
      await producer.commit(new Map(), undefined)
      expect(now() - committedAt).toBeLessThan(FENCED_MS)
    }
  })
})
