import type { Serdes } from '../../../kafka/serdes.ts'
import { type Fetcher, type MemberlessGroup, partitionKey, type TopicPartition, type Transport } from '../../../kafka/transport.ts'
import type { AnyTopic } from '../../../schemas/topic.ts'
import { type Lane, type LaneDeps, openLane } from './lane.ts'
import { ownershipCheck } from './ownership.ts'
import { partitionQueue } from './queue.ts'
import type { SinkSeat } from './sink-group.ts'
import type { PartitionFacts } from './target.ts'

/** The dependencies that all lanes of a sink share. */
export interface LaneFactoryDeps extends Pick<LaneDeps, 'target' | 'metrics' | 'runtime' | 'deadLetters'> {
  readonly topics: readonly AnyTopic[]
  readonly transport: Transport
  readonly fetcher: Fetcher
  /** Stores the sink's offsets. */
  readonly group: MemberlessGroup
  readonly seat: SinkSeat
  readonly serdes: Serdes
}

/** Creates the lanes of one sink. */
export function laneFactory(deps: LaneFactoryDeps): (partition: TopicPartition) => Lane {
  const { topics, transport, group, seat, serdes, ...shared } = deps
  const byName = new Map(topics.map((topic) => [topic.name, topic]))
  const refuseIfOwnedElsewhere = ownershipCheck(group)

  async function factsOf(partition: TopicPartition): Promise<PartitionFacts> {
    const key = partitionKey(partition.topic, partition.partition)
    await refuseIfOwnedElsewhere(partition)
    const [starts, ends, committed] = await Promise.all([
      transport.offsets([partition], 'earliest'),
      transport.offsets([partition], 'end'),
      group.committed([partition]),
    ])
    return { start: starts.get(key) ?? 0, end: ends.get(key) ?? 0, committed: committed.get(key) }
  }

  async function confirmOwnership(partition: TopicPartition): Promise<void> {
    await Promise.all([seat.confirmMembership(), refuseIfOwnedElsewhere(partition)])
  }

  return (partition) => {
    const topic = byName.get(partition.topic) as AnyTopic
    const value = serdes.codecFor(topic)
    return openLane(partition, {
      ...shared,
      factsOf,
      confirmOwnership,
      newQueue: (isMissing) => partitionQueue({ key: topic.key, value, isMissing }),
      loadSchema: serdes.schemas.load,
    })
  }
}
