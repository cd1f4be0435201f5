import type { Serdes } from '../../../kafka/serdes.ts'
import { type MemberlessGroup, partitionKey, type TopicPartition, type Transport } from '../../../kafka/transport.ts'
import type { AnyTopic } from '../../../schemas/topic.ts'
import { ownershipCheck } from './ownership.ts'
import { type PartitionQueue, partitionQueue } from './queue.ts'
import type { SinkSeat } from './sink-group.ts'
import type { PartitionFacts } from './target.ts'

export interface LaneToolsDeps {
  readonly transport: Transport
  /** Stores the sink's offsets. */
  readonly group: MemberlessGroup
  readonly seat: SinkSeat
  readonly serdes: Serdes
}

/** The functions of a sink that the lanes of one topic use. */
export interface LaneTools {
  readonly newQueue: (isMissing: (schemaId: number) => boolean) => PartitionQueue
  readonly factsOf: (partition: TopicPartition) => Promise<PartitionFacts>
  /**
   * Checks that this process owns the partition.
   * @throws FencedError when the membership is lost; OwnedElsewhereError when a process with an earlier version of the
   * sink owns the partition
   */
  readonly confirmOwnership: (partition: TopicPartition) => Promise<void>
  /**
   * Returns the offset at which the batches of a leader epoch and of all earlier epochs end; see `Transport.epochEnds`.
   */
  readonly epochEnd: (partition: TopicPartition, leaderEpoch: number) => Promise<number>
  /**
   * Returns the offset of the first record whose timestamp is `since` (epoch ms) or later; undefined if there is none.
   */
  readonly offsetSince: (partition: TopicPartition, since: number) => Promise<number | undefined>
  readonly loadSchema: (schemaId: number) => Promise<'loaded' | 'not-found'>
}

/** Returns a function that creates the tools for the lanes of a topic. */
export function laneTools({ transport, group, seat, serdes }: LaneToolsDeps): (topic: AnyTopic) => LaneTools {
  const refuseIfOwnedElsewhere = ownershipCheck(group)

  async function factsOf(partition: TopicPartition): Promise<PartitionFacts> {
    const key = partitionKey(partition.topic, partition.partition)
    await refuseIfOwnedElsewhere(partition)
    const [starts, committed, ids] = await Promise.all([
      transport.offsets([partition], 'earliest'),
      group.committed([partition]),
      transport.topicIds([partition.topic]),
    ])
    const readEnd = async () => (await transport.offsets([partition], 'end')).get(key) ?? 0
    // The end is read last. Otherwise, an offset that is committed in the meantime could appear to be beyond the end of
    // the log.
    const end = await readEnd()
    const isBeyondEnd = async (offset: number) => offset > end && offset > (await readEnd())
    return { start: starts.get(key) ?? 0, end, committed: committed.get(key), topicId: ids.get(partition.topic) ?? '', isBeyondEnd }
  }

  async function confirmOwnership(partition: TopicPartition): Promise<void> {
    await Promise.all([seat.confirmMembership(), refuseIfOwnedElsewhere(partition)])
  }

  async function epochEnd(partition: TopicPartition, leaderEpoch: number): Promise<number> {
    const ends = await transport.epochEnds([{ ...partition, leaderEpoch }])
    return ends.get(partitionKey(partition.topic, partition.partition)) as number
  }

  async function offsetSince(partition: TopicPartition, since: number): Promise<number | undefined> {
    const found = await transport.offsetsSince([partition], since)
    return found.get(partitionKey(partition.topic, partition.partition))
  }

  return (topic) => {
    const value = serdes.codecFor(topic)
    return {
      factsOf,
      confirmOwnership,
      epochEnd,
      offsetSince,
      newQueue: (isMissing) => partitionQueue({ key: topic.key, value, isMissing }),
      loadSchema: serdes.schemas.load,
    }
  }
}
