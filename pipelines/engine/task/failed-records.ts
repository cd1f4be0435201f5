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
   * Notes what an error says about the records since the last commit.
   * @returns true if the tasks must repeat these records, false if the error has another cause
   */
  note(error: unknown): boolean
  /** Returns the faults of one partition, keyed by offset. The map is live: later calls of `note` extend it. */
  of(partition: TopicPartition): ReadonlyMap<number, Fault>
  /** Returns the offset before which the rows that a record changes must be checked; -1 if there is none. */
  checksBefore(partition: TopicPartition): number
  /** Must be called when all records before the offset are committed. */
  forgetBefore(partition: TopicPartition, offset: number): void
  /**
   * Counts and logs a record that is skipped. If the record is skipped again after a rollback, this call does nothing.
   */
  skipped(place: RecordPlace, fault: Fault, handling: OnFailure): void
}

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
  /** The offset before which changed rows must be checked, by partition. */
  const checked = new Map<string, number>()

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
    const { stage, processor } = fault
    log('error', `${place.topic} ${stage}`, { err: cause, topology, processor, stage, ...place }, 'record_failed')
  }

  function noteRow({ ends, message }: RowFailure): void {
    for (const { topic, partition, offset } of ends) checked.set(partitionKey(topic, partition), offset)
    log('warn', 'row', { topology, reason: message }, 'row_failed')
  }

  return {
    note(error) {
      if (error instanceof RecordFailure) noteRecord(error)
      else if (error instanceof RowFailure) noteRow(error)
      else return false
      return true
    },
    of,
    checksBefore: ({ topic, partition }) => checked.get(partitionKey(topic, partition)) ?? -1,
    forgetBefore(partition, offset) {
      const faults = of(partition)
      for (const failed of faults.keys()) if (failed < offset) faults.delete(failed)
      const key = partitionKey(partition.topic, partition.partition)
      if ((checked.get(key) ?? Infinity) <= offset) checked.delete(key)
      const counted = reported.get(key)
      if (counted !== undefined) for (const skipped of counted) if (skipped < offset) counted.delete(skipped)
    },
    skipped(place, fault, handling) {
      const key = partitionKey(place.topic, place.partition)
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
