import type { CommittedOffset, TopicPartition } from '../../../kafka/transport.ts'

/**
 * A store into which a sink copies topics. In the same atomic step as the data it keeps the offset up to which it has
 * applied a partition. That offset alone decides where reading continues; committed offsets are for lag monitors.
 */
export interface SinkTarget {
  /** Shown in logs and metrics. */
  readonly name: string
  readonly limits: BatchLimits
  /** How often an idle partition gets an empty write, which tells whether the target lost data. Undefined: never. */
  readonly probeEveryMs?: number
  /** Kept with the committed offsets and handed back to `open`. */
  readonly commitMetadata?: string
  /** True: the target is partitioned as its topics are. */
  readonly needsEqualPartitions?: boolean
  /** True: the target cannot refuse a laggard, so that the sink confirms its membership before each write. */
  readonly confirmsOwnership?: boolean
  /**
   * Where the target stands: the next offset that it lacks, undefined when it holds nothing of the partition.
   * Throws TargetUnavailableError to be asked again, anything else to stop the sink.
   */
  open(partition: TopicPartition, facts: PartitionFacts): Promise<number | undefined>
  /**
   * Works out what a batch means. The returned function writes it. After TargetUnavailableError, when nobody knows
   * whether the last call was applied, it is called again, and must then not apply anything twice.
   */
  prepare(batch: SinkBatch): () => Promise<WriteResult>
}

export interface BatchLimits {
  readonly maxRecords: number
  /** Bytes of keys and values as they lie in Kafka. */
  readonly maxBytes: number
  /** How long a batch that is not full waits for more records. 0: not at all. */
  readonly lingerMs: number
}

/** What is known of a partition when its reading begins. */
export interface PartitionFacts {
  /** Offsets of the log. */
  readonly start: number
  readonly end: number
  readonly committed: CommittedOffset | undefined
}

/** Records of one stretch of one partition; records that cannot be used are left out. */
export interface SinkBatch {
  readonly partition: TopicPartition
  readonly records: readonly SinkRecord[]
  /** Where the target stands as far as is known; undefined: it holds nothing. */
  readonly expected: number | undefined
  /** Offset behind the batch, control records and gaps included. */
  readonly next: number
  /** The batch reaches the end that the log had when its reading began. */
  readonly caughtUp: boolean
}

export interface SinkRecord {
  readonly offset: number
  /** Epoch ms. */
  readonly timestamp: number
  readonly key: unknown
  /** null: a tombstone. */
  readonly value: unknown
}

export type WriteResult =
  | { readonly outcome: 'applied' }
  /** Nothing was changed, because the target stands at another offset: read again from there. */
  | { readonly outcome: 'offset-mismatch' }

/** The target does not take writes at the moment: the sink holds the partition and tries again. */
export class TargetUnavailableError extends Error {
  override readonly name = 'TargetUnavailableError'
}
