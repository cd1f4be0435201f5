import { type EpochQuery, partitionKey, UNKNOWN_LEADER_EPOCH } from '../transport.ts'
import { askLeaders, type LeaderAnswer } from './ask-leaders.ts'
import type { Cluster } from './cluster.ts'
import { ask } from './connections.ts'
import type { Context } from './options.ts'
import { type Connection, offsetForLeaderEpochV4 } from './protocol.ts'

const NOT_A_FOLLOWER = -1

/**
 * Returns the end offset of each queried leader epoch in its partition's log, keyed by `partitionKey`. The offset is -1
 * when all epochs of the log are earlier.
 */
export function epochEnds(context: Context, cluster: Cluster, queries: readonly EpochQuery[]): Promise<Map<string, number>> {
  // A leader of an earlier epoch would answer that the log does not contain this epoch, so the cluster must ignore
  // leaders of earlier epochs.
  for (const { topic, partition, leaderEpoch } of queries) cluster.sawEpoch(topic, partition, leaderEpoch)

  async function askOne(connection: Connection, asked: readonly EpochQuery[]): Promise<Map<string, LeaderAnswer>> {
    const topics = Map.groupBy(asked, ({ topic }) => topic)
    const answer = await ask(
      connection,
      offsetForLeaderEpochV4.api,
      NOT_A_FOLLOWER,
      [...topics].map(([name, entries]) => ({
        name,
        partitions: entries.map(({ partition, leaderEpoch }) => ({
          partitionIndex: partition,
          currentLeaderEpoch: cluster.leader(name, partition)?.epoch ?? UNKNOWN_LEADER_EPOCH,
          leaderEpoch,
        })),
      })),
    )
    const answers = answer.topics.flatMap(({ topic, partitions }) =>
      partitions.map(({ partition, errorCode, endOffset }): [string, LeaderAnswer] => [
        partitionKey(topic, partition),
        { errorCode, offset: Number(endOffset) },
      ]),
    )
    return new Map(answers)
  }

  return askLeaders(context, cluster, queries, 'the end of a leader epoch', askOne)
}
