import type { RecordChunk } from '../../../kafka/transport.ts'
import type { Outcome } from '../topology/api.ts'
import { deadLetterTopicName } from '../topology/internal-topics.ts'
import { deadLetterParts, lateHeaders } from './dead-letter.ts'
import type { FailedRecords } from './failed-records.ts'
import { increase, type TaskMetrics } from './metrics.ts'
import type { Outputs } from './outputs.ts'
import { type Fault, placeOf, RefusedOutcome } from './record-failure.ts'
import type { RecordQueue } from './record-queue.ts'
import type { TaskContext } from './task-context.ts'

const DEAD_LETTER_PARTITION = 0

/** Applies the outcomes that processors return: dropped, late and rejected records. */
export interface RecordOutcomes {
  /**
   * Applies an outcome.
   * @returns false if the record was rejected; its timestamp must then not advance the event time
   * @throws RefusedOutcome when the value is not an outcome, or when the policy for rejected records is to fail
   */
  settle(queue: RecordQueue, outcome: Exclude<Outcome, void>): boolean
  /**
   * Skips the current record according to the policy of its source.
   * @throws RefusedOutcome when the policy is to fail
   */
  skip(queue: RecordQueue, fault: Fault): void
}

export interface RecordOutcomesDeps {
  readonly topology: string
  readonly context: TaskContext
  readonly outputs: Outputs
  readonly metrics: TaskMetrics
  readonly failed: FailedRecords
}

/** Describes an invalid outcome for the error message. */
function described(result: unknown): string {
  return result instanceof Promise ? 'a promise, but processors are synchronous' : `a ${typeof result} that is not an outcome`
}

function refused(returned: string): RefusedOutcome {
  return new RefusedOutcome(`it returned ${returned}: return nothing, drop(), deadLetter() or late`)
}

export function recordOutcomes({ topology, context, outputs, metrics, failed }: RecordOutcomesDeps): RecordOutcomes {
  const deadLetters = deadLetterTopicName(topology)

  function settle(queue: RecordQueue, outcome: Exclude<Outcome, void>): boolean {
    // Untyped code may return null.
    if ((outcome as unknown) === null) throw refused('null')
    switch (outcome.outcome) {
      case 'drop':
        increase(metrics.dropped, outcome.reason)
        return true
      case 'late':
        metrics.late++
        sendLate(queue)
        return true
      case 'dead-letter':
        skip(queue, { stage: 'reject', code: outcome.code, message: outcome.message, processor: context.node?.name ?? '' })
        return false
      default:
        throw refused(described(outcome satisfies never))
    }
  }

  function sendLate(queue: RecordQueue): void {
    const { lateOutput } = queue.stream.options
    if (lateOutput === undefined) return
    const chunk = queue.chunk as RecordChunk
    outputs.copy(lateOutput.name, undefined, chunk, queue.row, lateHeaders(chunk, queue.row))
  }

  function skip(queue: RecordQueue, fault: Fault): void {
    const { stage, code, message, processor } = fault
    const handling = queue.policies[stage]
    if (handling === 'fail')
      throw new RefusedOutcome(`the record was rejected (${code}: ${message}), and onError.${stage} of its source is "fail"`)
    const chunk = queue.chunk as RecordChunk
    failed.skipped(placeOf(chunk, queue.row), fault, handling)
    if (handling === 'drop') return
    const { headers, ...ends } = deadLetterParts(chunk, queue.row, {
      topology,
      processor,
      code,
      message,
      erases: queue.stream.topic.erases,
      erasesKeys: queue.stream.topic.erasesKeys,
    })
    // A dead letter gets the current time as its timestamp, so that its retention begins now. With the timestamp of an
    // old record, the broker would soon delete it. A header contains the record's own timestamp.
    outputs.copy(deadLetters, DEAD_LETTER_PARTITION, chunk, queue.row, headers, { ...ends, timestamp: context.now })
  }

  return { settle, skip }
}
