import { type OffsetToCommit, UNKNOWN_LEADER_EPOCH } from '../transport.ts'
import { getOrAdd } from './get-or-add.ts'

interface TopicOffsets {
  name: string
  partitions: { partitionIndex: number; committedOffset: bigint; committedLeaderEpoch: number; committedMetadata: string | null }[]
}

/** Groups offsets by topic, as OffsetCommit and TxnOffsetCommit expect them. */
export function offsetTopics(offsets: Iterable<OffsetToCommit>): TopicOffsets[] {
  const topics = new Map<string, TopicOffsets>()
  for (const { topic, partition, offset, metadata, leaderEpoch = UNKNOWN_LEADER_EPOCH } of offsets) {
    getOrAdd(topics, topic, () => ({ name: topic, partitions: [] })).partitions.push({
      partitionIndex: partition,
      committedOffset: BigInt(offset),
      committedLeaderEpoch: leaderEpoch,
      committedMetadata: metadata ?? null,
    })
  }
  return [...topics.values()]
}
