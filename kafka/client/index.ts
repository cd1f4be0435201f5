import {
  type Fetcher,
  type GroupMember,
  type MemberlessGroup,
  type Publisher,
  type Transport,
  UNKNOWN_LEADER_EPOCH,
  type WorkerProducer,
} from '../transport.ts'
import { endAbandonedTransactions } from './abandoned-transactions.ts'
import { maxBatchBytes } from './batch-limits.ts'
import { openCluster } from './cluster.ts'
import { epochEnds } from './epoch-ends.ts'
import { openFetcher } from './fetcher.ts'
import { openGroupMember } from './group-member.ts'
import { listOffsets, listOffsetsSince } from './list-offsets.ts'
import { openMemberlessGroup } from './memberless-group.ts'
import { type Context, type KafkaDeps, type KafkaOptions, kafkaOptions } from './options.ts'
import { openProducer } from './producer.ts'
import { openPublisher } from './publisher.ts'
import { openStallGuard } from './stall-guard.ts'
import { configureTopics, ensureTopics, partitionCounts, topicIds } from './topics.ts'

export type { KafkaDeps, KafkaOptions } from './options.ts'

/**
 * Opens the transport to a real Kafka cluster (4.0 or newer).
 * @throws ZodError when the options are invalid
 */
export function kafkaTransport(given: KafkaOptions, deps: KafkaDeps): Transport {
  const closing = new AbortController()
  const options = kafkaOptions.parse(given)
  const base: Context = { closing: closing.signal, options, ...deps }
  // Simulated brokers run on the same thread as the client, so a second thread could not reach them while this thread
  // is blocked.
  const guards = options.stallToleranceMs > 0 && deps.newConnection === undefined
  const stallGuard = guards ? openStallGuard(base) : undefined
  const context: Context = { ...base, stallGuard }
  const cluster = openCluster(context)
  const open = new Set<() => Promise<unknown>>()

  /** Registers an object, for example a fetcher, that `close` of the transport closes too if it is still open. */
  function tracked<Part extends Fetcher | WorkerProducer | Publisher | MemberlessGroup>(part: Part): Part {
    const { close } = part
    async function end(timeoutMs?: number): Promise<void> {
      open.delete(end)
      await close(timeoutMs)
    }
    open.add(end)
    return Object.assign(part, { close: end })
  }

  function groupMember(options: Parameters<Transport['groupMember']>[0]): GroupMember {
    const member = openGroupMember(context, cluster, options)
    // If the member has left before the transport is closed, `leave` does nothing.
    open.add(() => member.leave())
    return member
  }

  async function close(): Promise<void> {
    closing.abort()
    await Promise.all([...open].map((end) => end()))
    await stallGuard?.close()
    await cluster.close()
  }

  return {
    connect: cluster.connect,
    ensureTopics: (topics) => ensureTopics(context, cluster, topics),
    configureTopics: (topics) => configureTopics(cluster, topics),
    partitionCounts: (topics) => partitionCounts(context, cluster, topics),
    topicIds: (topics) => topicIds(context, cluster, topics),
    maxBatchBytes: (topics) => maxBatchBytes(context, cluster, topics),
    offsets: (partitions, at) => listOffsets(context, cluster, partitions, at),
    offsetsSince: (partitions, since) => listOffsetsSince(context, cluster, partitions, since),
    epochEnds: (queries) => epochEnds(context, cluster, queries),
    leaderEpoch: (topic, partition) => cluster.latestEpoch(topic, partition) ?? UNKNOWN_LEADER_EPOCH,
    fetcher: (options) => tracked(openFetcher(context, cluster, options)),
    groupMember,
    memberlessGroup: (groupId) => tracked(openMemberlessGroup(context, cluster, groupId)),
    producer: (options) => tracked(openProducer(context, cluster, options)),
    publisher: (options) => tracked(openPublisher(context, cluster, options)),
    endTransactions: (prefix, abandoned) => endAbandonedTransactions(context, cluster, prefix, abandoned),
    close,
  }
}
