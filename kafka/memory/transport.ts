import {
  type CommittedOffset,
  type GroupMember,
  type GroupOptions,
  partitionKey,
  type TopicPartition,
  type Transport,
} from '../transport.ts'
import type { MemoryBroker } from './broker.ts'
import { memoryFetcher } from './fetcher.ts'
import { memoryProducer } from './producer.ts'
import { memoryPublisher } from './publisher.ts'

/** The leader epoch of every partition. It is constant, because no partition ever changes its leader. */
const FIRST_EPOCH = 0

/** Creates a transport that uses an in-memory broker, so that engine workers can run without a real broker. */
export function memoryTransport(broker: MemoryBroker): Transport {
  return {
    async connect() {},
    async ensureTopics(topics) {
      for (const spec of topics) broker.createTopic(spec)
    },
    async configureTopics() {},
    async partitionCounts(topics) {
      const counts = topics.map((topic): [string, number | undefined] => [topic, broker.partitionCount(topic)])
      return new Map(counts.filter((entry): entry is [string, number] => entry[1] !== undefined))
    },
    async topicIds(topics) {
      const ids = topics.map((topic): [string, string | undefined] => [topic, broker.topicId(topic)])
      return new Map(ids.filter((entry): entry is [string, string] => entry[1] !== undefined))
    },
    maxBatchBytes: async (topics) => new Map(topics.map((topic) => [topic, broker.maxBatchBytes(topic)])),
    async offsets(partitions, at) {
      return new Map(
        partitions.map(({ topic, partition }) => {
          const log = broker.log(topic, partition)
          return [partitionKey(topic, partition), at === 'end' ? log.endOffset : log.startOffset]
        }),
      )
    },
    async offsetsSince(partitions, since) {
      const found = partitions.map(({ topic, partition }): [string, number | undefined] => [
        partitionKey(topic, partition),
        broker.log(topic, partition).offsetSince(since),
      ])
      return new Map(found.filter((entry): entry is [string, number] => entry[1] !== undefined))
    },
    // In-memory logs never lose their last records, so every epoch ends at the end of the log.
    epochEnds: async (queries) =>
      new Map(queries.map(({ topic, partition }) => [partitionKey(topic, partition), broker.log(topic, partition).endOffset])),
    leaderEpoch: () => FIRST_EPOCH,
    fetcher: (options) => memoryFetcher(broker, options),
    groupMember: (options) => memoryGroupMember(broker, options),
    memberlessGroup: (groupId) => ({
      groupId,
      committed: async (partitions) => committedOf(broker, groupId, partitions),
      commit: async (offsets) => broker.groups.commit(groupId, undefined, offsets.values()),
      members: async () => broker.groups.peers(groupId),
      async close() {},
    }),
    producer: (options) => memoryProducer(broker, options),
    publisher: () => memoryPublisher(broker),
    // A commit writes the whole transaction at once, so there are no open transactions.
    endTransactions: async () => [],
    async close() {},
  }
}

function memoryGroupMember(broker: MemoryBroker, options: GroupOptions): GroupMember {
  const { groupId, memberId, address } = options
  const { groups } = broker
  let { topics } = options
  let life = 0
  let notice: string | undefined

  async function join(): Promise<void> {
    life = groups.join(groupId, memberId, topics, address)
    groups.announce(groupId, memberId, notice, life)
  }

  return {
    groupId,
    memberId,
    get epoch() {
      return groups.epoch(groupId, memberId)
    },
    stalls: 0,
    join,
    members: async () => groups.peers(groupId),
    takeEvent: () => groups.takeEvent(groupId, memberId, life),
    acknowledge: (owned) => groups.acknowledge(groupId, memberId, owned, life),
    rejoin: join,
    subscribe(to) {
      topics = to
      groups.subscribe(groupId, memberId, topics, life)
    },
    announce(text) {
      notice = text
      groups.announce(groupId, memberId, notice, life)
    },
    async heartbeat() {
      groups.check(groupId, memberId)
    },
    async confirm() {
      groups.check(groupId, memberId)
    },
    committed: async (partitions) => committedOf(broker, groupId, partitions),
    async commit(offsets) {
      groups.commit(groupId, memberId, offsets.values())
    },
    async leave({ keepPlace = false } = {}) {
      if (!keepPlace) groups.leave(groupId, memberId)
    },
  }
}

function committedOf(broker: MemoryBroker, groupId: string, partitions: readonly TopicPartition[]): Map<string, CommittedOffset> {
  const stored = broker.groups.committed(groupId)
  const keys = partitions.map(({ topic, partition }) => partitionKey(topic, partition))
  return new Map(keys.flatMap((key) => (stored.has(key) ? [[key, stored.get(key)!] as const] : [])))
}
