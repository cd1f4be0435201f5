import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { waitUntil } from '../../../deploy/local/wait.ts'
import { FencedError } from '../../../kafka/transport.ts'
import { endedProcesses } from '../../../pipelines/engine/index.ts'
import { systemRuntime } from '../../../runtime/system.ts'
import { guardedFolder } from '../../stack/folder.ts'
import { testStack, uniqueName } from '../../stack/index.ts'
import { brokerProxy } from './broker-proxy.ts'
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

/** The group.consumer.session.timeout.ms of the test broker. */
const SESSION_TIMEOUT_MS = 6_000
/**
 * Time limit for events that must happen before the session of a lost member times out. Members that own only some of
 * the partitions send a heartbeat every second, so their sessions end no earlier than five seconds after the member is
 * lost.
 */
const BEFORE_TIMEOUT_MS = SESSION_TIMEOUT_MS - 1_500

test('the only member of a group gets all partitions, and a heartbeat changes neither the partitions nor the epoch', async () => {
  const transport = await connected(brokers)
  const topic = await newTopic(transport, 3)
  const member = newMember(transport, uniqueName('group'), [topic])
  await member.join()
  const owned = await ownPartitions(member, 3)
  expect(owned.map(({ partition }) => partition).sort()).toEqual([0, 1, 2])
  const { epoch } = member
  expect(epoch).toBeGreaterThan(0)
  await member.heartbeat()
  expect(member.epoch).toBe(epoch)
  expect(member.takeEvent()).toBeUndefined()
})

test('a second member gets partitions only after the first member has revoked them', async () => {
  const transport = await connected(brokers)
  const topic = await newTopic(transport, 4)
  const groupId = uniqueName('group')
  const first = newMember(transport, groupId, [topic])
  await first.join()
  await ownPartitions(first, 4)

  const second = newMember(transport, groupId, [topic])
  await second.join()
  const revoking = await nextEvent(first, 'assignment')
  expect(revoking.partitions).toHaveLength(2)
  // The first member still owns all four partitions and can commit. The second member gets none of them, no matter how
  // many heartbeats it sends.
  await second.heartbeat()
  await second.heartbeat()
  const early = second.takeEvent()
  expect(early === undefined || (early.type === 'assignment' && early.partitions.length === 0)).toBe(true)
  await first.commit(
    offsetsOf(
      [
        { topic, partition: 0 },
        { topic, partition: 1 },
        { topic, partition: 2 },
        { topic, partition: 3 },
      ],
      7,
      'kept',
    ),
  )

  first.acknowledge(revoking.partitions)
  const given = await ownPartitions(second, 2)
  expect([...revoking.partitions, ...given].map(({ partition }) => partition).sort()).toEqual([0, 1, 2, 3])
  expect([...(await second.committed(given)).values()]).toEqual([
    { offset: 7, metadata: 'kept' },
    { offset: 7, metadata: 'kept' },
  ])

  await second.leave()
  await ownPartitions(first, 4)
})

test('if partitions are assigned to a busy member and revoked before it takes the assignment, another member gets them', async () => {
  const transport = await connected(brokers)
  const topic = await newTopic(transport, 4)
  const groupId = uniqueName('group')
  const busy = newMember(transport, groupId, [topic])
  await busy.join()
  await ownPartitions(busy, 4)
  const leaving = newMember(transport, groupId, [topic])
  await leaving.join()
  busy.acknowledge((await nextEvent(busy, 'assignment')).partitions)
  await ownPartitions(leaving, 2)

  // The busy member takes no events from its queue while the other member leaves and returns.
  const nextEpoch = async () => {
    const { epoch } = busy
    await waitUntil(async () => busy.heartbeat().then(() => busy.epoch > epoch), { what: 'the next epoch', timeoutMs: DEADLINE_MS })
  }
  await Promise.all([leaving.leave(), nextEpoch()])
  const returned = newMember(transport, groupId, [topic], leaving.memberId)
  await returned.join()
  await busy.heartbeat()
  const { partitions } = await nextEvent(busy, 'assignment')
  expect(partitions).toHaveLength(2)
  busy.acknowledge(partitions)
  await ownPartitions(returned, 2)
})

test('`committed` returns no entry for partitions without a committed offset', async () => {
  const transport = await connected(brokers)
  const topic = await newTopic(transport, 2)
  const member = newMember(transport, uniqueName('group'), [topic])
  await member.join()
  const owned = await ownPartitions(member, 2)
  await member.commit(offsetsOf([{ topic, partition: 1 }], 5))
  expect(await member.committed(owned)).toEqual(new Map([[`${topic}-1`, { offset: 5, metadata: '' }]]))
})

test('a member that leaves the group frees its partitions at once', async () => {
  const transport = await connected(brokers)
  const topic = await newTopic(transport, 2)
  const groupId = uniqueName('group')
  const first = newMember(transport, groupId, [topic])
  await first.join()
  await ownPartitions(first, 2)
  const leftAt = Date.now()
  await first.leave()
  const second = newMember(transport, groupId, [topic])
  await second.join()
  await ownPartitions(second, 2)
  expect(Date.now() - leftAt).toBeLessThan(BEFORE_TIMEOUT_MS)
})

test('a topic that is created after the join is assigned as soon as it exists', async () => {
  const transport = await connected(brokers)
  const topic = uniqueName('later')
  const member = newMember(transport, uniqueName('group'), [topic])
  await member.join()
  await transport.ensureTopics([{ name: topic, partitions: 2 }])
  const owned = await ownPartitions(member, 2)
  expect(owned.toSorted((a, b) => a.partition - b.partition)).toEqual([0, 1].map((partition) => ({ topic, partition })))
})

/** Starts member-process.ts and waits until the process owns its partitions and has an open transaction. */
async function startWorker(args: readonly string[], lines: string[] = []): Promise<ChildProcess> {
  const script = fileURLToPath(new URL('./member-process.ts', import.meta.url))
  const child = spawn(process.execPath, [script, ...args], { cwd: guardedFolder().path, stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  createInterface({ input: child.stdout! }).on('line', (line) => lines.push(line))
  await waitUntil(() => lines.includes('open') && lines.length >= 2, {
    what: 'the worker with its open transaction',
    timeoutMs: DEADLINE_MS,
  })
  return child
}

test('a killed worker rejoins at once with its member id, its open transaction is aborted, and its offsets are readable', async () => {
  const transport = await connected(brokers)
  const topic = await newTopic(transport, 2)
  const [groupId, transactionalId, memberId] = [uniqueName('group'), uniqueName('producer'), randomUUID()]
  const before = newMember(transport, groupId, [topic])
  await before.join()
  await before.commit(offsetsOf(await ownPartitions(before, 2), 3))
  await before.leave()

  const worker = await startWorker([brokers, groupId, memberId, topic, transactionalId])
  worker.kill('SIGKILL')
  await new Promise((resolve) => worker.once('exit', resolve))

  const killedAt = Date.now()
  const producer = await newProducer(transport, transactionalId)
  const member = newMember(transport, groupId, [topic], memberId)
  await member.join()
  const owned = await ownPartitions(member, 2)
  expect(Date.now() - killedAt).toBeLessThan(BEFORE_TIMEOUT_MS)
  expect([...(await member.committed(owned)).values()].map(({ offset }) => offset)).toEqual([3, 3])

  append(producer, topic, 0, 'the restarted worker')
  await producer.commit(offsetsOf(owned, 4), member)
  expect(valuesOf(await readToEnd(transport, { topic, partition: 0 }))).toEqual(['the restarted worker'])
})

test('a member whose process was killed is removed by another member before its session times out', async () => {
  const transport = await connected(brokers)
  const topic = await newTopic(transport, 2)
  const groupId = uniqueName('group')
  const hasEnded = endedProcesses(systemRuntime())
  const member = transport.groupMember({ groupId, memberId: randomUUID(), topics: [topic], hasEnded })
  onTestFinished(() => member.leave())
  await member.join()
  await ownPartitions(member, 2)
  const lines: string[] = []
  const starting = startWorker([brokers, groupId, randomUUID(), topic, uniqueName('producer')], lines)
  await ownPartitions(member, 1)
  const worker = await starting
  await waitUntil(() => lines.includes('asked'), { what: 'the first check of the process', timeoutMs: DEADLINE_MS })
  const killedAt = Date.now()
  worker.kill('SIGKILL')
  await ownPartitions(member, 2)
  expect(Date.now() - killedAt).toBeLessThan(BEFORE_TIMEOUT_MS)
})

test('a new member with another id gets the partitions of a killed member only after the session timeout', async () => {
  const transport = await connected(brokers)
  const topic = await newTopic(transport, 2)
  const groupId = uniqueName('group')
  const worker = await startWorker([brokers, groupId, randomUUID(), topic, uniqueName('producer')])
  worker.kill('SIGKILL')
  await new Promise((resolve) => worker.once('exit', resolve))
  const killedAt = Date.now()
  const member = newMember(transport, groupId, [topic])
  await member.join()
  await ownPartitions(member, 2)
  expect(Date.now() - killedAt).toBeGreaterThan(SESSION_TIMEOUT_MS - 2_500)
})

test('a member that sent no heartbeats within the session timeout reports that it was fenced, and can rejoin', async () => {
  const proxy = await brokerProxy(brokers)
  onTestFinished(() => proxy.close())
  const transport = await connected(proxy.address)
  const watcher = await connected(brokers)
  const topic = await newTopic(transport, 2)
  const groupId = uniqueName('group')
  const member = newMember(transport, groupId, [topic])
  await member.join()
  const owned = await ownPartitions(member, 2)
  await member.heartbeat()

  proxy.freeze()
  const other = newMember(watcher, groupId, [topic])
  await other.join()
  await ownPartitions(other, 2)
  proxy.thaw()

  expect((await nextEvent(member, 'fenced')).reason).toMatch(/UNKNOWN_MEMBER_ID|FENCED_MEMBER_EPOCH/)
  await expect(member.heartbeat()).rejects.toThrow(FencedError)
  await expect(member.commit(offsetsOf(owned, 1))).rejects.toThrow(FencedError)
  await other.leave()
  await member.rejoin()
  await ownPartitions(member, 2)
  await member.commit(offsetsOf(owned, 1))
})

test('an unanswered heartbeat or a lost connection does not affect the membership', async () => {
  const proxy = await brokerProxy(brokers)
  onTestFinished(() => proxy.close())
  const transport = await connected(proxy.address, { requestTimeoutMs: 1_000 })
  const topic = await newTopic(transport, 2)
  const member = newMember(transport, uniqueName('group'), [topic])
  await member.join()
  const owned = await ownPartitions(member, 2)
  await member.heartbeat()
  proxy.interfere({ api: 'consumerGroupHeartbeat', action: 'lose-response' })
  proxy.interfere({ api: 'consumerGroupHeartbeat', action: 'cut' })
  await waitUntil(() => proxy.requests('consumerGroupHeartbeat').length > 7, { what: 'more heartbeats', timeoutMs: DEADLINE_MS })
  await member.heartbeat()
  expect(member.takeEvent()).toBeUndefined()
  await member.commit(offsetsOf(owned, 1))
})

test('committed offsets are returned only after the open transaction that changes them has ended', async () => {
  const transport = await connected(brokers)
  const topic = await newTopic(transport, 1)
  const member = newMember(transport, uniqueName('group'), [topic])
  await member.join()
  const owned = await ownPartitions(member, 1)
  const proxy = await brokerProxy(brokers)
  onTestFinished(() => proxy.close())
  const slow = await connected(proxy.address)
  const producer = await newProducer(slow)
  append(producer, topic, 0, 'a')
  // The request to end the transaction does not reach the broker, so the transaction's offsets remain pending.
  proxy.interfere({ api: 'endTxn', action: 'lose-request' })
  const committing = producer.commit(offsetsOf(owned, 9), member)
  await waitUntil(() => proxy.requests('endTxn').length > 0, { what: 'EndTxn', timeoutMs: DEADLINE_MS })
  let read = false
  const reading = member.committed(owned).then((found) => {
    read = true
    return found
  })
  await member.heartbeat()
  await member.heartbeat()
  expect(read).toBe(false)
  proxy.cutAll()
  await committing
  expect((await reading).get(`${topic}-0`)?.offset).toBe(9)
})

test('a healthy member can rejoin and gets its partitions back, as a worker does after its transaction has timed out', async () => {
  const transport = await connected(brokers)
  const topic = await newTopic(transport, 2)
  const member = newMember(transport, uniqueName('group'), [topic])
  await member.join()
  await ownPartitions(member, 2)
  await member.rejoin()
  await ownPartitions(member, 2)
  await member.heartbeat()
  expect(member.takeEvent()).toBeUndefined()
})

test('a member that has left neither sends heartbeats nor joins again', async () => {
  const transport = await connected(brokers)
  const topic = await newTopic(transport, 1)
  const groupId = uniqueName('group')
  const member = newMember(transport, groupId, [topic])
  await member.join()
  await ownPartitions(member, 1)
  await member.leave()
  await expect(member.heartbeat()).rejects.toThrow(FencedError)
  await member.join()
  await member.rejoin()
  await expect(member.heartbeat()).rejects.toThrow(FencedError)
  const observer = newMember(transport, groupId, [topic])
  await observer.join()
  expect((await observer.members()).map(({ memberId }) => memberId)).toEqual([observer.memberId])
  await observer.leave()
})

test('a non-transactional producer can commit offsets', async () => {
  const transport = await connected(brokers)
  const topic = await newTopic(transport, 1)
  const member = newMember(transport, uniqueName('group'), [topic])
  await member.join()
  const owned = await ownPartitions(member, 1)
  const producer = transport.producer({})
  await producer.init()
  append(producer, topic, 0, 'a', 'b')
  expect(await producer.commit(offsetsOf(owned, 2), member)).toEqual(new Map([[`${topic}-0`, 2]]))
  append(producer, topic, 0, 'c')
  expect(await commit(producer)).toEqual(new Map([[`${topic}-0`, 3]]))
  expect((await member.committed(owned)).get(`${topic}-0`)?.offset).toBe(2)
})

test('each member can list the addresses and partitions of all members, ordered by id', async () => {
  const transport = await connected(brokers)
  const topic = await newTopic(transport, 4)
  const groupId = uniqueName('group')
  const addresses = ['http://10.0.0.7:9400', undefined]
  const members = addresses.map((address) => transport.groupMember({ groupId, memberId: randomUUID(), topics: [topic], address }))
  onTestFinished(async () => {
    for (const member of members) await member.leave()
  })
  for (const member of members) await member.join()
  await waitUntil(
    async () => {
      for (const member of members) {
        const event = member.takeEvent()
        if (event?.type === 'assignment') member.acknowledge(event.partitions)
      }
      const described = await members[0].members()
      return described.length === 2 && described.every(({ partitions }) => partitions.length === 2)
    },
    { what: 'both own two partitions', timeoutMs: DEADLINE_MS, intervalMs: 50 },
  )
  const described = await members[1].members()
  expect(described.map(({ memberId }) => memberId)).toEqual(members.map(({ memberId }) => memberId).sort())
  expect(described.map(({ partitions }) => partitions.map(({ partition }) => partition).sort())).toEqual([
    [0, 1],
    [2, 3],
  ])
  expect(described.find(({ memberId }) => memberId === members[0].memberId)?.address).toBe('http://10.0.0.7:9400')
  expect(described.find(({ memberId }) => memberId === members[1].memberId)?.address).toBeUndefined()
  expect(described[0].partitions[0].topic).toBe(topic)
})
