import type { GroupOptions, TopicPartition } from '../transport.ts'
import type { Cluster } from './cluster.ts'
import type { Coordinator } from './coordinator.ts'
import { Disconnected } from './errors.ts'
import type { OwnedPartitions } from './kept-session.ts'
import { consumerGroupHeartbeatV1 } from './protocol.ts'

/** The rebalance timeout that means "unchanged since the last heartbeat". */
const UNCHANGED_TIMEOUT = -1
/** Default time that a member may take to give up revoked partitions (Kafka's default for max.poll.interval.ms). */
const REBALANCE_TIMEOUT_MS = 300_000

type Answer = Awaited<ReturnType<typeof consumerGroupHeartbeatV1.api.async>>

/**
 * Sends the heartbeats of a member. Translates between topic names and topic ids, because the protocol identifies
 * topics by id.
 * @param topics returns the topics that the member currently subscribes to
 */
export function heartbeatExchange(
  cluster: Cluster,
  coordinator: Coordinator,
  options: Omit<GroupOptions, 'topics'>,
  topics: () => readonly string[],
) {
  /**
   * The ids of the topics in the assignments so far, keyed by name. The reports must not depend on the metadata,
   * because metadata from a broker that has fallen behind may lack a topic id. The coordinator may give all partitions
   * that are missing from a report to other members.
   */
  const assignedIds = new Map<string, string>()

  /**
   * Sends one heartbeat.
   * @param full true to send all fields; false to send only the given ones. All fields are necessary when the member
   * joins, and when the coordinator may not have received them
   * @param owned the owned partitions; undefined when unchanged
   * @param notice undefined when unchanged. The notice is sent as the rack id: it is the only text that a member can
   * change, and the assignors of KIP-848 ignore racks.
   */
  async function send(
    member: { id: string; epoch: number },
    full: boolean,
    owned: readonly TopicPartition[] | undefined,
    notice?: string,
  ): Promise<Answer> {
    return coordinator.send(
      consumerGroupHeartbeatV1.api,
      options.groupId,
      member.id,
      member.epoch,
      null,
      notice ?? null,
      full ? (options.rebalanceTimeoutMs ?? REBALANCE_TIMEOUT_MS) : UNCHANGED_TIMEOUT,
      full ? [...topics()] : null,
      null,
      full ? (options.assignor ?? 'range') : null,
      owned === undefined ? null : topicIds(owned),
    )
  }

  /** Groups the partitions by topic id. Leaves out topics that were never assigned. */
  function topicIds(partitions: readonly TopicPartition[]): OwnedPartitions[] {
    const known = partitions.filter(({ topic }) => assignedIds.has(topic))
    return [...Map.groupBy(known, ({ topic }) => topic)].map(([topic, entries]) => ({
      topicId: assignedIds.get(topic) as string,
      partitions: entries.map(({ partition }) => partition),
    }))
  }

  /**
   * Returns the assignment in a response; undefined if the response contains none.
   * @throws Disconnected while the metadata of an assigned topic is unknown
   */
  async function partitionsOf({ assignment }: Answer): Promise<TopicPartition[] | undefined> {
    if (assignment === null) return undefined
    const partitions: TopicPartition[] = []
    for (const { topicId, partitions: numbers } of assignment.topicPartitions) {
      if (cluster.topicName(topicId) === undefined) await cluster.refresh(topics())
      const topic = cluster.topicName(topicId)
      // The topic was created a moment ago, and the broker that answered has no metadata about it yet.
      if (topic === undefined) throw new Disconnected(`no metadata yet for topic id ${topicId}`)
      assignedIds.set(topic, topicId)
      for (const partition of numbers) partitions.push({ topic, partition })
    }
    return partitions
  }

  return { send, partitionsOf, topicIds }
}
