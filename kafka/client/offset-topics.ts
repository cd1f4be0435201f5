import type { OffsetToCommit } from '../transport.ts'
import { getOrAdd } from './get-or-add.ts'

/** Omits the leader epoch, so that the next reader does not use it to check for truncation. */
const NO_LEADER_EPOCH = -1

interface TopicOffsets {
  name: string
  partitions: { partitionIndex: number; committedOffset: bigint; committedLeaderEpoch: number; committedMetadata: string | null }[]
}

/** Groups offsets by topic, as OffsetCommit and TxnOffsetCommit expect them. */
export function offsetTopics(offsets: Iterable<OffsetToCommit>): TopicOffsets[] {
  const topics = new Map<string, TopicOffsets>()
  for (const { topic, partition, offset, metadata } of offsets) {
    getOrAdd(topics, topic, () => ({ name: topic, partitions: [] })).partitions.push({
      partitionIndex: partition,
      committedOffset: BigInt(offset),
      committedLeaderEpoch: NO_LEADER_EPOCH,
      committedMetadata: metadata ?? null,
    })
  }
  return [...topics.values()]
}
