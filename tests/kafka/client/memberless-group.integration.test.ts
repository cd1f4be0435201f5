import { beforeAll, expect, test } from 'vitest'
import { FencedError, partitionKey, type Transport } from '../../../kafka/transport.ts'
import { testStack, uniqueName } from '../../stack/index.ts'
import { connected, newMember, newTopic, nextEvent, ownPartitions } from './harness.ts'

let brokers: string
beforeAll(async () => {
  brokers = await testStack().kafka()
})

function offsetOf(topic: string, offset: number, metadata?: string) {
  return new Map([[partitionKey(topic, 0), { topic, partition: 0, offset, metadata }]])
}

async function world() {
  const transport = await connected(brokers)
  const topic = await newTopic(transport, 1)
  const groupId = uniqueName('group')
  const committed = async (by: Pick<ReturnType<Transport['memberlessGroup']>, 'committed'>) =>
    (await by.committed([{ topic, partition: 0 }])).get(partitionKey(topic, 0))
  return { transport, topic, groupId, committed }
}

test('a group that never had a member stores offsets', async () => {
  const { transport, topic, groupId, committed } = await world()
  const group = transport.memberlessGroup(groupId)
  expect(await committed(group)).toBeUndefined()
  expect(await group.members()).toEqual([])
  await group.commit(offsetOf(topic, 5, 'first'))
  await group.commit(offsetOf(topic, 7, 'second'))
  expect(await committed(transport.memberlessGroup(groupId))).toEqual({ offset: 7, metadata: 'second' })
  expect(await group.members()).toEqual([])
})

test('a process outside the group continues from the offsets of members that have left, and later members continue from its offsets', async () => {
  const { transport, topic, groupId, committed } = await world()
  const former = newMember(transport, groupId, [topic])
  await former.join()
  await ownPartitions(former, 1)
  await former.commit(offsetOf(topic, 5, 'of the member'))
  await former.leave()

  const group = transport.memberlessGroup(groupId)
  expect(await committed(group)).toEqual({ offset: 5, metadata: 'of the member' })
  await group.commit(offsetOf(topic, 9, 'of nobody'))
  expect(await committed(group)).toEqual({ offset: 9, metadata: 'of nobody' })

  const again = newMember(transport, groupId, [topic])
  await again.join()
  await ownPartitions(again, 1)
  expect(await committed(again)).toEqual({ offset: 9, metadata: 'of nobody' })
})

test('members can join a group that has stored offsets but never had a member', async () => {
  const { transport, topic, groupId, committed } = await world()
  await transport.memberlessGroup(groupId).commit(offsetOf(topic, 3))
  const member = newMember(transport, groupId, [topic])
  await member.join()
  await ownPartitions(member, 1)
  expect(await committed(member)).toEqual({ offset: 3, metadata: '' })
})

test('a group with a member refuses commits from processes outside the group, but answers queries', async () => {
  const { transport, topic, groupId, committed } = await world()
  const group = transport.memberlessGroup(groupId)
  await group.commit(offsetOf(topic, 3))
  const member = newMember(transport, groupId, [topic])
  await member.join()
  await ownPartitions(member, 1)
  await member.heartbeat()
  await expect(group.commit(offsetOf(topic, 4))).rejects.toThrow(
    new FencedError(`group ${groupId} has a member, so only a member can commit its offsets`),
  )
  expect(await committed(group)).toEqual({ offset: 3, metadata: '' })
  expect(await group.members()).toMatchObject([{ memberId: member.memberId, partitions: [{ topic, partition: 0 }] }])
})

test('each member of a group gets only partitions of the topics to which it subscribes', async () => {
  const { transport, topic: shared, groupId } = await world()
  const [own, other] = [await newTopic(transport, 2), await newTopic(transport, 3)]
  const one = newMember(transport, groupId, [shared, own])
  await one.join()
  await ownPartitions(one, 3)
  const two = newMember(transport, groupId, [other])
  await two.join()
  const ofTwo = await ownPartitions(two, 3)
  expect(ofTwo.every(({ topic }) => topic === other)).toBe(true)

  two.subscribe([other, own])
  const { partitions } = await nextEvent(one, 'assignment')
  expect(partitions.filter(({ topic }) => topic === own)).toHaveLength(1)
  expect(partitions.filter(({ topic }) => topic === shared)).toHaveLength(1)
  one.acknowledge(partitions)
  const grown = await ownPartitions(two, 4)
  expect(grown.filter(({ topic }) => topic === own)).toHaveLength(1)

  two.subscribe([own])
  expect(await ownPartitions(two, 1)).toMatchObject([{ topic: own }])
})
