import type { Fetcher, PartitionData, TopicPartition } from '../../../kafka/transport.ts'
import type { PartitionQueue, Taken } from './queue.ts'
import type { BatchLimits } from './target.ts'

/**
 * Maximum number of fetched bytes of a partition that wait for the target. Above this limit the partition is paused.
 */
const MAX_QUEUED_BYTES = 4 * 1024 * 1024
const NEVER = Number.POSITIVE_INFINITY

/**
 * A buffer for the records of one partition between the fetcher and the target. It pauses the partition while the
 * target is too slow.
 */
export interface LaneBuffer {
  /** Number of bytes that wait to be written. */
  readonly bytes: number
  readonly isEmpty: boolean
  /** The offset after everything that was pushed; undefined before the first push. */
  readonly end: number | undefined
  /** The id of the schema that must be loaded before `take` can continue; otherwise undefined. */
  readonly waitsForSchema: number | undefined
  push(data: PartitionData, now: number): void
  /** Takes the next batch. @param maxRecords overrides `BatchLimits.maxRecords` */
  take(now: number, maxRecords?: number): Taken | undefined
  /**
   * Returns true if the buffer has enough for a batch, if its records have waited long enough since they arrived or
   * since the last `take`, or if the partition is paused.
   */
  isBatchDue(now: number): boolean
  /** The time at which the waiting records must be written even if no further records arrive. */
  readonly batchDueAt: number
  /** Makes the waiting records due at once, even if they do not fill a batch. */
  hurry(): void
  /** Drops all records and stops fetching the partition. */
  clear(): void
}

export function laneBuffer(partition: TopicPartition, fetcher: Fetcher, limits: BatchLimits, newQueue: () => PartitionQueue): LaneBuffer {
  let queue = newQueue()
  let isPaused = false
  /**
   * When the current wait of the queued records began: when the first of them arrived in an empty queue, or at the last
   * `take`.
   */
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
    take(now, maxRecords = limits.maxRecords) {
      const taken = queue.take({ ...limits, maxRecords })
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
