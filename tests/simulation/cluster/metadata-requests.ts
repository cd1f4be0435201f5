import { Writer } from '../../../kafka/client/protocol.ts'
import type { ClientRequest } from '../network.ts'
import type { CoordinatorKind, SimulatedBroker } from './broker.ts'
import type { Cluster } from './cluster.ts'
import { NO_LEADER } from './cluster.ts'
import { codeOf } from './errors.ts'

const NO_THROTTLE = 0
const NO_NODE = -1
const DEFAULT_MAX_MESSAGE_BYTES = '1048588'
const COORDINATOR_KINDS: readonly CoordinatorKind[] = ['group', 'transaction']
/** The maximum version that the brokers report for every API. It is higher than any version that clients request. */
const NEWEST = 99
/** The tag of the field with the features that the cluster has enabled. */
const FINALIZED_FEATURES = 2

/** @param keys API keys of the requests that the simulated brokers answer */
export function apiVersions({ reply }: ClientRequest, { transactions }: Cluster, keys: readonly number[]): void {
  const answer = Writer.create().appendInt16(0)
  answer.appendArray([...keys], (w, key) => {
    w.appendInt16(key).appendInt16(0).appendInt16(NEWEST)
  })
  const features = Writer.create().appendArray([transactions.version], (w, version) => {
    w.appendString('transaction.version').appendInt16(version).appendInt16(version)
  })
  answer.appendInt32(NO_THROTTLE).appendUnsignedVarInt(1).appendUnsignedVarInt(FINALIZED_FEATURES)
  reply(answer.appendUnsignedVarInt(features.buffer.length).append(features.buffer))
}

export function metadata({ body, reply }: ClientRequest, broker: SimulatedBroker, cluster: Cluster): void {
  const { brokers, topics } = cluster.knowledgeOf(broker)
  const names = body.readArray((topic) => {
    topic.readUUID()
    return topic.readString()
  })
  const answer = Writer.create().appendInt32(NO_THROTTLE)
  answer.appendArray([...brokers], (w, { nodeId, host, port }) => {
    w.appendInt32(nodeId).appendString(host).appendInt32(port).appendString(null)
  })
  answer.appendString('simulation').appendInt32(1)
  answer.appendArray(names, (w, name) => {
    const topic = topics.get(name)
    w.appendInt16(topic === undefined ? codeOf('UNKNOWN_TOPIC_OR_PARTITION') : 0)
      .appendString(name)
      .appendUUID(topic?.id)
    w.appendBoolean(false).appendArray([...(topic?.logs ?? [])], (inner, { partition, leader, leaderEpoch }) => {
      inner.appendInt16(leader === NO_LEADER ? codeOf('LEADER_NOT_AVAILABLE') : 0)
      inner.appendInt32(partition).appendInt32(leader).appendInt32(leaderEpoch)
      for (let list = 0; list < 3; list++) inner.appendArray([], () => {}, true, false)
    })
    w.appendInt32(0)
  })
  reply(answer.appendTaggedFields())
}

export function findCoordinator({ body, reply }: ClientRequest, broker: SimulatedBroker, cluster: Cluster): void {
  const { coordinator } = cluster.knowledgeOf(broker)
  const kind = COORDINATOR_KINDS[body.readInt8()]
  const keys = body.readArray((key) => key.readString(), true, false)
  const answer = Writer.create().appendInt32(NO_THROTTLE)
  answer.appendArray(keys, (w, key) => {
    const found = coordinator(kind, key)
    w.appendString(key)
      .appendInt32(found?.nodeId ?? NO_NODE)
      .appendString(found?.host ?? '')
    w.appendInt32(found?.port ?? NO_NODE)
      .appendInt16(found ? 0 : codeOf('COORDINATOR_NOT_AVAILABLE'))
      .appendString(null)
  })
  reply(answer.appendTaggedFields())
}

export function createTopics({ body, reply }: ClientRequest, _broker: SimulatedBroker, cluster: Cluster): void {
  const created = body.readArray((topic) => {
    const name = topic.readString()
    const partitions = topic.readInt32()
    topic.readInt16()
    topic.readArray((entry) => {
      entry.readInt32()
      return entry.readArray((inner) => inner.readInt32(), true, false)
    })
    const config = topic.readArray((entry) => [entry.readString(), entry.readNullableString() ?? ''] as const)
    const code = cluster.topics.has(name) ? codeOf('TOPIC_ALREADY_EXISTS') : 0
    const { id, logs } = cluster.topics.get(name) ?? cluster.createTopic(name, partitions, new Map(config))
    return { name, id, code, partitions: logs.length }
  })
  const answer = Writer.create().appendInt32(NO_THROTTLE)
  answer.appendArray(created, (w, { name, id, code, partitions }) => {
    w.appendString(name)
      .appendUUID(id)
      .appendInt16(code)
      .appendString(null)
      .appendInt32(partitions)
      .appendInt16(1)
      .appendArray([], () => {})
  })
  reply(answer.appendTaggedFields())
}

/** Replies with the maximum batch size of each topic. This is the only setting that the client requests. */
export function describeConfigs({ body, reply }: ClientRequest, _broker: SimulatedBroker, cluster: Cluster): void {
  const resources = body.readArray((resource) => {
    const type = resource.readInt8()
    const name = resource.readString()
    return { type, name, keys: resource.readArray((key) => key.readString(), true, false) }
  })
  const answer = Writer.create().appendInt32(NO_THROTTLE)
  answer.appendArray(resources, (w, { type, name, keys }) => {
    const topic = cluster.topics.get(name)
    w.appendInt16(topic === undefined ? codeOf('UNKNOWN_TOPIC_OR_PARTITION') : 0)
      .appendString(null)
      .appendInt8(type)
      .appendString(name)
    w.appendArray(topic === undefined ? [] : keys, (inner, key) => {
      inner
        .appendString(key)
        .appendString(topic?.config.get(key) ?? DEFAULT_MAX_MESSAGE_BYTES)
        .appendBoolean(false)
        .appendInt8(1)
      inner
        .appendBoolean(false)
        .appendArray([], () => {})
        .appendInt8(1)
        .appendString(null)
    })
  })
  reply(answer.appendTaggedFields())
}
