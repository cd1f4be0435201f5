import { offsetAfter } from '../record-batch/batches.ts'
import type { AbortedTransaction } from '../record-batch/committed.ts'
import type { ChunkReader } from '../record-batch/reader.ts'
import type { OffsetReset, TopicPartition } from '../transport.ts'
import type { FetchedPartition } from './fetch-request.ts'

/**
 * The data of one response for one partition that `poll` has not returned yet. It is decoded only when it is polled.
 */
export interface Segment {
  readonly from: number
  readonly nextOffset: number
  readonly records: Buffer
  readonly aborted: readonly AbortedTransaction[]
  readonly highWatermark: number
  readonly lastStableOffset: number
  readonly fetchedAt: number
  /** True for the first data after a reset of the offset. */
  readonly wasReset: boolean
}

/**
 * The reading state of one assigned partition. Each assignment creates a new state, so that late answers to an old one
 * are ignored.
 */
export class FetchPosition implements TopicPartition {
  readonly topic: string
  readonly partition: number
  readonly reset: OffsetReset
  /** The topic's id at the first look-up. A different id later means that the topic was deleted and created again. */
  topicId: string | undefined
  /** Offset of the next record that `poll` returns. */
  position: number
  /** Offset of the next request. */
  fetchOffset: number
  paused = false
  inFlight = false
  /** True when the last answer was empty, so that no data is expected soon. */
  quiet = false
  /** True after a fatal error: the partition is not fetched until it is assigned again. */
  failed = false
  /** Reading of `Runtime.monotonic` before which the partition must not be fetched. */
  retryAt = 0
  /** Reading of `Runtime.monotonic` until which more records may collect before the next request. */
  collectsUntil = 0
  attempts = 0
  queue: Segment[] = []
  /** The reader of the first segment, when part of the segment was polled. */
  reading: ChunkReader | undefined
  bufferedBytes = 0
  /** True from a reset of the offset until the next answer. */
  private wasReset = false

  constructor({ topic, partition }: TopicPartition, offset: number, reset: OffsetReset) {
    this.topic = topic
    this.partition = partition
    this.position = offset
    this.fetchOffset = offset
    this.reset = reset
  }

  /** Stores an answer and moves `fetchOffset` to the offset of the next request. */
  receive(fetched: FetchedPartition, fetchedAt: number): void {
    const { records, aborted, highWatermark, lastStableOffset } = fetched
    const from = this.fetchOffset
    const nextOffset = records.length === 0 ? from : offsetAfter(records, from)
    const last = this.queue.at(-1)
    // A newer response replaces an empty one that waits, because an empty response only reports offsets.
    const isReplaced = last !== undefined && last.records.length === 0
    if (isReplaced) this.queue.pop()
    const wasReset = this.wasReset || (isReplaced && last.wasReset)
    this.wasReset = false
    this.queue.push({ from, nextOffset, records, aborted, highWatermark, lastStableOffset, fetchedAt, wasReset })
    this.bufferedBytes += records.length
    this.fetchOffset = nextOffset
    this.attempts = 0
    this.quiet = records.length === 0
  }

  /** Continues at the offset that the reset policy gives, after what is queued. */
  resetTo(offset: number): void {
    this.fetchOffset = offset
    this.wasReset = true
    if (this.queue.length === 0) this.position = offset
  }
}
