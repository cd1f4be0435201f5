import type { TopicPartition } from './partitions.ts'
import type { PartitionData } from './records.ts'

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
   * How long the broker may wait for new data, in ms. If its last answer for the same partitions was empty,
   * `idleWaitMs` applies instead. Default 500.
   */
  readonly maxWaitMs?: number
  /**
   * Returns how long the broker may wait for new data after an empty response. The fetcher calls the function before
   * the next request. It raises the result to at least `maxWaitMs`, and limits it to 15 s or half the request timeout,
   * whichever is less. The wait may be shorter, so that it ends together with other waits. A reader that needs regular
   * answers about idle partitions returns the time until it needs the next answer. Default 5 s, or `maxWaitMs` if that
   * is given.
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
   * Maximum bytes that the fetcher buffers before `poll`, not counting paused partitions. Above this limit, it sends no
   * requests. Default 64 MiB.
   */
  readonly maxBufferedBytes?: number
  /**
   * How to treat a compressed batch that cannot be unpacked or unpacks to more than 64 MiB. `fail` throws a fatal
   * TransportError at every attempt. `stand-in` returns a chunk with `unreadable` instead of the batch, so that the
   * caller can report the batch and continue. Default `fail`.
   */
  readonly unreadableBatches?: UnreadableBatches
  /**
   * Approximate maximum size of the unpacked records that one `poll` returns, in bytes. This limit bounds how long a
   * poll blocks the event loop. Default 4 MiB.
   */
  readonly maxPollBytes?: number
}

/**
 * Reads assigned partitions. While the caller processes polled data, the next fetch from each leader is already in
 * flight.
 */
export interface Fetcher {
  /**
   * Adds a partition at `offset`. If the partition is already assigned, seeks to `offset` and drops the data fetched
   * before.
   * @param leaderEpoch the epoch of the leader that appended the record before `offset`, or a later epoch in which that
   * record was in the log. With this epoch the reader notices when the log has lost records before `offset`.
   */
  assign(partition: TopicPartition, offset: number, reset: ReaderReset, leaderEpoch?: number): void
  unassign(partition: TopicPartition): void
  /** Stops fetching the partition. Data that was already fetched is returned by `poll` only after `resume`. */
  pause(partition: TopicPartition): void
  resume(partition: TopicPartition): void
  /** Returns the offset at which the next data from `poll` begins; undefined for a partition that is not assigned. */
  position(partition: TopicPartition): number | undefined
  /**
   * Returns what has arrived since the last call, up to `maxBytes`. If nothing has arrived, waits up to `timeoutMs`. A
   * partition without new records appears with zero chunks when its position or watermarks have moved, or when the
   * broker has answered a fetch without data. This shows the reader that it has caught up. Throws TransportError with
   * `fatal` for errors that a retry cannot fix, such as a missing permission, a corrupt batch, or an offset that is out
   * of range with reset `fail`.
   * @param maxBytes approximate maximum of unpacked bytes, if less than `maxPollBytes`. A poll returns at least a few
   * records of one partition, and starts with a different partition each time.
   */
  poll(timeoutMs: number, maxBytes?: number): Promise<PartitionData[]>
  /** Makes a waiting `poll` return at once. */
  wake(): void
  close(): Promise<void>
}
