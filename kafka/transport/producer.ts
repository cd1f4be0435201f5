import type { GroupMember, OffsetToCommit } from './group.ts'
import type { TopicPartition } from './partitions.ts'
import type { RecordFields } from './records.ts'

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
  /** Throws the error that `append` would throw for this record. Appends nothing. */
  check(...record: RecordFields): void
  /** Number of records that were appended and are not committed yet. */
  readonly pendingRecords: number
}

/** The compression codecs of record batches, in the order of their codes in the batch attributes. */
export const COMPRESSIONS = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const
export type Compression = (typeof COMPRESSIONS)[number]

export interface ProducerOptions {
  /**
   * The transactional id. It is stable per worker slot. Undefined creates an idempotent producer without transactions
   * (at least once).
   */
  readonly transactionalId?: string
  /** Kafka's transaction.timeout.ms. Default 10 s. */
  readonly transactionTimeoutMs?: number
  /** Compression codec of the batches. Default none. */
  readonly compression?: Compression
  /**
   * The maximum size of a batch in each topic (`Transport.maxBatchBytes`). If the limit of a topic is missing, only the
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
 * A producer that runs the first two steps in parallel may report them in either order. A producer without transactions
 * reports the last two steps together, after the offsets are committed.
 */
export type CommitStep = 'produced' | 'offsets-added' | 'committed'

/**
 * The producer of a worker. The records appended since the last commit, and the offsets that `commit` receives, form
 * one transaction. Appending is synchronous and only buffers; `flushFull` may send full batches early.
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
   * time to time during a long transaction, without awaiting every call. The calls limit the memory for unsent batches,
   * and let the broker work while the caller processes records. During a commit, this method does nothing.
   * @param member Without a transactional id, this member confirms its membership before anything is sent, as in
   * `commit`. Rejects with FencedError when the membership is lost.
   */
  flushFull(member?: GroupMember): Promise<void>
  /**
   * Sends everything, adds `offsets` with the member's group metadata (KIP-447) and ends the transaction. Resolves when
   * the transaction is committed. Retriable errors are retried until the delivery timeout; those of EndTxn are retried
   * without a limit. Only one commit can run at a time.
   *
   * Records that are appended after the call belong to the next transaction. The producer holds them back until the
   * current transaction has ended, and `abort` drops them too.
   *
   * Throws FencedError when the broker has fenced the producer or the member, or has aborted the transaction. In that
   * case, no part of the transaction is or will be committed, with one exception: if EndTxn was not answered before the
   * fence, only the log shows whether the transaction was committed.
   *
   * Without a transactional id, `commit` sends everything and then commits the offsets through the member.
   * @returns for every partition with records in this transaction, the offset after the last record, or the end of the
   * log if no broker has returned that offset (keyed by `partitionKey`)
   */
  commit(offsets: ReadonlyMap<string, OffsetToCommit>, member: GroupMember | undefined): Promise<Map<string, number>>
  /**
   * Drops everything that is not committed. Do not call it while a commit is running.
   * @throws ReplacedError under the same condition as `init`, but only if a batch was not answered
   */
  abort(): Promise<void>
  close(): Promise<void>
}
