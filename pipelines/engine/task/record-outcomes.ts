import type { RecordChunk } from '../../../kafka/transport.ts'
import type { DeadLetter, Outcome } from '../topology/api.ts'
import { ProcessorError } from '../topology/errors.ts'
import { deadLetterTopicName } from '../topology/internal-topics.ts'
import { deadLetterParts, lateHeaders } from './dead-letter.ts'
import type { SourceIntake } from './intake.ts'
import { increase, type TaskMetrics } from './metrics.ts'
import type { Outputs } from './outputs.ts'
import type { TaskContext } from './task-context.ts'

const DEAD_LETTER_PARTITION = 0

/** Carries out what processors answer beside their work: records that are dropped, late or refused. */
export interface RecordOutcomes {
  /** @returns false when the record was refused: its time does not count */
  settle(intake: SourceIntake, outcome: Exclude<Outcome, void>): boolean
  /** Sends the record in hand to the dead-letter topic. @throws ProcessorError when the source's policy is to fail */
  reject(intake: SourceIntake, cause: Pick<DeadLetter, 'code' | 'message'>, processor: string): void
}

/** What came back in place of an outcome. */
function described(result: unknown): string {
  return result instanceof Promise ? 'a promise, but processors are synchronous' : `a ${typeof result} that is no outcome`
}

export function recordOutcomes(topology: string, context: TaskContext, outputs: Outputs, metrics: TaskMetrics): RecordOutcomes {
  const deadLetters = deadLetterTopicName(topology)

  function settle(intake: SourceIntake, outcome: Exclude<Outcome, void>): boolean {
    switch (outcome.outcome) {
      case 'drop':
        increase(metrics.dropped, outcome.reason)
        return true
      case 'late':
        metrics.late++
        sendLate(intake)
        return true
      case 'dead-letter':
        reject(intake, outcome, context.node?.name ?? '')
        return false
      default:
        throw new ProcessorError(`it returned ${described(outcome satisfies never)}: return nothing, drop(), deadLetter() or late`)
    }
  }

  function sendLate(intake: SourceIntake): void {
    const { lateOutput } = intake.stream.options
    if (lateOutput === undefined) return
    const chunk = intake.chunk as RecordChunk
    outputs.copy(lateOutput.name, undefined, chunk, intake.row, lateHeaders(chunk, intake.row))
  }

  function reject(intake: SourceIntake, { code, message }: Pick<DeadLetter, 'code' | 'message'>, processor: string): void {
    if (intake.stream.options.onBadRecord === 'fail')
      throw new ProcessorError(`the record was refused (${code}: ${message}) and the source's policy for bad records is to fail`)
    const chunk = intake.chunk as RecordChunk
    metrics.deadLetters++
    const letter = deadLetterParts(chunk, intake.row, { topology, processor, code, message })
    outputs.copy(deadLetters, DEAD_LETTER_PARTITION, chunk, intake.row, letter.headers, letter)
  }

  return { settle, reject }
}
