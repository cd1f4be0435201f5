import {
  FencedError,
  type Fetcher,
  type OffsetToCommit,
  type PartitionData,
  type TopicPartition,
  TransportError,
} from '../../../kafka/transport.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import type { SinkMetrics } from './metrics.ts'
import type { BadRecord, PartitionQueue, Taken } from './queue.ts'
import { type PartitionFacts, type SinkTarget, TargetUnavailableError, type WriteResult } from './target.ts'

/**
 * One partition on its way into the target, from its assignment to its revocation.
 * ```
 * opening ──target answered──▶ running ──target stands elsewhere──▶ opening
 *    └────────────close─────────▶ closing ◀──close──┘
 *                                    └──nothing under way──▶ closed
 * ```
 */
export type LaneState = 'opening' | 'running' | 'closing' | 'closed'

const LEGAL_NEXT: { readonly [state in LaneState]: readonly LaneState[] } = {
  opening: ['running', 'closing'],
  running: ['opening', 'closing'],
  closing: ['closed'],
  closed: [],
}

export interface LaneDeps {
  readonly target: SinkTarget
  readonly fetcher: Fetcher
  readonly metrics: SinkMetrics
  readonly newQueue: (isMissing: (schemaId: number) => boolean) => PartitionQueue
  readonly factsOf: (partition: TopicPartition) => Promise<PartitionFacts>
  /** Rejects with FencedError when the membership is lost. */
  readonly confirmOwnership: () => Promise<void>
  readonly loadSchema: (schemaId: number) => Promise<'loaded' | 'not-found'>
  /** Keeps records that cannot be used; undefined: they are only counted. */
  readonly deadLetters: ((bad: readonly BadRecord[]) => Promise<void>) | undefined
  /** Its random numbers spread the retries of many partitions. */
  readonly runtime: Pick<Runtime, 'random' | 'log'>
}

/** Only the sink's loop calls these; what runs meanwhile leaves its result for the next `step`. */
export interface Lane {
  readonly partition: TopicPartition
  readonly state: LaneState
  /** Offset behind what the target holds; undefined while nothing is known or held. */
  readonly applied: number | undefined
  readonly caughtUp: boolean
  /** Offsets of the log's end, as of the last fetch, that are not applied. */
  readonly lag: number
  /** Bytes that wait to be written. */
  readonly queuedBytes: number
  push(data: PartitionData): void
  /** Takes results and starts what is due; never waits. Throws what stops the sink. `now`: of a clock that is never set back, ms. */
  step(now: number): void
  /** When the next step is due by itself, by the same clock. */
  dueAt(now: number): number
  /** What is not written is dropped: the next owner reads it again. */
  close(): void
  /** What there is to commit since the last call. */
  takeCommit(): OffsetToCommit | undefined
}

/** A target that restarts is back within a second or two; one that is down for long is asked every five. */
const FIRST_RETRY_MS = 50
const LONGEST_RETRY_MS = 5_000
/** Fetched bytes that may wait for the target, per partition; above it the partition is not fetched. */
const MAX_QUEUED_BYTES = 4 * 1024 * 1024
/** A wrong schema id is asked for once in this time; a schema that is registered late is found after it. */
const MISSING_SCHEMA_KEPT_MS = 30_000
const NEVER = Number.POSITIVE_INFINITY

/** A lost membership comes as an event too, which closes the lane. */
function isPassing(error: unknown): error is Error {
  return error instanceof TargetUnavailableError || error instanceof FencedError || (error instanceof TransportError && !error.fatal)
}

type Job = () => Promise<() => void>

export function openLane(partition: TopicPartition, deps: LaneDeps): Lane {
  const { target, fetcher, metrics } = deps
  const { log } = deps.runtime
  /** When the registry said that it has no such schema. */
  const missingSchemas = new Map<number, number>()
  let state: LaneState = 'opening'
  let queue = deps.newQueue(isMissing)
  let applied: number | undefined
  let committed: number | undefined
  /** The log's end when reading began: reaching it is what makes the target complete. */
  let goal: number | undefined
  let highWatermark = 0
  let caughtUp = false
  let paused = false
  /** When the oldest record arrived that waits in the queue. */
  let waitingSince = NEVER
  let lastWriteAt = 0
  /** The batch in hand, until the target has it. */
  let pending: Job | undefined
  let busy = false
  let settle: (() => void) | undefined
  let failures = 0
  let retryAt = 0
  let clock = 0

  function become(next: LaneState): void {
    if (!LEGAL_NEXT[state].includes(next)) throw new Error(`a lane cannot go from ${state} to ${next}`)
    state = next
  }

  function isMissing(schemaId: number): boolean {
    const since = missingSchemas.get(schemaId)
    if (since === undefined) return false
    if (clock - since < MISSING_SCHEMA_KEPT_MS) return true
    missingSchemas.delete(schemaId)
    return false
  }

  /** Runs a job; its result waits for the next step. */
  function start(job: Job): void {
    busy = true
    pending = job
    job()
      .then(
        (result) => {
          settle = () => {
            pending = undefined
            if (failures > 0) log.info({ ...partition, target: target.name, attempts: failures + 1 }, 'sink_goes_on')
            failures = 0
            result()
          }
        },
        (error: unknown) => {
          settle = () => failed(error)
        },
      )
      .then(() => fetcher.wake())
  }

  function failed(error: unknown): void {
    if (state === 'closing') return
    if (!isPassing(error)) throw error
    metrics.retries++
    if (failures === 0) log.warn({ ...partition, target: target.name, reason: error.message }, 'sink_waits')
    const wait = Math.min(FIRST_RETRY_MS * 2 ** failures, LONGEST_RETRY_MS)
    failures++
    retryAt = clock + wait * (0.5 + deps.runtime.random() / 2)
  }

  const open: Job = async () => {
    const facts = await deps.factsOf(partition)
    const next = await target.open(partition, facts)
    return () => {
      if (state !== 'opening') return
      become('running')
      applied = next
      committed = undefined
      goal = undefined
      caughtUp = false
      if (next !== undefined && next < facts.start) {
        metrics.lostRecords += facts.start - next
        log.warn({ ...partition, target: target.name, from: next, to: facts.start }, 'sink_records_lost_to_retention')
      }
      log.info({ ...partition, target: target.name, next, start: facts.start, end: facts.end }, 'sink_partition_opened')
      fetcher.assign(partition, Math.max(next ?? facts.start, facts.start), 'earliest')
    }
  }

  function reopen(): void {
    become('opening')
    metrics.rewinds++
    log.warn({ ...partition, target: target.name, expected: applied }, 'sink_target_stands_elsewhere')
    unfetch()
    queue = deps.newQueue(isMissing)
    waitingSince = NEVER
    applied = undefined
    caughtUp = false
  }

  function unfetch(): void {
    fetcher.unassign(partition)
    paused = false
  }

  function push(data: PartitionData): void {
    if (state !== 'running') return
    const wasEmpty = queue.records === 0
    queue.push(data)
    goal ??= data.highWatermark
    highWatermark = data.highWatermark
    if (wasEmpty && queue.records > 0) waitingSince = clock
    balance()
  }

  /** Back-pressure: a partition whose target is slow is not fetched. */
  function balance(): void {
    if (!paused && queue.bytes > MAX_QUEUED_BYTES) {
      paused = true
      fetcher.pause(partition)
    } else if (paused && queue.bytes < MAX_QUEUED_BYTES / 2) {
      paused = false
      fetcher.resume(partition)
    }
  }

  function step(now: number): void {
    clock = now
    if (settle) {
      const take = settle
      settle = undefined
      busy = false
      take()
    }
    if (busy) return
    if (state === 'closing') {
      become('closed')
      return
    }
    if (state === 'closed' || now < retryAt) return
    if (pending) start(pending)
    else if (state === 'opening') start(open)
    else if (isBatchDue(now)) writeBatch()
    else if (isEmptyWriteDue(now)) write({ records: [], bad: [], next: Math.max(applied ?? 0, queue.end ?? 0), count: 0 })
  }

  function isBatchDue(now: number): boolean {
    const { maxRecords, maxBytes, lingerMs } = target.limits
    if (queue.records === 0) return false
    return queue.records >= maxRecords || queue.bytes >= maxBytes || now - waitingSince >= lingerMs || paused
  }

  function isEmptyWriteDue(now: number): boolean {
    if (queue.records > 0 || goal === undefined || queue.end === undefined) return false
    if (!caughtUp && queue.end >= goal) return true
    return now >= nextProbeAt()
  }

  /** All partitions are probed at the same moments: the process wakes up once for all of them. */
  function nextProbeAt(): number {
    const { probeEveryMs } = target
    return probeEveryMs === undefined ? NEVER : (Math.floor(lastWriteAt / probeEveryMs) + 1) * probeEveryMs
  }

  function writeBatch(): void {
    const taken = queue.take(target.limits)
    waitingSince = queue.records > 0 ? clock : NEVER
    balance()
    if (taken) write(taken)
    else if (queue.waitsForSchema !== undefined) start(loadSchema(queue.waitsForSchema))
  }

  function loadSchema(schemaId: number): Job {
    return async () => {
      const found = await deps.loadSchema(schemaId).catch((error: unknown) => {
        throw new TargetUnavailableError(`schema ${schemaId} cannot be loaded: ${(error as Error).message}`, { cause: error })
      })
      return () => {
        if (found === 'not-found') missingSchemas.set(schemaId, clock)
        // It was due before it had to wait.
        waitingSince = -Infinity
      }
    }
  }

  function write({ records, bad, next, count }: Taken): void {
    const reachesGoal = goal !== undefined && next >= goal
    const attempt = target.prepare({ partition, records, expected: applied, next, caughtUp: reachesGoal })
    let isKept = bad.length === 0 || deps.deadLetters === undefined
    start(async () => {
      if (!isKept) await deps.deadLetters?.(bad)
      isKept = true
      if (target.confirmsOwnership && records.length > 0) await deps.confirmOwnership()
      const result = await attempt()
      return () => written(result, next, reachesGoal, count, bad.length)
    })
  }

  function written(result: WriteResult, next: number, reachesGoal: boolean, count: number, bad: number): void {
    lastWriteAt = clock
    if (result.outcome === 'elsewhere') {
      if (state === 'running') reopen()
      return
    }
    applied = next
    metrics.badRecords += bad
    metrics.applied += count - bad
    if (count > 0) metrics.batches++
    if (reachesGoal && !caughtUp) {
      caughtUp = true
      log.info({ ...partition, target: target.name, next }, 'sink_partition_caught_up')
    }
  }

  function dueAt(now: number): number {
    if (settle) return now
    if (busy || state === 'closed') return NEVER
    if (state === 'closing') return now
    if (state === 'opening' || pending) return retryAt
    const linger = queue.records > 0 ? waitingSince + target.limits.lingerMs : NEVER
    return Math.max(retryAt, Math.min(linger, nextProbeAt()))
  }

  function close(): void {
    if (state === 'closing' || state === 'closed') return
    become('closing')
    unfetch()
    if (!busy) become('closed')
  }

  function takeCommit(): OffsetToCommit | undefined {
    if (applied === undefined || applied === committed) return undefined
    committed = applied
    return { ...partition, offset: applied, metadata: target.commitMetadata }
  }

  return {
    partition,
    get state() {
      return state
    },
    get applied() {
      return applied
    },
    get caughtUp() {
      return caughtUp
    },
    get lag() {
      return Math.max(0, highWatermark - (applied ?? 0))
    },
    get queuedBytes() {
      return queue.bytes
    },
    push,
    step,
    dueAt,
    close,
    takeCommit,
  }
}
