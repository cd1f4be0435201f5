import { offsetAfter } from '../record-batch/batches.ts'
import type { AbortedTransaction } from '../record-batch/committed.ts'
import type { ChunkReader } from '../record-batch/reader.ts'
import type { OffsetReset, TopicPartition } from '../transport.ts'
import type { FetchedPartition } from './fetch-request.ts'

/** What one response brought of one partition and `poll` has not returned yet. Decoded only when polled. */
export interface Segment {
  readonly from: number
  readonly nextOffset: number
  readonly records: Buffer
  readonly aborted: readonly AbortedTransaction[]
  readonly highWatermark: number
  readonly lastStableOffset: number
  readonly fetchedAt: number
}

/** The reading state of one assigned partition. A new assignment makes a new one, so that late answers to the old find nothing. */
export class FetchPosition implements TopicPartition {
  readonly topic: string
  readonly partition: number
  readonly reset: OffsetReset
  /** Of the first look-up: another id later means that the topic was deleted and made anew. */
  topicId: string | undefined
  /** Of the next record that `poll` returns. */
  position: number
  /** Of the next request. */
  fetchOffset: number
  paused = false
  inFlight = false
  /** The last answer was empty: it is not expected that the next one comes soon. */
  quiet = false
  /** Set after a fatal error: not fetched again until it is assigned anew. */
  failed = false
  /** Reading of `Runtime.monotonic` before which it is left alone. */
  retryAt = 0
  attempts = 0
  queue: Segment[] = []
  /** Of the first segment, while a part of it was polled. */
  reading: ChunkReader | undefined
  bufferedBytes = 0

  constructor({ topic, partition }: TopicPartition, offset: number, reset: OffsetReset) {
    this.topic = topic
    this.partition = partition
    this.position = offset
    this.fetchOffset = offset
    this.reset = reset
  }

  /** Takes over an answer: afterwards `fetchOffset` is where the next request goes on. */
  receive(fetched: FetchedPartition, fetchedAt: number): void {
    const { records, aborted, highWatermark, lastStableOffset } = fetched
    const from = this.fetchOffset
    const nextOffset = records.length === 0 ? from : offsetAfter(records, from)
    const last = this.queue.at(-1)
    // Only the newest of several empty answers says anything.
    if (last !== undefined && last.records.length === 0) this.queue.pop()
    this.queue.push({ from, nextOffset, records, aborted, highWatermark, lastStableOffset, fetchedAt })
    this.bufferedBytes += records.length
    this.fetchOffset = nextOffset
    this.attempts = 0
    this.quiet = records.length === 0
  }

  moveTo(offset: number): void {
    this.position = offset
    this.fetchOffset = offset
  }
}
