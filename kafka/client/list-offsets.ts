import { type EpochQuery, partitionKey, type TopicPartition, UNKNOWN_LEADER_EPOCH } from '../transport.ts'
import { askLeaders, type LeaderAnswer } from './ask-leaders.ts'
import type { Cluster } from './cluster.ts'
import { ask } from './connections.ts'
import type { Context } from './options.ts'
import { type Connection, listOffsetsV9 } from './protocol.ts'

const TIMESTAMPS = { earliest: -2n, end: -1n } as const
const NOT_A_FOLLOWER = -1
/**
 * Isolation level at which the broker returns the high watermark. At level 1 it would return the last stable offset, so
 * a restore could miss the last commit.
 */
const READ_UNCOMMITTED = 0

/** Returns the log start or the high watermark of every partition; see `askLeaders`. */
export function listOffsets(
  context: Context,
  cluster: Cluster,
  partitions: readonly (TopicPartition & Partial<Pick<EpochQuery, 'leaderEpoch'>>)[],
  at: keyof typeof TIMESTAMPS,
  signal?: AbortSignal,
): Promise<Map<string, number>> {
  for (const { topic, partition, leaderEpoch = UNKNOWN_LEADER_EPOCH } of partitions)
    if (leaderEpoch !== UNKNOWN_LEADER_EPOCH) cluster.sawEpoch(topic, partition, leaderEpoch)

  async function askOne(connection: Connection, asked: readonly TopicPartition[]): Promise<Map<string, LeaderAnswer>> {
    const topics = Map.groupBy(asked, ({ topic }) => topic)
    const answer = await ask(
      connection,
      listOffsetsV9.api,
      NOT_A_FOLLOWER,
      READ_UNCOMMITTED,
      [...topics].map(([name, entries]) => ({
        name,
        partitions: entries.map(({ partition }) => ({
          partitionIndex: partition,
          // The broker also accepts -1, which means that the epoch is unknown.
          currentLeaderEpoch: cluster.leader(name, partition)?.epoch ?? UNKNOWN_LEADER_EPOCH,
          timestamp: TIMESTAMPS[at],
        })),
      })),
    )
    const answers = answer.topics.flatMap(({ name, partitions: answered }) =>
      answered.map(({ partitionIndex, errorCode, offset }): [string, LeaderAnswer] => [
        partitionKey(name, partitionIndex),
        { errorCode, offset: Number(offset) },
      ]),
    )
    return new Map(answers)
  }

  return askLeaders(context, cluster, partitions, 'offsets', askOne, signal)
}
