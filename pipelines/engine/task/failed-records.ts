import { partitionKey, type TopicPartition } from '../../../kafka/transport.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import type { OnFailure } from '../topology/api.ts'
import { limitedLog } from './limited-log.ts'
import { countSkipped, type TaskMetrics } from './metrics.ts'
import type { Fault, RecordFailure, RecordPlace } from './record-failure.ts'

/**
 * The records that made a task of this worker fail. When the tasks repeat their work since the last commit, they skip
 * these records. The list is only in memory: in another process, such a record fails again and is skipped again.
 */
export interface FailedRecords {
  add(failure: RecordFailure): void
  /** Returns the faults of one partition, keyed by offset. The map is live: later calls of `add` extend it. */
  of(partition: TopicPartition): ReadonlyMap<number, Fault>
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

  function of({ topic, partition }: TopicPartition): Map<number, Fault> {
    const key = partitionKey(topic, partition)
    let faults = partitions.get(key)
    if (faults === undefined) {
      faults = new Map()
      partitions.set(key, faults)
    }
    return faults
  }

  return {
    add({ place, fault, cause }) {
      of(place).set(place.offset, fault)
      const { stage, processor } = fault
      log('error', `${place.topic} ${stage}`, { err: cause, topology, processor, stage, ...place }, 'record_failed')
    },
    of,
    forgetBefore(partition, offset) {
      const faults = of(partition)
      for (const failed of faults.keys()) if (failed < offset) faults.delete(failed)
      const counted = reported.get(partitionKey(partition.topic, partition.partition))
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
