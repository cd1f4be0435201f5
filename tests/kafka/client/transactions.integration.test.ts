import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect as dial } from 'node:net'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { waitUntil } from '../../../deploy/local/wait.ts'
import { FencedError, ReplacedError } from '../../../kafka/transport.ts'
import { AT_FIRST_TRY, testStack, uniqueName } from '../../stack/index.ts'
import { type BrokerProxy, brokerProxy } from './broker-proxy.ts'
import {
  append,
  commit,
  connected,
  DEADLINE_MS,
  newMember,
  newProducer,
  newTopic,
  nextEvent,
  offsetsOf,
  ownPartitions,
  readToEnd,
  valuesOf,
} from './harness.ts'

let brokers: string
beforeAll(async () => {
  brokers = await testStack().kafka()
})

/** A value that fills a batch, so that `flushFull` sends it and all earlier records. */
const FILLER = 'f'.repeat(950_000)
const SHORT_REQUEST_TIMEOUT_MS = 1_000

async function throughProxy(): Promise<BrokerProxy> {
  const proxy = await brokerProxy(brokers)
  onTestFinished(() => proxy.close())
  return proxy
}

const INVALID_PRODUCER_EPOCH = 47
/** Offset of the body in a response, after the correlation id (4 bytes) and the header tags (1 byte). */
const BODY_AT = 5
/** Offset of the error code in responses that begin with the throttle time. */
const ERROR_AFTER_THROTTLE_AT = BODY_AT + 4

function errorAt(at: number, code: number): (response: Buffer) => Buffer {
  return (response) => {
    const changed = Buffer.from(response)
    changed.writeInt16BE(code, at)
    return changed
  }
}

test('commit returns the end offset of the records in each partition that it wrote to', async () => {
  const transport = await connected(brokers)
  const topic = await newTopic(transport, 3)
  const producer = await newProducer(transport)
  append(producer, topic, 0, 'a', 'b')
  append(producer, topic, 2, 'c')
  expect(producer.appender(topic, 0).pendingRecords).toBe(2)
  expect(producer.pendingBytes).toBeGreaterThan(0)
  expect(await commit(producer)).toEqual(
    new Map([
      [`${topic}-0`, 2],
      [`${topic}-2`, 1],
    ]),
  )
  expect(producer.pendingBytes).toBe(0)
  expect(producer.appender(topic, 0).pendingRecords).toBe(0)
  append(producer, topic, 0, 'd')
  // The commit marker has offset 2.
  expect(await commit(producer)).toEqual(new Map([[`${topic}-0`, 4]]))
  expect(await commit(producer)).toEqual(new Map())
  expect(valuesOf(await readToEnd(transport, { topic, partition: 0 }))).toEqual(['a', 'b', 'd'])
})

test('records that are appended during a commit belong to the next transaction', async () => {
  const transport = await connected(brokers)
  const topic = await newTopic(transport, 1)
  const producer = await newProducer(transport)
  const values = async () => valuesOf(await readToEnd(transport, { topic, partition: 0 }))
  append(producer, topic, 0, 'a')
  const committing = commit(producer)
  append(producer, topic, 0, 'b', FILLER, 'c')
  await expect(commit(producer)).rejects.toThrow('the producer is still committing')
  await producer.flushFull()
  expect(await committing).toEqual(new Map([[`${topic}-0`, 1]]))
  expect(producer.appender(topic, 0).pendingRecords).toBe(3)
  expect(await values()).toEqual(['a'])
  // The marker of the first commit has offset 1.
  expect(await commit(producer)).toEqual(new Map([[`${topic}-0`, 5]]))
  append(producer, topic, 0, 'd')
  const last = commit(producer)
  append(producer, topic, 0, 'e')
  await last
  await producer.abort()
  expect(await commit(producer)).toEqual(new Map())
  expect(await values()).toEqual(['a', 'b', FILLER, 'c', 'd'])
})

test('after a failed commit, all appended records can be committed in one transaction', async () => {
  const transport = await connected(brokers)
  const topic = await newTopic(transport, 1)
  let failing = true
  const producer = transport.producer({
    transactionalId: uniqueName('tx'),
    onCommitStep(step) {
      if (failing && step === 'produced') throw new Error('between two steps')
    },
  })
  await producer.init()
  onTestFinished(() => producer.close())
  append(producer, topic, 0, 'a')
  const committing = commit(producer)
  append(producer, topic, 0, 'b')
  await expect(committing).rejects.toThrow('between two steps')
  failing = false
  expect(await commit(producer)).toEqual(new Map([[`${topic}-0`, 2]]))
  expect(valuesOf(await readToEnd(transport, { topic, partition: 0 }))).toEqual(['a', 'b'])
})

test('offsets are committed together with records or alone, and the step `committed` is reported after the other steps', async () => {
  const transport = await connected(brokers)
  const topic = await newTopic(transport, 1)
  const member = newMember(transport, uniqueName('group'), [topic])
  await member.join()
  const owned = await ownPartitions(member, 1)
  const steps: string[] = []
  const producer = transport.producer({ transactionalId: uniqueName('producer'), onCommitStep: (step) => steps.push(step) })
  await producer.init()
  append(producer, topic, 0, 'a')
  await producer.commit(offsetsOf(owned, 5, 'event time 17'), member)
  expect(steps.slice(0, 2).sort()).toEqual(['offsets-added', 'produced'])
  expect(steps[2]).toBe('committed')
  expect(await member.committed(owned)).toEqual(new Map([[`${topic}-0`, { offset: 5, metadata: 'event time 17' }]]))
  await producer.commit(offsetsOf(owned, 6), member)
  expect((await member.committed(owned)).get(`${topic}-0`)?.offset).toBe(6)
})

test("a producer splits records into batches below the broker's size limit, and sends several partitions in one request", async () => {
  const proxy = await throughProxy()
  const transport = await connected(proxy.address)
  const topic = await newTopic(transport, 2)
  const producer = await newProducer(transport)
  const texts = Array.from({ length: 4_000 }, (_, i) => `${i} `.repeat(200))
  for (const text of texts) for (const partition of [0, 1]) append(producer, topic, partition, text)
  await commit(producer)
  for (const partition of [0, 1]) expect(valuesOf(await readToEnd(transport, { topic, partition }))).toEqual(texts)
  const sizes = proxy.requests('produce').map(({ length }) => length)
  expect(Math.max(...sizes)).toBeGreaterThan(1_500_000)
  expect(Math.max(...sizes)).toBeLessThan(2_000_000)
})

test('full batches that are flushed early in the background are part of the next commit', async () => {
  const transport = await connected(brokers)
  const topic = await newTopic(transport, 2)
  const producer = await newProducer(transport)
  const expected: string[] = []
  for (let round = 0; round < 40; round++) {
    append(producer, topic, 0, `${round} ${FILLER}`, `${round} small`)
    const flushing = producer.flushFull()
    // The commit starts a little later in each round, so that the commits meet the flush at different stages.
    for (let ticks = 0; ticks < round; ticks++) await Promise.resolve()
    if (round % 5 === 4) await flushing
    append(producer, topic, 1, `${round}`)
    const next = await commit(producer)
    expect(producer.pendingBytes).toBe(0)
    expect(next.size).toBe(2)
    expected.push(`${round} ${FILLER}`, `${round} small`)
    await flushing
  }
  expect(valuesOf(await readToEnd(transport, { topic, partition: 0 }))).toEqual(expected)
})

test('a commit that starts during a flush without full batches sends all of its records', async () => {
  const transport = await connected(brokers)
  const topic = await newTopic(transport, 1)
  const producer = await newProducer(transport)
  append(producer, topic, 0, 'small')
  const flushing = producer.flushFull()
  expect(await commit(producer)).toEqual(new Map([[`${topic}-0`, 1]]))
  expect(producer.pendingBytes).toBe(0)
  await flushing
  expect(valuesOf(await readToEnd(transport, { topic, partition: 0 }))).toEqual(['small'])
})

test('a commit with offsets but no group member is rejected', async () => {
  const transport = await connected(brokers)
  const topic = await newTopic(transport, 1)
  const producer = await newProducer(transport)
  await expect(producer.commit(offsetsOf([{ topic, partition: 0 }], 1), undefined)).rejects.toMatchObject({
    code: 'ILLEGAL_ARGUMENT',
    fatal: true,
  })
})

test("a record above the broker's limit fails the commit with an error that names the cause, and the producer can continue after the abort", async () => {
  const transport = await connected(brokers)
  const topic = await newTopic(transport, 1)
  const producer = await newProducer(transport)
  append(producer, topic, 0, 'x'.repeat(2_000_000))
  await expect(commit(producer)).rejects.toMatchObject({
    code: expect.stringMatching(/MESSAGE_TOO_LARGE|RECORD_LIST_TOO_LARGE/),
    fatal: true,
  })
  await producer.abort()
  append(producer, topic, 0, 'small')
  await commit(producer)
  expect(valuesOf(await readToEnd(transport, { topic, partition: 0 }))).toEqual(['small'])
})

test('a producer that was opened with the size limit of the topic refuses a record above the limit, and the transaction continues', async () => {
  const transport = await connected(brokers)
  const topic = await newTopic(transport, 1, { 'max.message.bytes': '100000' })
  const producer = transport.producer({ transactionalId: uniqueName('producer'), maxBatchBytes: await transport.maxBatchBytes([topic]) })
  await producer.init()
  // Each record fits into a batch by itself, but together they do not.
  const fitting = ['a', 'b', 'c'].map((letter) => letter.repeat(60_000))
  const largest = 'd'.repeat(99_900)
  append(producer, topic, 0, ...fitting)
  const check = (value: string) => producer.appender(topic, 0).check(0, null, 0, 0, Buffer.from(value), 0, value.length)
  check(largest)
  expect(() => check('x'.repeat(100_001))).toThrow(expect.objectContaining({ code: 'MESSAGE_TOO_LARGE' }))
  expect(() => append(producer, topic, 0, 'x'.repeat(100_001))).toThrow(expect.objectContaining({ code: 'MESSAGE_TOO_LARGE' }))
  append(producer, topic, 0, largest, 'small')
  await commit(producer)
  expect(valuesOf(await readToEnd(transport, { topic, partition: 0 }))).toEqual([...fitting, largest, 'small'])
})

test('the size limit of a batch applies to the compressed record', async () => {
  const transport = await connected(brokers)
  const topic = await newTopic(transport, 1, { 'max.message.bytes': '100000' })
  const maxBatchBytes = await transport.maxBatchBytes([topic])
  const producer = transport.producer({ transactionalId: uniqueName('producer'), compression: 'gzip', maxBatchBytes })
  await producer.init()
  const compressible = 'x'.repeat(1_000_000)
  append(producer, topic, 0, compressible)
  expect(() => append(producer, topic, 0, randomBytes(100_000).toString('hex'))).toThrow(
    /accepts batches of up to 100000 bytes, but this record needs \d+/,
  )
  await commit(producer)
  expect(valuesOf(await readToEnd(transport, { topic, partition: 0 }))).toEqual([compressible])
})

test('InitProducerId fences the older instance, which can neither commit nor recover by aborting', async () => {
  const transport = await connected(brokers)
  const topic = await newTopic(transport, 1)
  const transactionalId = uniqueName('slot')
  const old = await newProducer(transport, transactionalId)
  append(old, topic, 0, 'committed by the old instance')
  await commit(old)
  append(old, topic, 0, FILLER, 'lost')
  await old.flushFull()

  const young = await newProducer(transport, transactionalId)
  await expect(commit(old)).rejects.toThrow(FencedError)
  await old.abort()
  append(old, topic, 0, 'still lost')
  await expect(commit(old)).rejects.toThrow(FencedError)

  append(young, topic, 0, 'committed by the new instance')
  await commit(young)
  expect(valuesOf(await readToEnd(transport, { topic, partition: 0 }))).toEqual([
    'committed by the old instance',
    'committed by the new instance',
  ])
})

test('the next init of an instance that was replaced fails with a ReplacedError, and does not fence the newer instance', async () => {
  const transport = await connected(brokers)
  const topic = await newTopic(transport, 1)
  const transactionalId = uniqueName('slot')
  const [idle, busy] = [await newProducer(transport, transactionalId), await newProducer(transport, transactionalId)]
  append(busy, topic, 0, FILLER, 'of the second instance')
  await busy.flushFull()
  await expect(idle.init()).rejects.toThrow(ReplacedError)
  const young = await newProducer(transport, transactionalId)
  await expect(commit(busy)).rejects.toThrow(FencedError)
  await busy.abort()
  await expect(busy.init()).rejects.toThrow(ReplacedError)
  append(young, topic, 0, FILLER, 'of the third instance')
  await young.flushFull()
  // The open transaction of the newest instance is unaffected.
  await expect(idle.init()).rejects.toThrow(ReplacedError)
  await commit(young)
  expect(valuesOf(await readToEnd(transport, { topic, partition: 0 }))).toEqual([FILLER, 'of the third instance'])
})

/** Opens a producer that connects through a proxy and soon gives up on unanswered requests. */
async function impatientProducer() {
  const proxy = await throughProxy()
  const transport = await connected(proxy.address, {
    requestTimeoutMs: SHORT_REQUEST_TIMEOUT_MS,
    deliveryTimeoutMs: SHORT_REQUEST_TIMEOUT_MS,
  })
  const topic = await newTopic(transport, 1)
  const producer = await newProducer(transport)
  return { proxy, transport, topic, producer }
}

test('if the response with a new epoch is lost, the producer does not conclude that another instance has replaced it', async () => {
  const { proxy, transport, topic, producer } = await impatientProducer()
  // Three responses are lost, but a call of `init` has time for at most two requests, so the first call fails.
  proxy.interfere({ api: 'initProducerId', action: 'lose-response', times: 3 })
  await expect(producer.init()).rejects.toMatchObject({ name: 'TransportError', fatal: false })
  await waitUntil(() => producer.init().then(() => true), { what: 'an answer to init', timeoutMs: DEADLINE_MS })
  append(producer, topic, 0, 'a')
  await commit(producer)
  expect(valuesOf(await readToEnd(transport, { topic, partition: 0 }))).toEqual(['a'])
})

test('other clients can abort the open transaction of a dead producer without affecting the transaction of a live producer', async () => {
  const transport = await connected(brokers)
  const topic = await newTopic(transport, 2)
  const prefix = uniqueName('workers-')
  // The transaction timeout is far beyond the end of this test, so the broker does not abort these transactions.
  const open = async (name: string) => {
    const producer = transport.producer({ transactionalId: `${prefix}${name}`, transactionTimeoutMs: 600_000 })
    await producer.init()
    return producer
  }
  const [dead, living] = [await open('dead'), await open('living')]
  append(dead, topic, 0, FILLER, 'of the dead')
  append(living, topic, 1, FILLER, 'of the living')
  await Promise.all([dead.flushFull(), living.flushFull()])

  const seen: string[] = []
  const ended = await transport.endTransactions(prefix, async (ids) => {
    seen.push(...ids)
    return ids.filter((id) => id.endsWith('dead'))
  })
  expect(seen.sort()).toEqual([`${prefix}dead`, `${prefix}living`])
  expect(ended).toEqual([`${prefix}dead`])
  expect(valuesOf(await readToEnd(transport, { topic, partition: 0 }))).toEqual([])
  await commit(living)
  expect(valuesOf(await readToEnd(transport, { topic, partition: 1 }))).toEqual([FILLER, 'of the living'])

  // If the producer was not dead but a zombie, its writes are now rejected. It can then start over, because no other
  // instance uses its transactional id.
  append(dead, topic, 0, 'still dead')
  await expect(commit(dead)).rejects.toThrow(FencedError)
  await dead.abort()
  await dead.init()
  append(dead, topic, 0, 'alive again')
  await commit(dead)
  expect(valuesOf(await readToEnd(transport, { topic, partition: 0 }))).toEqual(['alive again'])
  expect(await transport.endTransactions(prefix, async (ids) => ids)).toEqual([])
})

test(
  'a zombie that was replaced in the group can commit neither its offsets (KIP-447) nor the records of the same transaction',
  AT_FIRST_TRY,
  async () => {
    const proxy = await throughProxy()
    const frozen = await connected(proxy.address)
    const transport = await connected(brokers)
    const topic = await newTopic(transport, 1)
    const groupId = uniqueName('group')
    const zombieMember = newMember(frozen, groupId, [topic])
    await zombieMember.join()
    const owned = await ownPartitions(zombieMember, 1)
    // The heartbeats of the zombie pass through the proxy, so they will stop, as if its process were suspended. Its
    // producer does not use the proxy, so the producer still works.
    const zombie = await newProducer(transport)
    append(zombie, topic, 0, FILLER, 'of the zombie')
    await zombie.flushFull()
    proxy.freeze()

    const member = newMember(transport, groupId, [topic])
    await member.join()
    await ownPartitions(member, 1)
    const producer = await newProducer(transport)
    append(producer, topic, 0, 'of the new owner')
    await producer.commit(offsetsOf(owned, 10), member)

    const stale = { ...zombieMember, memberId: zombieMember.memberId, epoch: zombieMember.epoch, groupId }
    await expect(zombie.commit(offsetsOf(owned, 5), stale)).rejects.toThrow(FencedError)
    await zombie.abort()
    expect((await member.committed(owned)).get(`${topic}-0`)?.offset).toBe(10)
    expect(valuesOf(await readToEnd(transport, { topic, partition: 0 }))).toEqual(['of the new owner'])
    // The zombie has lost its membership, but its producer is still valid, so it can continue as a new member.
    append(zombie, topic, 0, 'reformed')
    await commit(zombie)
    proxy.thaw()
  },
)

test('if the member epoch of a commit is outdated, the commit is retried with the new epoch from a heartbeat, and the producer is not fenced', async () => {
  const transport = await connected(brokers)
  const topic = await newTopic(transport, 2)
  const groupId = uniqueName('group')
  const member = newMember(transport, groupId, [topic])
  await member.join()
  const owned = await ownPartitions(member, 2)
  await member.heartbeat()
  const oldEpoch = member.epoch

  const second = newMember(transport, groupId, [topic])
  await second.join()
  const { partitions } = await nextEvent(member, 'assignment')
  member.acknowledge(partitions)
  await ownPartitions(second, 1)
  await member.heartbeat()
  expect(member.epoch).toBeGreaterThan(oldEpoch)

  // This commit carries the previous epoch of the member.
  let epoch = oldEpoch
  const behind = {
    ...member,
    groupId,
    memberId: member.memberId,
    get epoch() {
      return epoch
    },
    heartbeat: async () => {
      await member.heartbeat()
      epoch = member.epoch
    },
  }
  const producer = await newProducer(transport)
  append(producer, topic, 0, 'a')
  const kept = owned.filter(({ partition }) => partitions.some((own) => own.partition === partition))
  await producer.commit(offsetsOf(kept, 3), behind)
  expect(epoch).toBe(member.epoch)
  expect([...(await member.committed(kept)).values()]).toEqual([{ offset: 3, metadata: '' }])
})

test('after commits and aborts, the records of the next transaction are written once and in order', async () => {
  const transport = await connected(brokers)
  const topic = await newTopic(transport, 1)
  const producer = await newProducer(transport)
  const expected: string[] = []
  for (let round = 0; round < 6; round++) {
    append(producer, topic, 0, `${round} a`, `${round} b`)
    if (round % 3 === 1) await producer.abort()
    else if (round % 3 === 2) {
      append(producer, topic, 0, FILLER, 'not sent')
      await producer.flushFull()
      await producer.abort()
    } else {
      await commit(producer)
      expected.push(`${round} a`, `${round} b`)
    }
  }
  expect(valuesOf(await readToEnd(transport, { topic, partition: 0 }))).toEqual(expected)
})

test('if a batch is unanswered, the abort of its transaction requests a new epoch, and the batch never becomes visible', async () => {
  const { proxy, topic, producer } = await impatientProducer()
  append(producer, topic, 0, 'first')
  await commit(producer)
  const inits = proxy.requests('initProducerId').length
  proxy.interfere({ api: 'produce', action: 'lose-response', times: 100 })
  append(producer, topic, 0, 'unanswered')
  await expect(commit(producer)).rejects.toMatchObject({ name: 'TransportError', fatal: false })
  await producer.abort()
  expect(proxy.requests('initProducerId').length).toBeGreaterThan(inits)

  const direct = await connected(brokers)
  const fresh = await newProducer(direct)
  append(fresh, topic, 0, 'by another')
  await commit(fresh)
  expect(valuesOf(await readToEnd(direct, { topic, partition: 0 }))).toEqual(['first', 'by another'])
})

test('after an abort has failed, the producer commits nothing until init', async () => {
  const { proxy, topic, producer } = await impatientProducer()
  append(producer, topic, 0, 'first')
  await commit(producer)
  for (const api of ['produce', 'describeTransactions'] as const) proxy.interfere({ api, action: 'lose-response', times: 100 })
  append(producer, topic, 0, 'unanswered')
  await expect(commit(producer)).rejects.toMatchObject({ name: 'TransportError', fatal: false })
  await expect(producer.abort()).rejects.toMatchObject({ name: 'TransportError', fatal: false })
  proxy.heal()
  append(producer, topic, 0, 'next')
  await expect(commit(producer)).rejects.toThrow(FencedError)
  await producer.init()
  append(producer, topic, 0, 'after init')
  await commit(producer)
  const direct = await connected(brokers)
  expect(valuesOf(await readToEnd(direct, { topic, partition: 0 }))).toEqual(['first', 'after init'])
})

test('a produce request whose response was lost is retried, and its records are written once', AT_FIRST_TRY, async () => {
  const proxy = await throughProxy()
  const transport = await connected(proxy.address, { requestTimeoutMs: SHORT_REQUEST_TIMEOUT_MS })
  const topic = await newTopic(transport, 1)
  const producer = await newProducer(transport)
  append(producer, topic, 0, 'zero')
  await commit(producer)
  proxy.interfere({ api: 'produce', action: 'lose-response' })
  proxy.interfere({ api: 'produce', action: 'cut' })
  append(producer, topic, 0, 'once')
  expect(await commit(producer)).toEqual(new Map([[`${topic}-0`, 3]]))
  expect(proxy.requests('produce')).toHaveLength(4)
  append(producer, topic, 0, 'next')
  await commit(producer)
  expect(valuesOf(await readToEnd(transport, { topic, partition: 0 }))).toEqual(['zero', 'once', 'next'])
})

/**
 * Returns a function that changes the error in a response to a produce request for one partition. The error follows the
 * topic's name and the partition's index.
 */
function produceError(topic: string, code: number): (response: Buffer) => Buffer {
  const partitionsLength = 1
  const index = 4
  return (response) => errorAt(response.indexOf(topic) + topic.length + partitionsLength + index, code)(response)
}

test('DUPLICATE_SEQUENCE_NUMBER counts as success, although such a response contains no offset', async () => {
  const proxy = await throughProxy()
  const transport = await connected(proxy.address)
  const topic = await newTopic(transport, 1)
  const producer = await newProducer(transport)
  const duplicateSequenceNumber = 46
  proxy.interfere({ api: 'produce', action: 'edit', edit: produceError(topic, duplicateSequenceNumber) })
  append(producer, topic, 0, 'a', 'b')
  expect(await commit(producer)).toEqual(new Map([[`${topic}-0`, 2]]))
  expect(proxy.requests('produce')).toHaveLength(1)
  expect(valuesOf(await readToEnd(transport, { topic, partition: 0 }))).toEqual(['a', 'b'])
})

test.each([
  ['NOT_ENOUGH_REPLICAS', 19],
  ['NOT_LEADER_OR_FOLLOWER', 6],
  ['REQUEST_TIMED_OUT', 7],
  ['KAFKA_STORAGE_ERROR', 56],
])('a producer retries a produce request that fails with %s, with the same bytes', async (_name, code) => {
  const proxy = await throughProxy()
  const transport = await connected(proxy.address)
  const topic = await newTopic(transport, 1)
  const producer = await newProducer(transport)
  proxy.interfere({ api: 'produce', action: 'edit', edit: produceError(topic, code), times: 2 })
  append(producer, topic, 0, 'a')
  await commit(producer)
  const correlationBytes = 8
  const bodies = proxy.requests('produce').map((request) => request.subarray(correlationBytes).toString('hex'))
  expect(bodies).toHaveLength(3)
  expect(new Set(bodies).size).toBe(1)
  append(producer, topic, 0, 'b')
  await commit(producer)
  expect(valuesOf(await readToEnd(transport, { topic, partition: 0 }))).toEqual(['a', 'b'])
})

/**
 * Returns a proxy that makes the cluster look older: according to the next ApiVersions response, only transaction
 * version 1 is enabled.
 */
async function throughOlderCluster(): Promise<BrokerProxy> {
  const proxy = await throughProxy()
  const name = 'transaction.version'
  const edit = (response: Buffer) => {
    const changed = Buffer.from(response)
    // The response lists the supported features first and then the enabled ones. In each entry, the name precedes the
    // level.
    changed.writeInt16BE(1, changed.lastIndexOf(name) + name.length)
    return changed
  }
  proxy.interfere({ api: 'apiVersions', action: 'edit', edit })
  return proxy
}

const COORDINATOR_ERRORS = [
  ['COORDINATOR_LOAD_IN_PROGRESS', 14],
  ['NOT_COORDINATOR', 16],
  ['CONCURRENT_TRANSACTIONS', 51],
  ['UNKNOWN_SERVER_ERROR', -1],
] as const

test.each(COORDINATOR_ERRORS)('a producer retries the steps that the transaction coordinator refuses with %s', async (_name, code) => {
  const proxy = await throughProxy()
  const transport = await connected(proxy.address)
  const topic = await newTopic(transport, 1)
  for (const api of ['initProducerId', 'endTxn'] as const)
    proxy.interfere({ api, action: 'edit', edit: errorAt(ERROR_AFTER_THROTTLE_AT, code) })
  const producer = await newProducer(transport)
  append(producer, topic, 0, 'a')
  await commit(producer)
  for (const api of ['initProducerId', 'endTxn'] as const) expect(proxy.requests(api).length, api).toBeGreaterThan(1)
  expect(valuesOf(await readToEnd(transport, { topic, partition: 0 }))).toEqual(['a'])
})

test('with transaction version 2, a commit sends no separate requests that add partitions or offsets to the transaction', async () => {
  const proxy = await throughProxy()
  const transport = await connected(proxy.address)
  const topic = await newTopic(transport, 1)
  const member = newMember(transport, uniqueName('group'), [topic])
  await member.join()
  const owned = await ownPartitions(member, 1)
  const producer = await newProducer(transport)
  for (const text of ['a', 'b', 'c']) {
    append(producer, topic, 0, text)
    await producer.commit(offsetsOf(owned, 1), member)
  }
  expect(proxy.requests('endTxn')).toHaveLength(3)
  // While the broker writes the markers of the previous transaction, it refuses records and offsets, so the producer
  // may send them twice.
  for (const api of ['produce', 'txnOffsetCommit'] as const) expect(proxy.requests(api).length, api).toBeGreaterThanOrEqual(3)
  for (const api of ['addPartitionsToTxn', 'addOffsetsToTxn'] as const) expect(proxy.requests(api), api).toEqual([])
  expect(valuesOf(await readToEnd(transport, { topic, partition: 0 }))).toEqual(['a', 'b', 'c'])
})

test('a batch that arrives after the end of its transaction cannot enter the next transaction', async () => {
  const proxy = await throughProxy()
  const transport = await connected(proxy.address)
  const topic = await newTopic(transport, 1)
  const producer = await newProducer(transport)
  append(producer, topic, 0, 'a')
  await commit(producer)
  const [late] = proxy.requests('produce')
  append(producer, topic, 0, 'b')
  await commit(producer)
  const socket = dial(Number(brokers.split(':')[1]), '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  const length = Buffer.alloc(4)
  length.writeInt32BE(late.length)
  socket.write(Buffer.concat([length, late]))
  const [answer] = (await once(socket, 'data')) as [Buffer]
  // The topic's name is followed by the partition's index and then its error code.
  const at = answer.indexOf(topic) + topic.length + 1 + 4
  expect(answer.readInt16BE(at)).toBe(INVALID_PRODUCER_EPOCH)
  expect(valuesOf(await readToEnd(transport, { topic, partition: 0 }))).toEqual(['a', 'b'])
})

test.each(COORDINATOR_ERRORS)(
  'with transaction version 1, a producer retries requests to the coordinator that fail with %s',
  async (_name, code) => {
    const proxy = await throughOlderCluster()
    const transport = await connected(proxy.address)
    const topic = await newTopic(transport, 1)
    const member = newMember(transport, uniqueName('group'), [topic])
    await member.join()
    const owned = await ownPartitions(member, 1)
    const steps = ['initProducerId', 'addOffsetsToTxn', 'endTxn'] as const
    for (const api of steps) proxy.interfere({ api, action: 'edit', edit: errorAt(ERROR_AFTER_THROTTLE_AT, code) })
    const addPartitionsError = (response: Buffer) => errorAt(response.indexOf(topic) + topic.length + 1 + 4, code)(response)
    proxy.interfere({ api: 'addPartitionsToTxn', action: 'edit', edit: addPartitionsError })
    const producer = await newProducer(transport)
    append(producer, topic, 0, 'a')
    await producer.commit(offsetsOf(owned, 1), member)
    append(producer, topic, 0, 'b')
    await producer.commit(offsetsOf(owned, 2), member)
    for (const api of [...steps, 'addPartitionsToTxn'] as const) expect(proxy.requests(api).length, api).toBeGreaterThan(1)
    expect(valuesOf(await readToEnd(transport, { topic, partition: 0 }))).toEqual(['a', 'b'])
  },
)

test('an unanswered EndTxn is retried until the outcome is known, and the transaction is committed once', AT_FIRST_TRY, async () => {
  const proxy = await throughProxy()
  const transport = await connected(proxy.address, { requestTimeoutMs: SHORT_REQUEST_TIMEOUT_MS })
  const topic = await newTopic(transport, 1)
  const producer = await newProducer(transport)
  proxy.interfere({ api: 'endTxn', action: 'lose-response' })
  proxy.interfere({ api: 'endTxn', action: 'lose-request' })
  proxy.interfere({ api: 'endTxn', action: 'cut' })
  append(producer, topic, 0, 'a')
  await commit(producer)
  expect(proxy.requests('endTxn').length).toBeGreaterThanOrEqual(4)
  append(producer, topic, 0, 'b')
  await commit(producer)
  expect(valuesOf(await readToEnd(transport, { topic, partition: 0 }))).toEqual(['a', 'b'])
})

test('a producer whose transaction has timed out is fenced, its records stay invisible, and init makes it usable again', async () => {
  const transport = await connected(brokers)
  const topic = await newTopic(transport, 1)
  const producer = transport.producer({ transactionalId: uniqueName('slow'), transactionTimeoutMs: 4_000 })
  await producer.init()
  append(producer, topic, 0, FILLER, 'too late')
  await producer.flushFull()
  const [{ lastStableOffset }] = await waitForStable(topic)
  expect(lastStableOffset).toBeGreaterThan(1)
  await expect(commit(producer)).rejects.toThrow(FencedError)
  await producer.abort()
  await expect(commit(producer)).rejects.toThrow(/call init/)
  await producer.init()
  append(producer, topic, 0, 'in time')
  await commit(producer)
  expect(valuesOf(await readToEnd(transport, { topic, partition: 0 }))).toEqual(['in time'])

  async function waitForStable(name: string) {
    const fetcher = transport.fetcher({ maxWaitMs: 100 })
    fetcher.assign({ topic: name, partition: 0 }, 0, 'fail')
    let seen: { lastStableOffset: number }[] = []
    await waitUntil(
      async () => {
        seen = await fetcher.poll(500)
        return seen.some((data) => data.lastStableOffset > 1)
      },
      { what: 'the end of the timed-out transaction', timeoutMs: DEADLINE_MS },
    )
    await fetcher.close()
    return seen
  }
})

test('nothing can be committed before init', async () => {
  const transport = await connected(brokers)
  const topic = await newTopic(transport, 1)
  const producer = transport.producer({ transactionalId: uniqueName('producer') })
  append(producer, topic, 0, 'a')
  await expect(commit(producer)).rejects.toThrow(/call init first/)
})

test('a producer can be closed if its broker disappears while a transaction is being opened', async () => {
  const proxy = await brokerProxy(brokers)
  const transport = await connected(proxy.address)
  const topic = await newTopic(transport, 1)
  const producer = await newProducer(transport)
  await proxy.close()
  append(producer, topic, 0, 'a')
  const committing = commit(producer)
  const ended = committing.then(
    () => 'committed',
    () => 'given up',
  )
  await producer.close()
  expect(await ended).toBe('given up')
})
