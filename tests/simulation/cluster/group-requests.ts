import { Writer } from '../../../kafka/client/protocol.ts'
import type { ClientRequest } from '../network.ts'
import type { SimulatedBroker } from './broker.ts'
import type { Cluster } from './cluster.ts'
import { codeFrom, codeOf, Refused } from './errors.ts'
import { byTopic, type GroupMemberState, HEARTBEAT_INTERVAL_MS, keyOf, type TopicPartitions } from './groups.ts'
import { offsetsAnswer, readOffsets } from './transaction-requests.ts'

const NO_THROTTLE = 0
const NO_OFFSET = -1
const NO_EPOCH = -1
const NO_STRUCT = -1
const STRUCT = 1
const LEAVE_EPOCH = -1

export function heartbeat({ body, reply, clientId }: ClientRequest, broker: SimulatedBroker, cluster: Cluster): void {
  const groupId = body.readString()
  const memberId = body.readString()
  const epoch = body.readInt32()
  body.readNullableString()
  const rackId = body.readNullableString()
  const rebalanceTimeoutMs = body.readInt32()
  const topics = body.readNullableArray((topic) => topic.readString(), true, false)
  body.readNullableString()
  body.readNullableString()
  const owned = body.readNullableArray((entry) => {
    const topic = cluster.topicById(entry.readUUID())?.name
    return entry.readArray((inner) => inner.readInt32(), true, false).map((partition) => keyOf(topic ?? '', partition))
  })
  let member: GroupMemberState | undefined
  let changed = false
  const code = codeFrom(() => {
    cluster.checkCoordinator('group', groupId, broker)
    const beat = { memberId, epoch, clientId, rackId, rebalanceTimeoutMs, topics, owned: owned && new Set(owned.flat()) }
    const result = cluster.group(groupId).heartbeat(beat)
    member = result.member
    changed = result.changed
  })
  const answer = Writer.create().appendInt32(NO_THROTTLE).appendInt16(code).appendString(null).appendString(memberId)
  answer.appendInt32(member?.epoch ?? LEAVE_EPOCH).appendInt32(HEARTBEAT_INTERVAL_MS)
  if (member === undefined || !changed) answer.appendInt8(NO_STRUCT)
  else {
    answer.appendInt8(STRUCT)
    appendPartitions(answer, cluster, byTopic(member.assigned), false)
    answer.appendTaggedFields()
  }
  reply(answer.appendTaggedFields())
}

function appendPartitions(writer: Writer, cluster: Cluster, topics: TopicPartitions[], withNames: boolean): Writer {
  return writer.appendArray(topics, (w, { topic, partitions }) => {
    w.appendUUID(cluster.topics.get(topic)?.id)
    if (withNames) w.appendString(topic)
    w.appendArray([...partitions], (inner, partition) => inner.appendInt32(partition), true, false)
  })
}

export function describeGroups({ body, reply }: ClientRequest, broker: SimulatedBroker, cluster: Cluster): void {
  const ids = body.readArray((id) => id.readString(), true, false)
  const answer = Writer.create().appendInt32(NO_THROTTLE)
  answer.appendArray(ids, (w, id) => {
    const group = cluster.groups.get(id)
    group?.expire()
    const code = codeFrom(() => {
      cluster.checkCoordinator('group', id, broker)
      if (group === undefined) throw new Refused('GROUP_ID_NOT_FOUND')
    })
    w.appendInt16(code).appendString(null).appendString(id).appendString('Stable')
    w.appendInt32(group?.epoch ?? 0)
      .appendInt32(group?.epoch ?? 0)
      .appendString('range')
    w.appendArray(code === 0 ? [...(group?.members.values() ?? [])] : [], (inner, member) => {
      inner.appendString(member.id).appendString(null).appendString(member.rackId).appendInt32(member.epoch)
      inner.appendString(member.clientId).appendString('/127.0.0.1')
      inner.appendArray([...member.topics], (one, topic) => one.appendString(topic), true, false).appendString(null)
      for (let list = 0; list < 2; list++) appendPartitions(inner, cluster, byTopic(member.assigned), true).appendTaggedFields()
    })
    w.appendInt32(0)
  })
  reply(answer.appendTaggedFields())
}

export function commitOffsets({ body, reply }: ClientRequest, broker: SimulatedBroker, cluster: Cluster): void {
  const groupId = body.readString()
  const epoch = body.readInt32()
  const memberId = body.readString()
  body.readNullableString()
  const topics = readOffsets(body)
  const code = codeFrom(() => {
    cluster.checkCoordinator('group', groupId, broker)
    const group = cluster.group(groupId)
    group.checkMember(memberId, epoch, false)
    for (const { name, partitions } of topics)
      for (const { partition, stored } of partitions) group.offsets.set(keyOf(name, partition), stored)
  })
  reply(offsetsAnswer(topics, code))
}

export function fetchOffsets({ body, reply }: ClientRequest, broker: SimulatedBroker, cluster: Cluster): void {
  const groups = body.readArray((entry) => ({
    id: entry.readString(),
    memberId: entry.readNullableString(),
    epoch: entry.readInt32(),
    topics: entry.readArray((topic) => ({ name: topic.readString(), partitions: topic.readArray((p) => p.readInt32(), true, false) })),
  }))
  const requireStable = body.readBoolean()
  const answer = Writer.create().appendInt32(NO_THROTTLE)
  answer.appendArray(groups, (w, { id, memberId, epoch, topics }) => {
    const group = cluster.group(id)
    const code = codeFrom(() => {
      cluster.checkCoordinator('group', id, broker)
      if (memberId !== null) group.checkMember(memberId, epoch, false)
    })
    w.appendString(id).appendArray(code === 0 ? topics : [], (inner, { name, partitions }) => {
      inner.appendString(name).appendArray(partitions, (one, partition) => {
        const key = keyOf(name, partition)
        const stable = !requireStable || group.isStable(key)
        const stored = stable ? group.offsets.get(key) : undefined
        one
          .appendInt32(partition)
          .appendInt64(BigInt(stored?.offset ?? NO_OFFSET))
          .appendInt32(stored?.leaderEpoch ?? NO_EPOCH)
        one.appendString(stored?.metadata ?? '').appendInt16(stable ? 0 : codeOf('UNSTABLE_OFFSET_COMMIT'))
      })
    })
    w.appendInt16(code)
  })
  reply(answer.appendTaggedFields())
}
