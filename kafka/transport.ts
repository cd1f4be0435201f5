/**
 * The transport interface hides the Kafka protocol. It has two adapters: a real client (kafka/client) and an in-memory
 * broker (kafka/memory).
 *
 * The parts of a transport enqueue the data and events that they receive. The loop that owns the state polls for them
 * (`poll`, `takeEvent`). The few callbacks only wake that loop or report results. Offsets and timestamps are plain
 * numbers (exact up to 2^53).
 */

/** One partition of one topic. */
export interface TopicPartition {
  readonly topic: string
  readonly partition: number
}

/** Returns `topic-partition` as one string, which is the key of all maps over partitions. */
export function partitionKey(topic: string, partition: number): string {
  return `${topic}-${partition}`
}

/**
 * The records of one or more record batches, as parallel arrays over one buffer instead of an object per record.
 * Entries 0 to count-1 are valid (the arrays may be longer). A start position of -1 means a null key or value. A chunk
 * stays valid as long as it is referenced, because the transport never reuses its buffer.
 */
export interface RecordChunk {
  readonly topic: string
  readonly partition: number
  /** The decompressed bytes to which all positions below refer. */
  readonly buffer: Buffer
  readonly count: number
  /** Absolute offsets in ascending order. Compaction may leave gaps. */
  readonly offsets: Float64Array
  /** Epoch milliseconds. */
  readonly timestamps: Float64Array
  readonly keyStart: Int32Array
  readonly keyEnd: Int32Array
  readonly valueStart: Int32Array
  readonly valueEnd: Int32Array
  /** Position of the varint that counts the headers; -1 when the record has no headers. */
  readonly headerStart: Int32Array
  /**
   * Set when this chunk replaces a batch that cannot be unpacked, and says why. Such a chunk has one record, without
   * key, value and headers, at the offset where the batch begins.
   */
  readonly unreadable?: string
}

export interface RecordHeader {
  readonly key: string
  readonly value: Buffer | null
}

/**
 * All or part of the data that one fetch returned for one partition. It contains only committed data records, in offset
 * order.
 */
export interface PartitionData extends TopicPartition {
  readonly chunks: readonly RecordChunk[]
  /** The offset at which the next data begins, after any control records, aborted records and compaction gaps. */
  readonly nextOffset: number
  /**
   * The epoch of the leader that appended the last batch before `nextOffset`, or a later batch that was fetched with
   * it; -1 or undefined when it is unknown.
   */
  readonly leaderEpoch?: number
  /** The end of the log (isolation level 0) when the broker answered. */
  readonly highWatermark: number
  readonly lastStableOffset: number
  /** Clock reading (epoch ms) before the fetch request was sent. The broker read its log no earlier than this. */
  readonly fetchedAt: number
  /**
   * True when the log had no record at the reader's offset, so that the reset policy moved the reader. Records and
   * tombstones in between are missing.
   */
  readonly wasReset?: boolean
}

/** The leader epoch that means "unknown". A broker that receives it does not check for lost records. */
export const UNKNOWN_LEADER_EPOCH = -1

/**
 * Determines where a reader continues if the log does not have its offset. If the log has lost records that were
 * already read (for example in an unclean leader election), `fail` throws an error, and the other policies continue at
 * the first offset that differs.
 */
export type OffsetReset = 'earliest' | 'latest' | 'fail'

/**
 * The policies of a reader. `rebuild` is for readers that copy a whole log: if the offset is missing or records were
 * lost, they continue at the earliest record, with `wasReset`.
 */
export type ReaderReset = OffsetReset | 'rebuild'

export type UnreadableBatches = 'fail' | 'stand-in'

export interface FetcherOptions {
  /** Default read_committed. */
  readonly isolation?: 'read_committed' | 'read_uncommitted'
  /**
   * How long the broker may wait for new data, in ms, unless its last answer for the same partitions was empty. Default
   * 500.
   */
  readonly maxWaitMs?: number
  /**
   * Returns how long the broker may wait for new data after an empty response. The fetcher calls the function before
   * the next request and limits its result to the range from `maxWaitMs` to 15 s. A reader that needs regular answers
   * about idle partitions returns the time until it needs the next answer. Default 5 s, or `maxWaitMs` if that is
   * given.
   */
  readonly idleWaitMs?: () => number
  /**
   * How long the next request for the same partitions is delayed after a response with little data, in ms, so that more
   * records share a response. After a pause in the input, the first record is still read at once. If this is a
   * function, the fetcher calls it after each response with little data. Default 0.
   */
  readonly collectMs?: number | (() => number)
  /** Maximum bytes of one response. Default 16 MiB. */
  readonly maxBytes?: number
  /** Maximum bytes of one partition in one response. Default 1 MiB. */
  readonly maxPartitionBytes?: number
  /**
   * Maximum bytes that this process buffers before `poll`. Above this limit the fetcher sends no requests. Default 64
   * MiB.
   */
  readonly maxBufferedBytes?: number
  /**
   * How to treat a compressed batch that cannot be unpacked or unpacks to more than 64 MiB. `fail` throws a fatal
   * TransportError at every attempt. `stand-in` returns a chunk with `unreadable` in its place, so that the reader can
   * set it aside and continue. Default `fail`.
   */
  readonly unreadableBatches?: UnreadableBatches
  /**
   * Approximate size of the unpacked records that one `poll` returns. This limit bounds how long a poll blocks the
   * event loop. Default 4 MiB.
   */
  readonly maxPollBytes?: number
}

/** Reads assigned partitions. One fetch per leader is always in flight while the caller processes polled data. */
export interface Fetcher {
  /**
   * Adds a partition at `offset`. If the partition is already assigned, seeks to `offset` and drops the data fetched
   * before.
   * @param leaderEpoch the epoch of the leader that appended the record before `offset`, or a later epoch in which that
   * record was in the log. With this epoch the reader notices when the log has lost records before `offset`.
   */
  assign(partition: TopicPartition, offset: number, reset: ReaderReset, leaderEpoch?: number): void
  unassign(partition: TopicPartition): void
  /** Excludes the partition from further fetches. `poll` returns data that was already fetched only after `resume`. */
  pause(partition: TopicPartition): void
  resume(partition: TopicPartition): void
  /** Returns the offset of the next record that `poll` will return; undefined for a partition that is not assigned. */
  position(partition: TopicPartition): number | undefined
  /**
   * Returns everything that has arrived since the last call. If nothing has arrived, waits up to `timeoutMs`. A
   * partition without new records appears with zero chunks when its position or watermarks have moved, or when the
   * broker has answered a fetch without data. This shows the reader that it has caught up. Throws TransportError with
   * `fatal` for errors that a retry cannot cure (authorization, or an offset out of range with reset `fail`).
   * @param maxBytes approximate maximum of unpacked bytes, if less than `maxPollBytes`. A poll returns at least a few
   * records of one partition, and starts with a different partition each time.
   */
  poll(timeoutMs: number, maxBytes?: number): Promise<PartitionData[]>
  /** Makes a waiting `poll` return at once. */
  wake(): void
  close(): Promise<void>
}

export type GroupEvent =
  /**
   * The target assignment has changed to exactly these partitions. Finish and commit the records of revoked partitions,
   * then `acknowledge`.
   */
  | { readonly type: 'assignment'; readonly partitions: readonly TopicPartition[] }
  /** The membership is lost. Drop uncommitted results, then `rejoin`. */
  | { readonly type: 'fenced'; readonly reason: string }
  /** The membership failed for a reason that a retry cannot cure (authorization, unsupported broker). */
  | { readonly type: 'failed'; readonly error: Error }

export interface GroupOptions {
  readonly groupId: string
  /** A UUID that the worker slot keeps. A member that rejoins with this id gets the same partitions back at once. */
  readonly memberId: string
  /** Receives the member id that replaces a refused one (Kafka 4.0 and 4.1), so that the caller can store it. */
  readonly onMemberId?: (memberId: string) => void
  /** Called when `takeEvent` has an event to return. It can wake a loop that would otherwise check only later. */
  readonly onEvent?: () => void
  readonly topics: readonly string[]
  /** The HTTP address of this process (http://host:port), which the other members can see. */
  readonly address?: string
  /** Server-side assignor. Default `range`. */
  readonly assignor?: string
  readonly rebalanceTimeoutMs?: number
}

/** A group member as its coordinator describes it. */
export interface GroupPeer {
  readonly memberId: string
  /** The address that the member published; undefined when it published no address. */
  readonly address: string | undefined
  /** The partitions that the member owns now. */
  readonly partitions: readonly TopicPartition[]
  /** The topics that the member subscribes to. */
  readonly topics: readonly string[]
  /** The last notice that the member announced; undefined if it has never announced one. */
  readonly notice: string | undefined
}

/** A consumer group with its committed offsets. */
interface GroupOffsets {
  readonly groupId: string
  /**
   * Returns the committed offsets, keyed by `partitionKey`; partitions without a committed offset are absent. Waits
   * while a transaction that includes these offsets is open (require_stable).
   */
  committed(partitions: readonly TopicPartition[]): Promise<Map<string, CommittedOffset>>
  /**
   * Commits offsets outside a transaction, at least once.
   * @throws FencedError when the membership is lost, or when a group that should be empty has a member
   */
  commit(offsets: ReadonlyMap<string, OffsetToCommit>): Promise<void>
  /** Returns all members, sorted by member id. The `range` assignor assigns partitions in this order. */
  members(): Promise<GroupPeer[]>
}

/** A member of a KIP-848 consumer group, which sends heartbeats automatically from `join` to `leave`. */
export interface GroupMember extends GroupOffsets {
  /** The member's id. It changes when the broker refuses the old id at a rejoin (Kafka 4.0 and 4.1). */
  readonly memberId: string
  /** The member epoch from the last heartbeat response. */
  readonly epoch: number
  /** Number of stalls of the event loop that the membership survived because another thread sent the heartbeats. */
  readonly stalls: number
  /**
   * Joins the group. Has no effect after `leave`, so that a member that is stopped during its start does not join
   * again.
   */
  join(): Promise<void>
  /**
   * Returns the next event, or undefined. A new assignment replaces an earlier one that the caller has not taken yet.
   */
  takeEvent(): GroupEvent | undefined
  /**
   * Reports the partitions that the member owns now. Must be called after the results for revoked partitions are
   * committed.
   */
  acknowledge(owned: readonly TopicPartition[]): void
  /**
   * Joins again without owning any partition. Call it after a `fenced` event, or when the producer was fenced and the
   * worker starts over.
   */
  rejoin(): Promise<void>
  /**
   * Sends one heartbeat and reads the member epoch from the answer. Rejects if the membership is lost or the
   * coordinator does not answer.
   */
  heartbeat(): Promise<void>
  /**
   * Resolves at once if the group confirmed the membership recently; otherwise asks the coordinator. Must be called
   * before records are sent outside a transaction. A process that was suspended for longer than its session may have
   * lost its partitions, and only this check prevents it from writing. Rejects with FencedError if the membership is
   * lost.
   */
  confirm(): Promise<void>
  /**
   * Replaces the subscribed topics and informs the coordinator at once. The member keeps its partitions of the topics
   * that it still subscribes to.
   */
  subscribe(topics: readonly string[]): void
  /**
   * Publishes a non-empty short text, which the other members see as `GroupPeer.notice`. It is sent at once if the
   * member has joined.
   */
  announce(notice: string): void
  /**
   * Leaves the group, so that the coordinator reassigns the partitions at once. With `keepPlace` the member stops
   * without leaving: a process that joins with the same member id before the session times out gets the same
   * partitions.
   */
  leave(options?: { readonly keepPlace?: boolean }): Promise<void>
}

/**
 * The committed offsets of a group without members. Kafka accepts commits for this kind of group from any client, so
 * the caller must ensure that no other process commits.
 */
export interface MemberlessGroup extends GroupOffsets {
  close(): Promise<void>
}

export interface OffsetToCommit extends TopicPartition {
  /** The offset of the next record to read. */
  readonly offset: number
  /**
   * The metadata of the commit. The client reads this property just before it sends the offset. If a leader changes
   * during the commit of a transaction, the client reads the property and sends the offset again, once all records of
   * the transaction are acknowledged.
   */
  readonly metadata?: string | undefined
  /** See `PartitionData.leaderEpoch`. */
  readonly leaderEpoch?: number
}

/** The offset and metadata that the group has stored for a partition. */
export interface CommittedOffset {
  readonly offset: number
  /** The metadata from `OffsetToCommit`, or an empty string. The engine stores the task's event time here. */
  readonly metadata: string
  /** The leader epoch from `OffsetToCommit`; undefined when there is none. */
  readonly leaderEpoch?: number
}

/**
 * A query for the end of a leader epoch in a partition's log: the offset at which the batches of this and all earlier
 * epochs end.
 */
export interface EpochQuery extends TopicPartition {
  readonly leaderEpoch: number
}

/** A record to append, with the slices of the buffers that contain its key and value. */
export type RecordFields = [
  timestamp: number,
  key: Uint8Array | null,
  keyStart: number,
  keyEnd: number,
  value: Uint8Array | null,
  valueStart: number,
  valueEnd: number,
  headers?: readonly RecordHeader[],
]

/**
 * The growing record batches of one partition in the open transaction. The producer uses the same appender for all
 * transactions.
 */
export interface RecordAppender extends TopicPartition {
  /**
   * Appends one record and copies its bytes. Pass null for a null key or value.
   * @param timestamp epoch ms
   * @throws TransportError `MESSAGE_TOO_LARGE` when the topic would refuse the record. In that case nothing is
   * appended, and the transaction can continue.
   */
  append(...record: RecordFields): void
  /** Number of records that were appended and are not committed yet. */
  readonly pendingRecords: number
}

/** The compression codecs of record batches, in the order of their numbers in the attributes. */
export const COMPRESSIONS = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const
export type Compression = (typeof COMPRESSIONS)[number]

export interface ProducerOptions {
  /**
   * The transactional id, which is stable per worker slot. Undefined creates an idempotent producer without
   * transactions (at least once).
   */
  readonly transactionalId?: string
  /** Default 10 s. */
  readonly transactionTimeoutMs?: number
  /** Default none. */
  readonly compression?: Compression
  /**
   * The largest batch that each topic accepts (`Transport.maxBatchBytes`). If the limit of a topic is missing, only the
   * broker can detect a record that is too large, and the whole transaction then fails.
   */
  readonly maxBatchBytes?: ReadonlyMap<string, number>
  /** Called synchronously when `commit` completes a step. Crash tests kill the process in this callback. */
  readonly onCommitStep?: (step: CommitStep) => void
}

/**
 * - `produced`: the brokers have acknowledged every record of the transaction
 * - `offsets-added`: the group coordinator has accepted the offsets
 * - `committed`: the coordinator has answered EndTxn
 *
 * A producer that runs the first two steps in parallel may report them together, before it sends EndTxn.
 */
export type CommitStep = 'produced' | 'offsets-added' | 'committed'

/**
 * The producer of a worker. The first append or commit opens a transaction. Appending is synchronous and only buffers;
 * `flushFull` may send full batches early.
 */
export interface WorkerProducer {
  /**
   * Sends InitProducerId, which fences every earlier producer with the same transactional id. Call it before the first
   * heartbeat, and again after a fence.
   * @throws ReplacedError if it is called again after another producer has initialised the same id
   */
  init(): Promise<void>
  appender(topic: string, partition: number): RecordAppender
  /** Bytes that were appended and are not acknowledged yet. */
  readonly pendingBytes: number
  /**
   * Sends the batches that are full or large enough for a request. Resolves when they are acknowledged. Call it from
   * time to time during a long transaction, without awaiting every call. The calls bound the memory, and let the broker
   * work while the caller processes records.
   */
  flushFull(): Promise<void>
  /**
   * Sends everything, adds `offsets` with the member's group metadata (KIP-447) and ends the transaction. Resolves when
   * the transaction is committed, and retries all retriable errors. Only one commit can run at a time.
   *
   * Records that are appended after the call belong to the next transaction. The producer holds them back until the
   * current transaction has ended, and `abort` drops them too.
   *
   * Throws FencedError when the broker has fenced the producer or the member, or has abandoned the transaction. In that
   * case nothing of the transaction is or will be committed.
   *
   * Without a transactional id, `commit` sends everything and then commits the offsets through the member.
   *   @returns for every appended partition the next offset after the records of this transaction (`partitionKey` →
   *   offset)
   */
  commit(offsets: ReadonlyMap<string, OffsetToCommit>, member: GroupMember | undefined): Promise<Map<string, number>>
  /** Drops everything that is not committed. Do not call it while a commit is running. */
  abort(): Promise<void>
  close(): Promise<void>
}

export interface PublisherOptions {
  /**
   * Minimum time between requests to the same broker, in milliseconds. If the last request is older than this, a record
   * is sent at once; records that arrive sooner share the next request. Default 0: a record waits only while five
   * requests to its broker are unanswered.
   */
  readonly spacingMs?: number
  /**
   * How long a request may stay unanswered before its connection is closed and the batch is sent again. Default: the
   * request timeout of the transport.
   */
  readonly requestTimeoutMs?: number
  /** Maximum number of bytes that wait or are in flight. `append` throws above this limit. Default 32 MiB. */
  readonly maxPendingBytes?: number
}

/** Reports the outcome of every appended record exactly once and, within one partition, in the order of the appends. */
export interface Receipt {
  /**
   * Time limit of the record in milliseconds after the append, on the monotonic clock. A record that is not
   * acknowledged in time fails with code `TIMED_OUT`. After that it is not sent, unless an earlier request may already
   * have contained it.
   * @default no deadline: the record waits for its broker without a limit
   */
  readonly timeoutMs?: number
  /**
   * Must not throw.
   * @param count consecutive records that share this receipt
   * @param error undefined when every in-sync replica has the records. If `error.fatal` is true, the broker refused the
   * records and they are not in the log. If it is false, the records timed out or the publisher was closed, and they
   * may be in the log.
   */
  settled(count: number, error: TransportError | undefined): void
}

/** Accepts the records of one partition. Callers request an appender once and keep it. */
export interface PublishAppender extends TopicPartition {
  /**
   * Appends one record to the partition's next batch and copies its bytes. Pass null for a null key or value.
   * @param timestamp epoch ms
   * @throws TransportError `BUFFER_FULL`, `MESSAGE_TOO_LARGE` or `CLOSED`; in that case the receipt is not called
   */
  append(receipt: Receipt, ...record: RecordFields): void
}

/**
 * Publishes single records and acknowledges each of them. The publisher is idempotent and keeps the order within a
 * partition, without transactions. It pipelines up to five requests per broker. Each record is written once, even when
 * answers are lost, brokers restart or leaders move. If the broker refuses a record, only that record fails.
 */
export interface Publisher {
  appender(topic: string, partition: number): PublishAppender
  /** Number of records that have been neither acknowledged nor reported as failed. */
  readonly pendingRecords: number
  readonly pendingBytes: number
  /**
   * Accepts no more records, waits up to `timeoutMs` (default 2 s) for pending records, and fails the remaining ones
   * with code `CLOSED`.
   */
  close(timeoutMs?: number): Promise<void>
}

/** The required properties of a topic. `ensureTopics` creates the topic if it is missing. */
export interface TopicSpec {
  readonly name: string
  readonly partitions: number
  readonly replicationFactor?: number
  /** Broker topic configuration, e.g. `cleanup.policy`. */
  readonly config?: Readonly<Record<string, string>>
  /**
   * True if this configuration is necessary to erase records in time. Provisioning then also sets it for existing
   * topics.
   */
  readonly erases?: boolean
}

export interface Transport {
  /** Rejects with UNSUPPORTED_BROKER for brokers older than Kafka 4.0. */
  connect(): Promise<void>
  /**
   * Creates missing topics and waits until their leaders answer. Rejects if an existing topic has a different number of
   * partitions.
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
   * Returns the largest record batch, in bytes, that each topic accepts: its `max.message.bytes`, or the broker's
   * default if the topic has no value of its own. Topics whose configuration the user may not read are absent from the
   * map.
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
   * Returns, keyed by `partitionKey`, the offset at which the batches of a leader epoch and of all earlier epochs end.
   * State that was copied from records beyond that offset contains records that the log has lost. The offset is -1 when
   * the log contains only later epochs. Waits for a leader of this epoch or a later one, because a leader from before
   * the epoch does not know where it ends.
   */
  epochEnds(queries: readonly EpochQuery[]): Promise<Map<string, number>>
  /** Returns the latest leader epoch of the partition that any metadata or offset has named; -1 when it is unknown. */
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
   * @returns the ids whose transactions were aborted; if a broker does not answer, its transactions end by the timeout
   */
  endTransactions(prefix: string, abandoned: (ids: readonly string[]) => Promise<readonly string[]>): Promise<string[]>
  close(): Promise<void>
}

/**
 * Thrown when the broker has fenced this producer or member, because another producer or member has replaced it.
 * Uncommitted work of the fenced producer or member will never be committed.
 */
export class FencedError extends Error {
  override readonly name = 'FencedError'
}

/**
 * Thrown when another process has initialised the same transactional id after this one. If this process initialised the
 * id again, it would only fence the other process.
 */
export class ReplacedError extends Error {
  override readonly name = 'ReplacedError'
}

/** Thrown for any other failure of the transport. `fatal` means that a retry cannot succeed. */
export class TransportError extends Error {
  override readonly name = 'TransportError'
  readonly code: string
  readonly fatal: boolean
  constructor(code: string, message: string, options: { fatal: boolean; cause?: unknown }) {
    super(message, { cause: options.cause })
    this.code = code
    this.fatal = options.fatal
  }
}
