import { endOfBatches } from '../record-batch/batches.ts'
import type { AbortedTransaction } from '../record-batch/committed.ts'
import type { ChunkReader } from '../record-batch/reader.ts'
import { type ReaderReset, type TopicPartition, UNKNOWN_LEADER_EPOCH } from '../transport.ts'
import type { EpochEnd, FetchedPartition } from './fetch-request.ts'

/**
 * Data of one partition from one response. `poll` has not returned this data yet, or only part of it. The data is
 * decoded only when it is polled.
 */
export interface Segment {
  readonly from: number
  readonly nextOffset: number
  /** The epoch of the leader that appended the last batch before `nextOffset`. */
  readonly leaderEpoch: number
  readonly records: Buffer
  readonly aborted: readonly AbortedTransaction[]
  readonly highWatermark: number
  readonly lastStableOffset: number
  readonly fetchedAt: number
  /** True for the first data after a reset of the offset. */
  readonly wasReset: boolean
}

/**
 * The reading state of one assigned partition. Each assignment creates a new state, so that late answers for an old
 * assignment are ignored.
 */
export class FetchPosition implements TopicPartition {
  readonly topic: string
  readonly partition: number
  readonly reset: ReaderReset
  /** The topic's id at the first lookup. A different id later means that the topic was deleted and created again. */
  topicId: string | undefined
  /** Offset at which the next data from `poll` begins. */
  position: number
  /** Offset from which the next request reads. */
  fetchOffset: number
  /**
   * The epoch of the leader that appended the last batch before `fetchOffset`, or a later epoch, but never an earlier
   * one; -1 when the epoch is unknown. The broker compares the value with its log to detect that records before
   * `fetchOffset` are lost.
   */
  leaderEpoch: number
  paused = false
  inFlight = false
  /** True when the last answer was empty, so that no data is expected soon. */
  quiet = false
  /** True after a fatal error: the partition is not fetched until it is assigned again. */
  failed = false
  /** Earliest reading of `Runtime.monotonic` at which the partition may be fetched. */
  retryAt = 0
  /**
   * The next request waits until this reading of `Runtime.monotonic`, so that more records can collect at the broker.
   */
  collectsUntil = 0
  attempts = 0
  queue: Segment[] = []
  /** The reader of the first segment; defined while only part of that segment has been polled. */
  reading: ChunkReader | undefined
  bufferedBytes = 0
  /** True when the next segment begins with the first data after a reset of the offset. */
  private wasReset = false

  constructor({ topic, partition }: TopicPartition, offset: number, reset: ReaderReset, leaderEpoch: number) {
    this.topic = topic
    this.partition = partition
    this.position = offset
    this.fetchOffset = offset
    this.leaderEpoch = leaderEpoch
    this.reset = reset
  }

  /** Stores an answer and moves `fetchOffset` to the offset of the next request. */
  receive(fetched: FetchedPartition, fetchedAt: number): void {
    const { records, aborted, highWatermark, lastStableOffset } = fetched
    const from = this.fetchOffset
    const { offset: nextOffset, leaderEpoch } = endOfBatches(records, { offset: from, leaderEpoch: this.leaderEpoch })
    const last = this.queue.at(-1)
    // A newer response replaces an empty response that is still queued, because the empty response contains nothing but
    // offsets.
    const isReplaced = last !== undefined && last.records.length === 0
    if (isReplaced) this.queue.pop()
    const wasReset = this.wasReset || (isReplaced && last.wasReset)
    this.wasReset = false
    this.queue.push({ from, nextOffset, leaderEpoch, records, aborted, highWatermark, lastStableOffset, fetchedAt, wasReset })
    this.bufferedBytes += records.length
    this.fetchOffset = nextOffset
    this.leaderEpoch = leaderEpoch
    this.attempts = 0
    this.quiet = records.length === 0
  }

  /** Continues at the offset that the reset policy determines, once the queued data has been polled. */
  resetTo(offset: number): void {
    this.fetchOffset = offset
    this.leaderEpoch = UNKNOWN_LEADER_EPOCH
    this.wasReset = true
    if (this.queue.length === 0) this.position = offset
  }

  /** Drops the fetched data that `poll` has not returned yet. */
  dropQueue(): void {
    // If `poll` has returned nothing of the first segment after a reset, it has not reported the reset yet. It must
    // then report the reset with the next data.
    const unread = this.reading === undefined ? this.queue : this.queue.slice(1)
    this.wasReset ||= unread.some(({ wasReset }) => wasReset)
    this.queue = []
    this.reading = undefined
    this.bufferedBytes = 0
    this.fetchOffset = this.position
  }

  /**
   * Continues at the first offset at which the log differs from the fetched data, or at `position` if `position` is
   * lower. Data that `poll` has not returned yet is fetched again.
   * @param end the first offset at which the log differs from the fetched data, and the leader epoch before that offset
   */
  truncateTo(end: EpochEnd): void {
    this.dropQueue()
    this.position = Math.min(this.position, end.offset)
    this.fetchOffset = this.position
    this.leaderEpoch = end.leaderEpoch
  }
}
