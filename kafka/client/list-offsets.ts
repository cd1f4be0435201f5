import { type EpochQuery, partitionKey, type TopicPartition, UNKNOWN_LEADER_EPOCH } from '../transport.ts'
import { askLeaders, type LeaderAnswer } from './ask-leaders.ts'
import type { Cluster } from './cluster.ts'
import { ask } from './connections.ts'
import type { Context } from './options.ts'
import { type Connection, listOffsetsV9 } from './protocol.ts'

const TIMESTAMPS = { earliest: -2n, end: -1n } as const
/** The broker's answer for a partition that has no record at the given time or later. */
const NO_RECORD = -1
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
  return askForTime(context, cluster, partitions, TIMESTAMPS[at], signal)
}

/** Returns the offset of the first record whose timestamp is `since` (epoch ms) or later; see `Transport`. */
export async function listOffsetsSince(
  context: Context,
  cluster: Cluster,
  partitions: readonly TopicPartition[],
  since: number,
): Promise<Map<string, number>> {
  // Negative times have other meanings in this request.
  const found = await askForTime(context, cluster, partitions, BigInt(Math.max(0, Math.ceil(since))))
  for (const [key, offset] of found) if (offset === NO_RECORD) found.delete(key)
  return found
}

function askForTime(
  context: Context,
  cluster: Cluster,
  partitions: readonly (TopicPartition & Partial<Pick<EpochQuery, 'leaderEpoch'>>)[],
  timestamp: bigint,
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
          timestamp,
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
