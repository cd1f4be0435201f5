import type { Fetcher, FetcherOptions } from './transport/fetcher.ts'
import type { GroupMember, GroupOptions, MemberlessGroup } from './transport/group.ts'
import type { TopicPartition } from './transport/partitions.ts'
import type { ProducerOptions, WorkerProducer } from './transport/producer.ts'
import type { Publisher, PublisherOptions } from './transport/publisher.ts'
import type { EpochQuery } from './transport/records.ts'
import type { TopicSpec } from './transport/topics.ts'

/**
 * The transport interface hides the Kafka protocol. It has two adapters: a real client (kafka/client) and an in-memory
 * broker (kafka/memory).
 *
 * Fetchers and group members enqueue the data and events that they receive. The loop that owns the state polls for them
 * (`poll`, `takeEvent`). The few callbacks only wake that loop or report results. Offsets and timestamps are plain
 * numbers (exact up to 2^53).
 */

export { FencedError, ReplacedError, recordTooLarge, TransportError } from './transport/errors.ts'
export type { Fetcher, FetcherOptions, OffsetReset, ReaderReset, UnreadableBatches } from './transport/fetcher.ts'
export type {
  CommittedOffset,
  GroupEvent,
  GroupMember,
  GroupOptions,
  GroupPeer,
  MemberlessGroup,
  OffsetToCommit,
} from './transport/group.ts'
export { partitionKey, type TopicPartition } from './transport/partitions.ts'
export {
  COMPRESSIONS,
  type CommitStep,
  type Compression,
  type ProducerOptions,
  type RecordAppender,
  type WorkerProducer,
} from './transport/producer.ts'
export type { PublishAppender, Publisher, PublisherOptions, Receipt } from './transport/publisher.ts'
export {
  type EpochQuery,
  type PartitionData,
  type RecordChunk,
  type RecordFields,
  type RecordHeader,
  UNKNOWN_LEADER_EPOCH,
} from './transport/records.ts'
export type { TopicSpec } from './transport/topics.ts'

export interface Transport {
  /**
   * Rejects with UNSUPPORTED_BROKER for brokers that do not enable KIP-848 groups, or do not support a request of the
   * transport (for example because they are older than Kafka 4.0). Rejects with BROKERS_UNREACHABLE if no broker
   * answers.
   */
  connect(): Promise<void>
  /**
   * Creates missing topics, and waits until the leaders of all partitions of the given topics answer. Rejects if an
   * existing topic has a different number of partitions.
   */
  ensureTopics(topics: readonly TopicSpec[]): Promise<void>
  /**
   * Applies the declared configuration to existing topics.
   * @throws TransportError when the broker refuses, for example because the client may not change topics
   */
  configureTopics(topics: readonly TopicSpec[]): Promise<void>
  /** Returns the partition counts of existing topics. Topics that do not exist are absent from the map. */
  partitionCounts(topics: readonly string[]): Promise<Map<string, number>>
  /** Returns the ids of existing topics. A topic that was deleted and created again has a different id. */
  topicIds(topics: readonly string[]): Promise<Map<string, string>>
  /**
   * Returns the maximum size of a record batch in each topic, in bytes: the topic's `max.message.bytes`, or the
   * broker's default if the topic does not set it. Topics that the broker refuses to describe are absent from the map,
   * for example because the user may not read their configuration.
   */
  maxBatchBytes(topics: readonly string[]): Promise<Map<string, number>>
  /**
   * Returns offsets, keyed by `partitionKey`. `end` is the high watermark (isolation level 0), never the last stable
   * offset. For a partition with a leader epoch, waits for a leader of this or a later epoch.
   */
  offsets(
    partitions: readonly (TopicPartition & Partial<Pick<EpochQuery, 'leaderEpoch'>>)[],
    at: 'earliest' | 'end',
  ): Promise<Map<string, number>>
  /**
   * Returns the offset of the first record of each partition whose timestamp is `since` (epoch ms) or later, keyed by
   * `partitionKey`. Partitions without such a record are absent from the map. Includes records of open transactions and
   * transaction markers, which have the broker's time.
   */
  offsetsSince(partitions: readonly TopicPartition[], since: number): Promise<Map<string, number>>
  /**
   * Returns the offset at which the batches of a leader epoch and of all earlier epochs end. The results are keyed by
   * `partitionKey`. If a copy of the log has records of these epochs beyond that offset, the log has lost them. The
   * offset is -1 when all epochs of the log are earlier. Waits for a leader of this epoch or a later one, because an
   * earlier leader cannot tell where this epoch ends.
   */
  epochEnds(queries: readonly EpochQuery[]): Promise<Map<string, number>>
  /**
   * Returns the latest leader epoch of the partition that the metadata or a caller (of `assign`, `offsets` or
   * `epochEnds`) has named; -1 when it is unknown.
   */
  leaderEpoch(topic: string, partition: number): number
  fetcher(options?: FetcherOptions): Fetcher
  groupMember(options: GroupOptions): GroupMember
  memberlessGroup(groupId: string): MemberlessGroup
  producer(options: ProducerOptions): WorkerProducer
  publisher(options?: PublisherOptions): Publisher
  /**
   * Aborts transactions that dead producers left open, so that read_committed consumers do not have to wait for the
   * timeout. This fences the transactional ids of those producers.
   * @param prefix only transactional ids with this prefix are considered
   * @param abandoned receives the ids that have an open transaction, and returns those whose producers are gone
   * @returns the ids whose transactions were aborted. If a broker does not answer, the transactions that it coordinates
   * end when they time out
   */
  endTransactions(prefix: string, abandoned: (ids: readonly string[]) => Promise<readonly string[]>): Promise<string[]>
  close(): Promise<void>
}
