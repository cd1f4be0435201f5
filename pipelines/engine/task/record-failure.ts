import { type RecordChunk, type TopicPartition, TransportError } from '../../../kafka/transport.ts'
import { isStateFailure } from '../../../state/stores/errors.ts'
import type { EngineStore } from '../../../state/stores/store.ts'
import type { OnError, OnFailure } from '../topology/api.ts'
import { ProcessorError } from '../topology/errors.ts'

export type FailureStage = keyof OnError
/** The policy of a source for each stage in which a record can fail, with the defaults filled in. */
export type FailurePolicies = Readonly<Record<FailureStage, OnFailure>>

/** Codes of dead letters that the engine writes. Processors use codes of their own. */
export type FaultCode =
  | 'unreadable_batch'
  | 'undecodable_key'
  | 'undecodable_value'
  | 'no_key'
  | 'no_value'
  | 'unknown_schema'
  | 'process_failed'
  | 'produce_failed'

/** Why a record was not processed. */
export interface Fault {
  readonly stage: FailureStage
  /** A `FaultCode`, or the code that a processor has returned. */
  readonly code: string
  readonly message: string
  /** The processor that failed or rejected the record; empty when the record could not be decoded. */
  readonly processor: string
}

const FAILED_IN: Readonly<Record<'process' | 'produce', FaultCode>> = { process: 'process_failed', produce: 'produce_failed' }

export interface RecordPlace extends TopicPartition {
  readonly offset: number
}

export function placeOf(chunk: RecordChunk, row: number): RecordPlace {
  return { topic: chunk.topic, partition: chunk.partition, offset: chunk.offsets[row] }
}

/**
 * Thrown when emitting fails, for example because the output cannot be encoded or its topic does not accept it. Also
 * thrown when a row that a record has changed cannot be written to its changelog.
 */
export class OutputError extends ProcessorError {}

/**
 * Thrown when a processor returns something that is not an outcome. Also thrown when a record is rejected or cannot be
 * decoded, and the policy of its source is to fail.
 */
export class RefusedOutcome extends ProcessorError {}

/**
 * Thrown when the author's code fails on a record and the policy of the record's source is to skip it. The worker then
 * drops everything since the last commit and repeats it without the record, so that no effect of the record remains.
 */
export class RecordFailure extends ProcessorError {
  readonly place: RecordPlace
  readonly fault: Fault
  constructor(message: string, place: RecordPlace, fault: Fault, cause: unknown) {
    super(message, { cause })
    this.place = place
    this.fault = fault
  }
}

/**
 * Thrown when a commit cannot encode a changed row, or when the row is too large. Any record since the last commit may
 * have changed the row. The tasks therefore repeat these records, and check the rows that each record changes.
 */
export class RowFailure extends ProcessorError {
  /**
   * For each source, the position of the first record since the last commit. `ends` contains the positions after the
   * last records.
   */
  readonly starts: readonly RecordPlace[]
  readonly ends: readonly RecordPlace[]
  constructor(message: string, starts: readonly RecordPlace[], ends: readonly RecordPlace[], cause: unknown) {
    super(message, { cause })
    this.starts = starts
    this.ends = ends
  }
}

/**
 * Returns the error for a failure of the author's code on a record: a RecordFailure if a policy of the record's source
 * lets the engine skip the record, or an error that stops the worker.
 */
export function failureAt(place: RecordPlace, topology: string, processor: string, policies: FailurePolicies, error: unknown): Error {
  const reason = reasonOf(error)
  const message = `${topology}/${processor} failed at ${place.topic}-${place.partition} offset ${place.offset}: ${reason}`
  const stage = stageOf(error)
  if (stage === undefined || policies[stage] === 'fail') return new ProcessorError(message, { cause: error })
  return new RecordFailure(message, place, { stage, code: FAILED_IN[stage], message: reason, processor }, error)
}

export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Returns the stage of a failure; undefined if the failure stops the worker regardless of the source's policies. */
function stageOf(error: unknown): 'process' | 'produce' | undefined {
  if (error instanceof RefusedOutcome || isStateFailure(error)) return undefined
  for (let cause = error; cause instanceof Error; cause = cause.cause) if (cause instanceof OutputError) return 'produce'
  return 'process'
}

/** Adds to a message from `rowProblem` that none of the records since the last commit has caused the problem. */
export function causedByNoRecord(problem: string): string {
  return `${problem}. No record has caused this: look at the topology's ticks, time handlers and beforeCommit hooks`
}

/** Describes why a row of a store cannot be written. */
export function rowProblem({ name }: EngineStore, error: unknown): string {
  const advice = error instanceof TransportError && error.code === 'MESSAGE_TOO_LARGE' ? ': split the value into several keys' : ''
  return `a row of the store ${name} cannot be written: ${reasonOf(error)}${advice}`
}
