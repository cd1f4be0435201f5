import type { RecordChunk } from '../../../kafka/transport.ts'
import type { DeadLetter, Outcome } from '../topology/api.ts'
import { ProcessorError } from '../topology/errors.ts'
import { deadLetterTopicName } from '../topology/internal-topics.ts'
import { deadLetterParts, lateHeaders } from './dead-letter.ts'
import { increase, type TaskMetrics } from './metrics.ts'
import type { Outputs } from './outputs.ts'
import type { RecordQueue } from './record-queue.ts'
import type { TaskContext } from './task-context.ts'

const DEAD_LETTER_PARTITION = 0

/** Carries out the outcomes that processors return: dropped, late and rejected records. */
export interface RecordOutcomes {
  /** @returns false when the record was rejected and its timestamp must not advance the event time */
  settle(queue: RecordQueue, outcome: Exclude<Outcome, void>): boolean
  /** Sends the current record to the dead-letter topic. @throws ProcessorError when the source's policy is to fail */
  reject(queue: RecordQueue, cause: Pick<DeadLetter, 'code' | 'message'>, processor: string): void
}

/** Describes an invalid outcome for the error message. */
function described(result: unknown): string {
  return result instanceof Promise ? 'a promise, but processors are synchronous' : `a ${typeof result} that is not an outcome`
}

export function recordOutcomes(topology: string, context: TaskContext, outputs: Outputs, metrics: TaskMetrics): RecordOutcomes {
  const deadLetters = deadLetterTopicName(topology)

  function settle(queue: RecordQueue, outcome: Exclude<Outcome, void>): boolean {
    switch (outcome.outcome) {
      case 'drop':
        increase(metrics.dropped, outcome.reason)
        return true
      case 'late':
        metrics.late++
        sendLate(queue)
        return true
      case 'dead-letter':
        reject(queue, outcome, context.node?.name ?? '')
        return false
      default:
        throw new ProcessorError(`it returned ${described(outcome satisfies never)}: return nothing, drop(), deadLetter() or late`)
    }
  }

  function sendLate(queue: RecordQueue): void {
    const { lateOutput } = queue.stream.options
    if (lateOutput === undefined) return
    const chunk = queue.chunk as RecordChunk
    outputs.copy(lateOutput.name, undefined, chunk, queue.row, lateHeaders(chunk, queue.row))
  }

  function reject(queue: RecordQueue, { code, message }: Pick<DeadLetter, 'code' | 'message'>, processor: string): void {
    if (queue.stream.options.onBadRecord === 'fail')
      throw new ProcessorError(`the record was rejected (${code}: ${message}) and the source's policy for bad records is to fail`)
    const chunk = queue.chunk as RecordChunk
    metrics.deadLetters++
    const letter = deadLetterParts(chunk, queue.row, { topology, processor, code, message })
    outputs.copy(deadLetters, DEAD_LETTER_PARTITION, chunk, queue.row, letter.headers, letter)
  }

  return { settle, reject }
}
