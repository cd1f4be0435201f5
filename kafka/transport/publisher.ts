import type { TransportError } from './errors.ts'
import type { TopicPartition } from './partitions.ts'
import type { RecordFields } from './records.ts'

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
  /**
   * Maximum total size, in bytes, of the records that are waiting or in flight. `append` throws above this limit.
   * Default 32 MiB.
   */
  readonly maxPendingBytes?: number
}

/**
 * Reports the outcome of every appended record exactly once and, within one partition, in the order of the appends.
 * Records that time out may be reported earlier.
 */
export interface Receipt {
  /**
   * Time limit of the record in milliseconds after the append, on the monotonic clock. A record that is not
   * acknowledged in time fails with code `TIMED_OUT`. A record that was never sent is dropped. A record that was sent
   * may already be in the log.
   * @default no deadline: the record waits for its broker without a limit
   */
  readonly timeoutMs?: number
  /**
   * Called with the outcome of one or more records. Must not throw.
   * @param count number of consecutive records that share this receipt and this outcome
   * @param error undefined when every in-sync replica has the records. If `error.fatal` is true, they are not in the
   * log: the broker refused them, or they could not be sent. If it is false, they may be in the log.
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
 * partition, without transactions. It pipelines up to five requests per broker. No record is written twice, even when
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
