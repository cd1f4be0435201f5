import type { CommittedOffset, TopicPartition } from '../../../kafka/transport.ts'

/**
 * A destination to which a sink copies topics, such as a view, a table or an index. Views and tables save, in one
 * atomic step, the data and the offset up to which they have applied the partition. An index saves the offset after the
 * data. Reading continues from that offset. Only lag monitors, tables (because their rows may expire) and targets
 * without offsets need the committed offsets.
 */
export interface SinkTarget {
  /** Appears in logs and metrics. */
  readonly name: string
  readonly limits: BatchLimits
  /**
   * How long the next fetch is delayed, in ms, if the last one returned few records. Meanwhile more records collect.
   * Default 0.
   */
  readonly collectMs?: number
  /**
   * Interval between empty writes for a partition without new records. An empty write shows whether the target has lost
   * data. Undefined means never.
   */
  readonly probeEveryMs?: number
  /**
   * Age (ms) from which records change nothing in the target. If the target contains nothing of a partition, the sink
   * starts at the first record that is younger. By default, it starts at the log's beginning.
   */
  readonly neededMs?: number | undefined
  /** Metadata that is stored with the committed offsets and passed back to `open`. */
  readonly commitMetadata?: string
  /** True if the target is partitioned like its topics. These topics then need equal partition counts. */
  readonly needsEqualPartitions?: boolean
  /**
   * True if the target cannot refuse writes from former owners. The sink must then confirm its membership before each
   * write.
   */
  readonly confirmsOwnership?: boolean
  /**
   * Returns the first offset that the target lacks; undefined when the target contains nothing of the partition.
   * @throws TargetUnavailableError if the sink should call `open` again later; any other error stops the sink
   */
  open(partition: TopicPartition, facts: PartitionFacts): Promise<number | undefined>
  /**
   * Computes the changes of a batch and returns a function that writes them. After a TargetUnavailableError it is
   * unknown whether the last call was applied. The sink then calls the function again, so the function must not apply
   * anything twice.
   */
  prepare(batch: SinkBatch): () => Promise<WriteResult>
}

/**
 * Counts records that the target refuses permanently, and stores them as dead letters unless the sink stores none.
 * Resolves when they are stored.
 */
export type RefuseRecords = (refused: readonly RefusedRecord[]) => Promise<void>

export interface RefusedRecord {
  /** The position of the record in the batch, from 0. */
  readonly at: number
  readonly reason: string
}

export interface BatchLimits {
  readonly maxRecords: number
  /** Maximum bytes of keys and values as stored in Kafka. */
  readonly maxBytes: number
  /** How long an incomplete batch waits for more records; 0 if it is written at once. */
  readonly lingerMs: number
}

/** The offsets of a partition when the sink starts to read it. */
export interface PartitionFacts {
  /** The first offset of the log. `end` is the offset after the last record. */
  readonly start: number
  readonly end: number
  /** Id of the topic; empty if it is unknown. A topic that was deleted and created again has a different id. */
  readonly topicId: string
  readonly committed: CommittedOffset | undefined
  /**
   * Returns true if an offset that the target contains is beyond the end of the log. If the offset is beyond `end`,
   * reads the end again, because a process that has lost the partition without noticing may have written newer records
   * to the target in the meantime.
   */
  isBeyondEnd(offset: number): Promise<boolean>
}

/** Consecutive records of one partition. Records that cannot be used are left out. */
export interface SinkBatch {
  readonly partition: TopicPartition
  readonly records: readonly SinkRecord[]
  /** The offset at which the target is expected to be; undefined if the target should contain nothing. */
  readonly expected: number | undefined
  /** The offset after the batch, including control records and gaps. */
  readonly next: number
  /** True when the batch reaches the offset that was the end of the log when reading began. */
  readonly caughtUp: boolean
  /**
   * Time (epoch ms) of a fetch that found no records after this batch, except for records of open transactions;
   * undefined if more records are known to follow. Unlike `caughtUp`, this becomes undefined again when the target lags
   * behind.
   */
  readonly completeAt?: number | undefined
  /** Stores records as dead letters, for targets that may refuse records. */
  readonly refuse?: RefuseRecords
}

export interface SinkRecord {
  readonly offset: number
  /** Epoch ms. */
  readonly timestamp: number
  readonly key: unknown
  /** The decoded value; null for a tombstone. */
  readonly value: unknown
}

export type WriteResult =
  | { readonly outcome: 'applied' }
  /**
   * The batch does not count as applied, because the target is at a different offset or was replaced. The sink opens
   * the partition again and continues at the target's offset.
   */
  | { readonly outcome: 'offset-mismatch' }

/** Thrown when the target does not accept writes at the moment. The sink keeps the partition and retries. */
export { TargetUnavailableError } from '../../../state/unavailable.ts'
