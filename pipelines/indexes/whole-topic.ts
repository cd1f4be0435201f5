import { partitionKey, type TopicPartition } from '../../kafka/transport.ts'
import type { SinkSeat } from '../engine/index.ts'

/**
 * Returns a seat for a sink that reads every partition of a topic and is not part of a consumer group.
 * @param confirm checks that this process may still write
 */
export function wholeTopic(topic: string, partitions: number, confirm: () => Promise<void>): SinkSeat {
  const all: TopicPartition[] = Array.from({ length: partitions }, (_, partition) => ({ topic, partition }))
  const assignment = { number: 1, partitions: new Map(all.map((each) => [partitionKey(topic, each.partition), each])), isFenced: false }
  return {
    take() {},
    assigned: () => assignment,
    settle() {},
    confirmMembership: confirm,
    async leave() {},
  }
}
