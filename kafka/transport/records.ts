import type { TopicPartition } from './partitions.ts'

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
   * Why a batch cannot be unpacked, if this chunk replaces such a batch. The chunk then has one record, without key,
   * value and headers. Its offset is the batch's first, or the requested offset if that is higher.
   */
  readonly unreadable?: string
}

export interface RecordHeader {
  readonly key: string
  readonly value: Buffer | null
}

/**
 * The data of one partition that one `poll` returned, in offset order, without control records. With read_committed, it
 * contains only committed records.
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
   * True when the reset policy has moved the reader, because the log does not have the reader's offset or (with
   * `rebuild`) has lost records that were read. The records and tombstones that the reader skipped are missing.
   */
  readonly wasReset?: boolean
}

/** The leader epoch that means "unknown". A broker that receives it does not check for lost records. */
export const UNKNOWN_LEADER_EPOCH = -1

/**
 * Asks for the offset at which the batches of a leader epoch and of all earlier epochs end in a partition's log.
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
