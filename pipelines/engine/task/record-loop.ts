import type { RecordChunk } from '../../../kafka/transport.ts'
import { UnknownSchemaError } from '../../../schemas/codec.ts'
import { isStateFailure } from '../../../state/stores/errors.ts'
import type { ChangelogWriter, EngineStore } from '../../../state/stores/store.ts'
import type { TaskTicks, TimeClosing } from '../time/task-time.ts'
import { ProcessorError } from '../topology/errors.ts'
import type { FailedRecords } from './failed-records.ts'
import { increase, type TaskMetrics } from './metrics.ts'
import type { Outputs } from './outputs.ts'
import { failureAt, OutputError, placeOf, reasonOf, rowProblem } from './record-failure.ts'
import { recordOutcomes } from './record-outcomes.ts'
import { FAULTY, MARKER, type RecordQueue } from './record-queue.ts'
import type { TaskContext } from './task-context.ts'
import type { TaskIdling } from './task-idling.ts'

/**
 * Maximum number of records in a slice. The number is large enough to make a multi-get worthwhile, and small enough to
 * keep the decoded objects in V8's young generation.
 */
const SLICE_RECORDS = 4_096
/**
 * Number of bytes of values at which a slice ends. Large records reach this limit before `SLICE_RECORDS`. The event
 * loop is blocked while a slice is decoded and its state is read, so a slice must be small. The limit still allows 512
 * records of a kilobyte, which make a multi-get worthwhile.
 */
const SLICE_BYTES = 512 * 1_024
/**
 * Intended maximum of the bytes of state that a slice prefetches. Prefetched state stays in memory until the records of
 * the slice are processed, and reading it blocks the thread.
 */
const PREFETCH_BYTES = 4 * 1_048_576
/** Maximum number of records in the first slice that prefetches state. The size of the state is still unknown then. */
const FIRST_PREFETCH_RECORDS = 256
/** Factor by which slices that prefetch state may grow from one slice to the next. */
const SLICE_GROWTH = 4
/** Number of records between two clock readings. A large record counts as several records. */
const RECORDS_PER_CLOCK_CHECK = 64
/** A record with a value below this size counts as one record. A larger record counts as several. */
const BYTES_PER_RECORD = 1_024

export interface RecordLoopParts {
  readonly topology: string
  /** The queues of the sources, in the order of their declarations. */
  readonly queues: readonly RecordQueue[]
  /**
   * For each source, in the order of the queues, the object that closes its times; undefined when its stream has no
   * time handlers.
   */
  readonly closings: readonly (TimeClosing | undefined)[]
  readonly idling: TaskIdling
  readonly stores: readonly EngineStore[]
  /**
   * Returns a writer that only checks whether a store's changelog accepts a row; undefined if the store has no
   * changelog.
   */
  readonly rowCheckOf: (store: EngineStore) => ChangelogWriter | undefined
  readonly ticks: TaskTicks
  readonly context: TaskContext
  readonly outputs: Outputs
  readonly metrics: TaskMetrics
  readonly failed: FailedRecords
  /** See `TaskDeps`. */
  readonly isMissing: (schemaId: number) => boolean
}

/**
 * Why a run ended. `idle`: all queued records are processed, or wait for records from another source. `more`: the time
 * limit is reached, a commit must come first, or time handlers are due. Object: a schema must be loaded before the task
 * can continue.
 */
export type RunResult = 'idle' | 'more' | { readonly waitsForSchema: number }

/** Decodes, prefetches and processes the records of one task, slice by slice. */
export interface RecordLoop {
  /** Number of records processed since the last commit. */
  processed: number
  /** Number of these records whose changed rows were not checked. */
  unchecked: number
  readonly atRest: boolean
  /** True when a time can be closed. The next run starts or continues its handlers. */
  readonly closingDue: boolean
  /**
   * True after a failed record was skipped, or after the last record whose changed rows must be checked. The loop then
   * processes nothing more before the next commit, so that a later failure does not make the task repeat the records
   * that it has processed so far.
   */
  commitDue: boolean
  run(expired: () => boolean): RunResult
  /** Continues only the time handlers. */
  runHandlers(expired: () => boolean): void
}

/** Wraps an error from the author's code. The new error names the processor, and the record if there is one. */
export function processorFailed(topology: string, context: TaskContext, error: unknown): Error {
  const place = context.chunk === undefined ? '' : ` at ${context.chunk.topic}-${context.chunk.partition} offset ${context.offset}`
  const failed = context.node?.name ?? 'engine'
  context.node = undefined
  return new ProcessorError(`${topology}/${failed} failed${place}: ${reasonOf(error)}`, { cause: error })
}

export function recordLoop(parts: RecordLoopParts): RecordLoop {
  const { topology, queues, closings, idling, stores, rowCheckOf, ticks, context, outputs, metrics, failed, isMissing } = parts
  /** For each source, true if one of its processors announces its reads. */
  const announces = queues.map((queue) => queue.stream.processors.some(({ reads }) => reads !== undefined))
  const single = queues.length === 1 ? queues[0] : undefined
  const outcomes = recordOutcomes({ topology, context, outputs, metrics, failed })
  /**
   * True while the state of announced reads is not loaded. If a multi-get stops at a value whose schema is not loaded,
   * the multi-get must be repeated before any record is processed.
   */
  let prefetchPending = false
  /** Number of records whose reads were announced since the last multi-get. */
  let announcedRecords = 0
  /** Maximum number of records in the next slice that prefetches state. */
  let prefetchRecords = FIRST_PREFETCH_RECORDS
  let waitsForSchema: number | undefined
  /** True while the rows that records change are checked, after a commit could not write a row. */
  let checking = queues.some((queue) => queue.checksNext)

  const loop: RecordLoop = {
    processed: 0,
    unchecked: 0,
    commitDue: false,
    get atRest() {
      return !closings.some((closing) => closing?.busy === true)
    },
    get closingDue() {
      return closings.some((closing) => closing?.due === true)
    },
    run(expired) {
      const result = runSlices(expired)
      context.node = undefined
      return result
    },
    runHandlers(expired) {
      finishClosing(expired)
      context.node = undefined
    },
  }

  function runSlices(expired: () => boolean): RunResult {
    for (;;) {
      if (!finishClosing(expired) || loop.commitDue) return 'more'
      if (!refill()) return waitsForSchema === undefined ? 'idle' : { waitsForSchema }
      if (processSlice(expired)) return 'more'
      // Time handlers may take long. The run therefore ends here, so that the worker can first commit a transaction
      // that was partly sent.
      if (loop.closingDue) return 'more'
    }
  }

  /** Continues the time handlers. @returns false when the time limit was reached before they finished */
  function finishClosing(expired: () => boolean): boolean {
    for (const closing of closings) {
      if (closing?.due !== true) continue
      try {
        closing.run(expired)
      } catch (error) {
        throw processorFailed(topology, context, error)
      }
      if (closing.due) return false
    }
    return true
  }

  /**
   * Decodes the next slice of every source whose current slice is completely processed, and loads the announced state.
   * @returns false when no record can be processed now
   */
  function refill(): boolean {
    waitsForSchema = undefined
    let ready = false
    for (let i = 0; i < queues.length; i++) {
      const queue = queues[i]
      if (queue.slot === queue.slots) nextSlice(queue, i)
      if (queue.slot < queue.slots) ready = true
      else if (queue.chunk !== undefined) waitsForSchema = queue.waitsForSchema
    }
    // A source that waits for a schema blocks the other sources, because the task processes the records of all sources
    // in the order of their timestamps.
    if (waitsForSchema !== undefined || idling.until(context.now) > context.now) return false
    if (prefetchPending && !loadPrefetched()) return false
    return ready
  }

  function nextSlice(queue: RecordQueue, source: number): void {
    const limit = announces[source] ? prefetchRecords : SLICE_RECORDS
    if (announces[source]) for (const store of stores) store.prefetchFor(source)
    if (queue.chunk === undefined || queue.decode(limit, SLICE_BYTES) === 0) return
    if (announces[source]) announcedRecords += queue.slots
    announceReads(queue)
  }

  function announceReads(queue: RecordQueue): void {
    const { values, keys, timestamps, slots } = queue
    for (const node of queue.stream.processors) {
      const { reads } = node
      if (reads === undefined) continue
      prefetchPending = true
      context.leaveRecord(node, context.now)
      context.source = queue.source
      let slot = queue.slot
      try {
        for (; slot < slots; slot++) {
          context.slot = slot
          if (typeof values[slot] !== 'symbol') reads(values[slot], keys[slot], timestamps[slot])
        }
      } catch (error) {
        context.node = undefined
        throw failureAt(queue.placeAt(slot), topology, node.name, queue.policies, error)
      }
    }
  }

  function loadPrefetched(): boolean {
    try {
      let bytes = 0
      for (const store of stores) bytes += store.loadPrefetched()
      prefetchPending = false
      setPrefetchRecords(bytes)
      return true
    } catch (error) {
      if (!(error instanceof UnknownSchemaError)) throw error
      if (isMissing(error.schemaId))
        throw new ProcessorError(`${topology}: the state has values of schema ${error.schemaId}, which the schema registry does not have`, {
          cause: error,
        })
      waitsForSchema = error.schemaId
      return false
    }
  }

  /**
   * Limits the number of records in the next slices, so that the prefetched state of a slice takes at most
   * `PREFETCH_BYTES`. Cached and absent state is counted as 0 bytes, so a slice may exceed the limit.
   */
  function setPrefetchRecords(bytes: number): void {
    const fitting = Math.floor((announcedRecords * PREFETCH_BYTES) / Math.max(1, bytes))
    prefetchRecords = Math.max(1, Math.min(fitting, prefetchRecords * SLICE_GROWTH, SLICE_RECORDS))
    announcedRecords = 0
  }

  /**
   * Processes the decoded records.
   * @returns true when the time limit is reached or a commit is due, false when a source must be refilled or a time
   * can be closed
   */
  function processSlice(expired: () => boolean): boolean {
    let untilCheck = RECORDS_PER_CLOCK_CHECK
    try {
      for (;;) {
        const queue = single ?? earliest()
        if (queue === undefined || queue.slot === queue.slots) return false
        const value = queue.values[queue.slot]
        const isSpecial = typeof value === 'symbol'
        untilCheck -= 1 + Math.floor(queue.valueBytes() / BYTES_PER_RECORD)
        if (isSpecial) processSpecial(queue, value)
        else processRecord(queue, value)
        queue.advance()
        loop.processed++
        if (checking) {
          checking = queues.some((each) => each.checksNext)
          if (!checking) loop.commitDue = true
          if (loop.commitDue) return true
        } else loop.unchecked++
        if (isSpecial) {
          if (loop.commitDue) return true
          if (value === MARKER && loop.closingDue) return false
        }
        if (queue.slot === queue.slots) return false
        if (untilCheck <= 0) {
          if (expired()) return true
          untilCheck = RECORDS_PER_CLOCK_CHECK
        }
      }
    } catch (error) {
      throw recordFailed(error)
    }
  }

  /** Returns the error to throw after a failure of the current record, or of code that runs between two records. */
  function recordFailed(error: unknown): Error {
    const { node, chunk, row } = context
    const queue = queues.find((each) => each.topic === chunk?.topic)
    if (queue === undefined || chunk === undefined || node?.kind !== 'process') return processorFailed(topology, context, error)
    context.node = undefined
    return failureAt(placeOf(chunk, row), topology, node.name, queue.policies, error)
  }

  /**
   * Returns the source with the oldest next record; undefined if there is none. For equal timestamps, it returns the
   * source that was declared first.
   */
  function earliest(): RecordQueue | undefined {
    let best: RecordQueue | undefined
    let least = Infinity
    for (const queue of queues) {
      if (queue.slot === queue.slots) continue
      const timestamp = (queue.chunk as RecordChunk).timestamps[queue.row]
      if (timestamp < least) {
        least = timestamp
        best = queue
      }
    }
    return best
  }

  function enterRecord(queue: RecordQueue, chunk: RecordChunk): number {
    const { row } = queue
    const timestamp = chunk.timestamps[row]
    context.chunk = chunk
    context.row = row
    context.source = queue.source
    context.slot = queue.slot
    context.topic = queue.topic
    context.key = queue.keys[queue.slot]
    context.timestamp = timestamp
    context.offset = chunk.offsets[row]
    context.emitTimestamp = timestamp
    return timestamp
  }

  function processRecord(queue: RecordQueue, value: unknown): void {
    const chunk = queue.chunk as RecordChunk
    const timestamp = enterRecord(queue, chunk)
    const { processors } = queue.stream
    metrics.processed++
    if (checking) for (const store of stores) store.trackChanges?.()
    for (let i = 0; i < processors.length; i++) {
      const node = processors[i]
      context.node = node
      const outcome = node.process(value, context)
      if (checking) checkRows()
      if (outcome === undefined) continue
      if (!outcomes.settle(queue, outcome)) return
      break
    }
    if (timestamp <= context.streamTime) return
    context.streamTime = timestamp
    if (timestamp >= ticks.nextEvent) ticks.runEvent(timestamp)
  }

  function checkRows(): void {
    for (const store of stores) {
      try {
        store.checkChanges?.(rowCheckOf(store))
      } catch (error) {
        throw isStateFailure(error) ? error : new OutputError(rowProblem(store, error), { cause: error })
      }
    }
  }

  /** Handles faulty records, time markers and records without a value that the source drops. No processor gets them. */
  function processSpecial(queue: RecordQueue, kind: symbol): void {
    enterRecord(queue, queue.chunk as RecordChunk)
    context.node = undefined
    if (kind === FAULTY) {
      const fault = queue.faults.get(queue.slot)
      if (fault === undefined) return
      outcomes.skip(queue, fault)
      // A commit at this point ensures that the records before the failure are repeated only once.
      if (fault.stage !== 'decode') loop.commitDue = true
      return
    }
    if (kind === MARKER) {
      const marker = queue.markers.get(queue.slot)
      if (marker !== undefined) closings[queues.indexOf(queue)]?.accept(marker)
      return
    }
    increase(metrics.dropped, 'tombstone')
  }

  return loop
}
