import { partitionKey, type TopicPartition } from '../../../kafka/transport.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import type { OnFailure } from '../topology/api.ts'
import { limitedLog } from './limited-log.ts'
import { countSkipped, type TaskMetrics } from './metrics.ts'
import { type Fault, RecordFailure, type RecordPlace, RowFailure } from './record-failure.ts'

/**
 * The records that made a task of this worker fail. When the tasks repeat their work since the last commit, they skip
 * these records. The list is only in memory: in another process, such a record fails again and is skipped again.
 */
export interface FailedRecords {
  /**
   * Notes the failed record of a `RecordFailure`, or the row of a `RowFailure` that could not be written.
   * @returns true if the tasks must repeat the records since the last commit, false if the error has another cause
   */
  note(error: unknown): boolean
  /** Returns the faults of one partition, keyed by offset. The map is live: later calls of `note` extend it. */
  of(partition: TopicPartition): ReadonlyMap<number, Fault>
  /**
   * Returns the offset before which each record requires a check of the rows that it changes; -1 if no check is needed.
   */
  checksBefore(partition: TopicPartition): number
  /**
   * Returns why a commit could not write a row, if the task has repeated all records since its last commit and none of
   * them has failed; otherwise undefined.
   * @param starts where the task began in each of its sources
   * @param ends the next record of each source
   */
  unexplained(starts: readonly RecordPlace[], ends: readonly RecordPlace[]): string | undefined
  /** Must be called when all records before the offset are committed. */
  forgetBefore(partition: TopicPartition, offset: number): void
  /**
   * Counts and logs a record that is skipped. If the record is skipped again after a rollback, this call does nothing.
   */
  skipped(place: RecordPlace, fault: Fault, handling: OnFailure): void
}

/** A row that a commit could not write. */
interface RowCheck {
  readonly failure: RowFailure
  /** True when one of the repeated records has failed. */
  explained: boolean
}

const keyOf = ({ topic, partition }: TopicPartition) => partitionKey(topic, partition)

export interface FailedRecordsDeps {
  readonly topology: string
  readonly metrics: TaskMetrics
  readonly runtime: Pick<Runtime, 'log' | 'monotonic'>
}

export function failedRecords({ topology, metrics, runtime }: FailedRecordsDeps): FailedRecords {
  const partitions = new Map<string, Map<number, Fault>>()
  const log = limitedLog(runtime)
  /** Offsets of the skipped records that are counted but not yet committed, by partition. */
  const reported = new Map<string, Set<number>>()
  /** The row failures whose records are not committed yet, by the source partitions of their tasks. */
  const rows = new Map<string, RowCheck>()

  function of({ topic, partition }: TopicPartition): Map<number, Fault> {
    const key = partitionKey(topic, partition)
    let faults = partitions.get(key)
    if (faults === undefined) {
      faults = new Map()
      partitions.set(key, faults)
    }
    return faults
  }

  function noteRecord({ place, fault, cause }: RecordFailure): void {
    of(place).set(place.offset, fault)
    const row = rows.get(keyOf(place))
    if (row !== undefined) row.explained = true
    const { stage, processor } = fault
    log('error', `${place.topic} ${stage}`, { err: cause, topology, processor, stage, ...place }, 'record_failed')
  }

  function noteRow(failure: RowFailure): void {
    const row = { failure, explained: false }
    for (const end of failure.ends) rows.set(keyOf(end), row)
    log('warn', 'row', { topology, reason: failure.message }, 'row_failed')
  }

  function checksBefore(partition: TopicPartition): number {
    return rows.get(keyOf(partition))?.failure.ends.find((end) => keyOf(end) === keyOf(partition))?.offset ?? -1
  }

  return {
    note(error) {
      if (error instanceof RecordFailure) noteRecord(error)
      else if (error instanceof RowFailure) noteRow(error)
      else return false
      return true
    },
    of,
    checksBefore,
    unexplained(starts, ends) {
      const row = ends.map((end) => rows.get(keyOf(end))).find((each) => each !== undefined)
      // If another worker has processed some of the records, it may have skipped the one that caused the failure.
      if (row === undefined || row.explained || !starts.every(({ offset }, i) => offset === row.failure.starts[i].offset)) return undefined
      return ends.every(({ offset }, i) => offset >= row.failure.ends[i].offset) ? row.failure.message : undefined
    },
    forgetBefore(partition, offset) {
      const faults = of(partition)
      for (const failed of faults.keys()) if (failed < offset) faults.delete(failed)
      const key = keyOf(partition)
      if (rows.has(key) && checksBefore(partition) <= offset) rows.delete(key)
      const counted = reported.get(key)
      if (counted !== undefined) for (const skipped of counted) if (skipped < offset) counted.delete(skipped)
    },
    skipped(place, fault, handling) {
      const key = keyOf(place)
      const counted = reported.get(key) ?? new Set<number>()
      if (counted.has(place.offset)) return
      reported.set(key, counted.add(place.offset))
      const { stage, code, processor } = fault
      if (handling === 'dead-letter') metrics.deadLetters++
      countSkipped(metrics, { source: place.topic, stage, handling })
      log('warn', `${place.topic} ${stage}`, { topology, processor, stage, code, handling, ...place }, 'record_skipped')
    },
  }
}
