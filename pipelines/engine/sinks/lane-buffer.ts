import type { Fetcher, PartitionData, TopicPartition } from '../../../kafka/transport.ts'
import type { PartitionQueue, Taken } from './queue.ts'
import type { BatchLimits } from './target.ts'

/** Fetched bytes that may wait for the target, per partition; above it the partition is not fetched. */
const MAX_QUEUED_BYTES = 4 * 1024 * 1024
const NEVER = Number.POSITIVE_INFINITY

/** The records of one partition between fetcher and target. A partition whose target is slow is not fetched. */
export interface LaneBuffer {
  /** Bytes that wait to be written. */
  readonly bytes: number
  readonly isEmpty: boolean
  /** Offset behind everything that was pushed; undefined before the first push. */
  readonly end: number | undefined
  /** Set when `take` stopped at a record whose schema must be loaded first. */
  readonly waitsForSchema: number | undefined
  push(data: PartitionData, now: number): void
  take(now: number): Taken | undefined
  /** There is enough for a batch, or its first record has waited long enough. */
  isBatchDue(now: number): boolean
  /** When the first record will have waited long enough. */
  readonly batchDueAt: number
  /** What waits has waited long enough. */
  hurry(): void
  /** Drops everything and ends the fetching. */
  clear(): void
}

export function laneBuffer(partition: TopicPartition, fetcher: Fetcher, limits: BatchLimits, newQueue: () => PartitionQueue): LaneBuffer {
  let queue = newQueue()
  let isPaused = false
  /** When the oldest record arrived that waits in the queue. */
  let waitingSince = NEVER

  function balance(): void {
    if (!isPaused && queue.bytes > MAX_QUEUED_BYTES) {
      isPaused = true
      fetcher.pause(partition)
    } else if (isPaused && queue.bytes < MAX_QUEUED_BYTES / 2) {
      isPaused = false
      fetcher.resume(partition)
    }
  }

  return {
    get bytes() {
      return queue.bytes
    },
    get isEmpty() {
      return queue.records === 0
    },
    get end() {
      return queue.end
    },
    get waitsForSchema() {
      return queue.waitsForSchema
    },
    push(data, now) {
      const wasEmpty = queue.records === 0
      queue.push(data)
      if (wasEmpty && queue.records > 0) waitingSince = now
      balance()
    },
    take(now) {
      const taken = queue.take(limits)
      waitingSince = queue.records > 0 ? now : NEVER
      balance()
      return taken
    },
    isBatchDue(now) {
      const { maxRecords, maxBytes, lingerMs } = limits
      if (queue.records === 0) return false
      return queue.records >= maxRecords || queue.bytes >= maxBytes || now - waitingSince >= lingerMs || isPaused
    },
    get batchDueAt() {
      return queue.records > 0 ? waitingSince + limits.lingerMs : NEVER
    },
    hurry() {
      waitingSince = -Infinity
    },
    clear() {
      fetcher.unassign(partition)
      isPaused = false
      queue = newQueue()
      waitingSince = NEVER
    },
  }
}
