/**
 * The transport: the small interface behind which the Kafka protocol is hidden.
 * Two adapters exist: the real one (kafka/client) and the in-memory one (kafka/memory).
 *
 * Nothing here calls back into its user: every part only enqueues, and the one loop that owns the
 * state asks (`poll`, `takeEvent`). Offsets and timestamps are plain numbers (exact up to 2^53).
 */

/** One partition of one topic. */
export interface TopicPartition {
  readonly topic: string
  readonly partition: number
}

/** `topic-partition` as one string: the key of every map over partitions. */
export function partitionKey(topic: string, partition: number): string {
  return `${topic}-${partition}`
}

/**
 * The records of one record batch, as parallel arrays over one buffer: no object per record.
 * Entries 0..count-1 are valid (the arrays may be longer). A start of -1 means null.
 * A chunk stays valid as long as it is referenced; its buffer is never reused by the transport.
 */
export interface RecordChunk {
  readonly topic: string
  readonly partition: number
  /** Decompressed bytes that all positions below point into. */
  readonly buffer: Buffer
  readonly count: number
  /** Absolute offsets, ascending, possibly with gaps (compaction). */
  readonly offsets: Float64Array
  /** Epoch milliseconds. */
  readonly timestamps: Float64Array
  readonly keyStart: Int32Array
  readonly keyEnd: Int32Array
  readonly valueStart: Int32Array
  readonly valueEnd: Int32Array
  /** Position of the headers' varint count; -1 when the record has no headers. */
  readonly headerStart: Int32Array
}

export interface RecordHeader {
  readonly key: string
  readonly value: Buffer | null
}

/** What one fetch brought of one partition, or a part of it: only committed data records, in offset order. */
export interface PartitionData extends TopicPartition {
  readonly chunks: readonly RecordChunk[]
  /** Where the next data continues: past control records, aborted records and compaction gaps. */
  readonly nextOffset: number
  /** End of the log (isolation 0) when the broker answered. */
  readonly highWatermark: number
  readonly lastStableOffset: number
  /** Clock reading (epoch ms) taken before the fetch request was sent: the log was read no earlier than this. */
  readonly fetchedAt: number
}

export type OffsetReset = 'earliest' | 'latest' | 'fail'

export interface FetcherOptions {
  /** Default read_committed. */
  readonly isolation?: 'read_committed' | 'read_uncommitted'
  /** Longest wait of the broker for new data, ms, unless the last answer about the same partitions was empty. Default 500. */
  readonly maxWaitMs?: number
  /**
   * The same after an empty answer, asked before each such request: at most 5 s or what this returns if that is less, but not less than `maxWaitMs`. A reader
   * to whom silence tells something gives the time until it wants to hear of it. Default 5 s, or `maxWaitMs` if that was given.
   */
  readonly idleWaitMs?: () => number
  /** Bytes of one response. Default 16 MiB. */
  readonly maxBytes?: number
  /** Bytes of one partition in one response. Default 1 MiB. */
  readonly maxPartitionBytes?: number
  /** Bytes that may wait unpolled in this process; no fetch is sent above it. Default 64 MiB. */
  readonly maxBufferedBytes?: number
  /** About how much one `poll` returns, unpacked, so that it never blocks the loop for long. Default 4 MiB. */
  readonly maxPollBytes?: number
}

/** Reads assigned partitions. One fetch per leader is always under way while `poll`ed data is processed. */
export interface Fetcher {
  /** Adds a partition at `offset`; a partition that is already assigned is moved there (seek): data fetched before is dropped. */
  assign(partition: TopicPartition, offset: number, reset: OffsetReset): void
  unassign(partition: TopicPartition): void
  /** Left out of the next fetch; what has been fetched of it waits and is not returned by `poll` until `resume`. */
  pause(partition: TopicPartition): void
  resume(partition: TopicPartition): void
  /** Position of the next record that `poll` will return, undefined when not assigned. */
  position(partition: TopicPartition): number | undefined
  /**
   * Everything that has arrived since the last call; waits up to `timeoutMs` when there is nothing.
   * A partition appears with zero chunks when its position or watermarks moved, or when an empty fetch was
   * answered (so that its reader learns that it is caught up). Throws TransportError with `fatal` for what retrying cannot cure
   * (authorisation, offset out of range with reset `fail`).
   * @param maxBytes about how much is returned at most, unpacked, where that is less than `maxPollBytes`: at least a few records of one partition, another
   * partition first each time
   */
  poll(timeoutMs: number, maxBytes?: number): Promise<PartitionData[]>
  /** Makes a waiting poll return at once. */
  wake(): void
  close(): Promise<void>
}

export type GroupEvent =
  /** The coordinator wants exactly these partitions owned here. Finish and commit what is revoked, then `acknowledge`. */
  | { readonly type: 'assignment'; readonly partitions: readonly TopicPartition[] }
  /** The membership is lost: drop uncommitted work, then `rejoin`. */
  | { readonly type: 'fenced'; readonly reason: string }
  /** Nothing will cure it (authorisation, unsupported broker). */
  | { readonly type: 'failed'; readonly error: Error }

export interface GroupOptions {
  readonly groupId: string
  /** UUID kept by the worker slot: rejoining with it gets the same partitions back at once. */
  readonly memberId: string
  /** Told of the member id that replaces a refused one (Kafka 4.0, 4.1), so that it is the one that is kept. */
  readonly onMemberId?: (memberId: string) => void
  /** There is something to take with `takeEvent`: ends the wait of a loop that would look for it later. */
  readonly onEvent?: () => void
  readonly topics: readonly string[]
  /** Where this process can be asked over HTTP (http://host:port), told to the other members. */
  readonly address?: string
  /** Server-side assignor. Default `range`. */
  readonly assignor?: string
  readonly rebalanceTimeoutMs?: number
}

/** A member of the group, as its coordinator knows it. */
export interface GroupPeer {
  readonly memberId: string
  /** As the member gave it; undefined when it gave none. */
  readonly address: string | undefined
  /** What it owns now. */
  readonly partitions: readonly TopicPartition[]
}

/** A member of a KIP-848 consumer group. Heartbeats run by themselves from `join` to `leave`. */
export interface GroupMember {
  readonly groupId: string
  /** May change when the broker refuses the old one at rejoin (Kafka 4.0, 4.1). */
  readonly memberId: string
  /** Member epoch of the last answered heartbeat. */
  readonly epoch: number
  join(): Promise<void>
  /** The next event, or undefined. Later assignments replace earlier ones that were not taken yet. */
  takeEvent(): GroupEvent | undefined
  /** Reports the partitions owned now: call after the work on revoked ones is committed. */
  acknowledge(owned: readonly TopicPartition[]): void
  /** Joins again, owning nothing: after `fenced`, or when the producer has lost its place and everything begins anew. */
  rejoin(): Promise<void>
  /** One heartbeat now, awaited: takes a raised member epoch. Rejects when the membership is lost, or nobody can say whether it is. */
  heartbeat(): Promise<void>
  /** Committed offsets by `partitionKey` (require_stable: waits while a transaction on them is open); absent where none is stored. */
  committed(partitions: readonly TopicPartition[]): Promise<Map<string, CommittedOffset>>
  /** All members, sorted by member id: the order in which the `range` assignor deals. */
  members(): Promise<GroupPeer[]>
  /** Replaces the topics that the member subscribes to; the coordinator learns of it at once. The member keeps what it owns of the others. */
  subscribe(topics: readonly string[]): void
  /** Commits outside a transaction (sinks, at least once). */
  commit(offsets: ReadonlyMap<string, OffsetToCommit>): Promise<void>
  /**
   * Says goodbye: the partitions go to others at once. `keepPlace`: ends without a word, so that they are still here for whoever joins with this
   * member id before the session times out.
   */
  leave(options?: { readonly keepPlace?: boolean }): Promise<void>
}

/**
 * The committed offsets of a group that has no members. Kafka lets anybody commit for such a group, so whoever uses this must know by
 * other means that nobody else does.
 */
export interface MemberlessGroup {
  readonly groupId: string
  /** As `GroupMember.committed`. */
  committed(partitions: readonly TopicPartition[]): Promise<Map<string, CommittedOffset>>
  /** @throws FencedError when the group has a member */
  commit(offsets: ReadonlyMap<string, OffsetToCommit>): Promise<void>
  /** Members that the group has nevertheless. */
  members(): Promise<GroupPeer[]>
  close(): Promise<void>
}

export interface OffsetToCommit extends TopicPartition {
  /** The next offset to read. */
  readonly offset: number
  readonly metadata?: string
}

/** What the group has stored for a partition. */
export interface CommittedOffset {
  readonly offset: number
  /** As given in `OffsetToCommit`; empty when none was. The engine keeps the task's event time in it. */
  readonly metadata: string
}

/** Growing record batches of one (topic, partition) inside the open transaction. Kept by the producer over transactions. */
export interface RecordAppender extends TopicPartition {
  /**
   * Appends one record; bytes are copied. Null key or value: pass null.
   * @param timestamp epoch ms
   */
  append(
    timestamp: number,
    key: Uint8Array | null,
    keyStart: number,
    keyEnd: number,
    value: Uint8Array | null,
    valueStart: number,
    valueEnd: number,
    headers?: readonly RecordHeader[],
  ): void
  /** Records appended and not committed yet. */
  readonly pendingRecords: number
}

/** Codecs of record batches. */
export const COMPRESSIONS = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const
export type Compression = (typeof COMPRESSIONS)[number]

export interface ProducerOptions {
  /** Stable per worker slot. Undefined: an idempotent producer without transactions (at least once). */
  readonly transactionalId?: string
  /** Default 10 s. */
  readonly transactionTimeoutMs?: number
  /** Default none. */
  readonly compression?: Compression
  /** Called synchronously as `commit` passes each step: where crash tests kill the process. */
  readonly onCommitStep?: (step: CommitStep) => void
}

/**
 * produced: every record of the transaction is acknowledged. offsets-added: the group coordinator has taken the offsets.
 * committed: EndTxn is answered. A producer that overlaps the first two may report them together, before EndTxn is sent.
 */
export type CommitStep = 'produced' | 'offsets-added' | 'committed'

/**
 * The one producer of a worker. A transaction opens by itself with the first append or commit.
 * Append is synchronous and only buffers; full batches may be sent early by `flushFull`.
 */
export interface WorkerProducer {
  /**
   * InitProducerId: fences every earlier life of the transactional id. Called before the first heartbeat, and again after a fence.
   * @throws ReplacedError when it is called again and a later life of the id has begun
   */
  init(): Promise<void>
  appender(topic: string, partition: number): RecordAppender
  /** Bytes appended and not yet acknowledged. */
  readonly pendingBytes: number
  /**
   * Sends batches that are full or worth a request already; resolves when they are acknowledged. Called now and then inside a long
   * transaction (it need not be awaited each time) it bounds memory and lets the broker work while records are processed.
   */
  flushFull(): Promise<void>
  /**
   * Sends everything, adds `offsets` with the member's group metadata (KIP-447) and ends the transaction. What is appended after the call
   * belongs to the next transaction: it is held back until this one has ended, and dropped with it by `abort`. One commit at a time.
   * Resolves when it is committed. Retries all that is retriable; throws FencedError when the producer, the member or the
   * transaction was given up by the broker, in which case nothing of it is or will be committed.
   * Without a transactional id: sends everything, then commits the offsets through the member.
   * @returns for every appended partition its next offset after this transaction's records (`partitionKey` → offset)
   */
  commit(offsets: ReadonlyMap<string, OffsetToCommit>, member: GroupMember | undefined): Promise<Map<string, number>>
  /** Drops everything that is not committed. A commit under way must have been answered. */
  abort(): Promise<void>
  close(): Promise<void>
}

export interface PublisherOptions {
  /**
   * A record that finds no recent request leaves at once; those that come within this time of a request to the same broker share the next
   * one. Milliseconds, default 0: a record waits only while five requests to its broker are unanswered.
   */
  readonly spacingMs?: number
  /** How long one request may stay unanswered before its connection is given up and the batch sent again. Default as the transport's. */
  readonly requestTimeoutMs?: number
  /** Bytes that may wait or be in flight; `append` throws above it. Default 32 MiB. */
  readonly maxPendingBytes?: number
}

/** Reports the fate of appended records, each exactly once and, for one partition, in the order of their appends. */
export interface Receipt {
  /**
   * @default no deadline: a record without one waits for its broker however long that takes
   * Monotonic milliseconds after the append. A record that is not acknowledged by then is reported as failed with code `TIMED_OUT`. It is
   * never sent after that unless a request may already have carried it.
   */
  readonly timeoutMs?: number
  /**
   * Must not throw.
   * @param count consecutive records that share this receipt
   * @param error undefined: every in-sync replica has them. `fatal`: the broker refused them and they are not in the log. Otherwise the
   *   time was up or the publisher was closed, and they may be in the log.
   */
  settled(count: number, error: TransportError | undefined): void
}

/** Takes the records of one partition; get it once and keep it. */
export interface PublishAppender extends TopicPartition {
  /**
   * Appends one record to the partition's next batch and copies its bytes. Null key or value: pass null.
   * @param timestamp epoch ms
   * @throws TransportError `BUFFER_FULL`, `MESSAGE_TOO_LARGE` or `CLOSED`; the receipt is not used then
   */
  append(
    receipt: Receipt,
    timestamp: number,
    key: Uint8Array | null,
    keyStart: number,
    keyEnd: number,
    value: Uint8Array | null,
    valueStart: number,
    valueEnd: number,
    headers?: readonly RecordHeader[],
  ): void
}

/**
 * Publishes single records with an acknowledgement for each: idempotent, in order per partition, without transactions. Requests are pipelined,
 * five per broker. A record is written once even when answers are lost, brokers restart or leaders move, and a record that the broker refuses
 * fails alone.
 */
export interface Publisher {
  appender(topic: string, partition: number): PublishAppender
  /** Records that are neither acknowledged nor failed. */
  readonly pendingRecords: number
  readonly pendingBytes: number
  /** Takes no more records, waits up to `timeoutMs` (default 2 s) for those it has, and fails the rest with code `CLOSED`. */
  close(timeoutMs?: number): Promise<void>
}

/** What a topic must look like; `ensureTopics` creates it where it is missing. */
export interface TopicSpec {
  readonly name: string
  readonly partitions: number
  readonly replicationFactor?: number
  /** Broker topic configuration, e.g. `cleanup.policy`. */
  readonly config?: Readonly<Record<string, string>>
}

export interface Transport {
  /** Refuses brokers older than Kafka 4.0 with that reason. */
  connect(): Promise<void>
  /** Creates missing topics and waits until their leaders answer. An existing topic with fewer or more partitions is an error. */
  ensureTopics(topics: readonly TopicSpec[]): Promise<void>
  /** Partition counts of existing topics; absent topics are absent from the map. */
  partitionCounts(topics: readonly string[]): Promise<Map<string, number>>
  /** `end` is the high watermark (isolation 0), never the last stable offset. */
  offsets(partitions: readonly TopicPartition[], at: 'earliest' | 'end'): Promise<Map<string, number>>
  fetcher(options?: FetcherOptions): Fetcher
  groupMember(options: GroupOptions): GroupMember
  memberlessGroup(groupId: string): MemberlessGroup
  producer(options: ProducerOptions): WorkerProducer
  publisher(options?: PublisherOptions): Publisher
  /**
   * Ends open transactions of the dead, for which their readers would wait until the time-out: their transactional ids are fenced.
   * @param prefix of the transactional ids that are looked at
   * @param abandoned asked when their transactions have been seen open: those whose owners are gone for good as they were
   * @returns the ids whose transactions were ended; what a broker does not answer is left to the time-out
   */
  endTransactions(prefix: string, abandoned: (ids: readonly string[]) => Promise<readonly string[]>): Promise<string[]>
  close(): Promise<void>
}

/** The broker has given our place to another life of ourselves or to another member. Nothing uncommitted will be committed. */
export class FencedError extends Error {
  override readonly name = 'FencedError'
}

/** Another process has begun a newer life with our transactional id: taking it back would only end that one. */
export class ReplacedError extends Error {
  override readonly name = 'ReplacedError'
}

/** Any other failure of the transport. `fatal`: retrying cannot cure it. */
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
