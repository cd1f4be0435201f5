import type { PartitionData, TopicPartition } from '../../../kafka/transport.ts'
import type { Log } from '../../../runtime/runtime.ts'
import type { SinkMetrics } from './metrics.ts'

export interface LostRecordsDeps {
  readonly partition: TopicPartition
  /** Name of the sink's target. */
  readonly target: string
  readonly metrics: SinkMetrics
  readonly log: Log
}

/** Counts the records of a partition that retention deleted before the sink read them. */
export interface LostRecords {
  /**
   * Counts and logs the records between `from` and `start`, which the log no longer has. Does nothing if there are
   * none.
   * @param from the offset that the sink should read next
   * @param start the first offset that the log still has
   */
  note(from: number, start: number): void
  /**
   * Counts and logs the records that the fetcher has skipped because retention has deleted them, for example while the
   * target was unavailable. `expected` is the offset at which the data should begin.
   */
  noteSkipped(expected: number | undefined, data: PartitionData): void
}

export function lostRecords({ partition, target, metrics, log }: LostRecordsDeps): LostRecords {
  function note(from: number, start: number): void {
    if (from >= start) return
    metrics.lostRecords += start - from
    log.warn({ ...partition, target, from, to: start }, 'sink_records_lost_to_retention')
  }

  return {
    note,
    noteSkipped(expected, data) {
      if (data.wasReset === true && expected !== undefined) note(expected, firstOffset(data))
    },
  }
}

/** Returns the offset of the first record; without records, the offset at which the next data begins. */
export function firstOffset({ chunks, nextOffset }: PartitionData): number {
  return chunks.find(({ count }) => count > 0)?.offsets[0] ?? nextOffset
}
