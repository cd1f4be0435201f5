import type { Fetcher, OffsetToCommit, PartitionData, TopicPartition } from '../../../kafka/transport.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import { missingSchemas } from '../missing-schemas.ts'
import { laneBuffer } from './lane-buffer.ts'
import type { LaneTools } from './lane-tools.ts'
import { lostRecords } from './lost-records.ts'
import type { SinkMetrics } from './metrics.ts'
import { OwnedElsewhereError } from './ownership.ts'
import { isPassing } from './passing.ts'
import type { BadRecord, Taken } from './queue.ts'
import { retriedJob } from './retried-job.ts'
import { type PartitionFacts, type RefuseRecords, type SinkTarget, TargetUnavailableError, type WriteResult } from './target.ts'

/**
 * The states of a lane. A lane copies one partition into the target, from the partition's assignment to its
 * revocation.
 * ```
 * opening ──target answered──▶ running ──target at another offset, or other owner──▶ opening
 *    └────────────close─────────▶ closing ◀──close──┘
 *                                    └──no request in flight──▶ closed
 * ```
 */
export type LaneState = 'opening' | 'running' | 'closing' | 'closed'

/** The states that may follow each state. */
const LEGAL_NEXT: { readonly [state in LaneState]: readonly LaneState[] } = {
  opening: ['running', 'closing'],
  running: ['opening', 'closing'],
  closing: ['closed'],
  closed: [],
}

/** Checks a transition. @returns `next` @throws Error if a lane cannot change from `state` to `next` */
export function laneStateAfter(state: LaneState, next: LaneState): LaneState {
  if (!LEGAL_NEXT[state].includes(next)) throw new Error(`a lane cannot go from ${state} to ${next}`)
  return next
}

export interface LaneDeps extends LaneTools {
  readonly target: SinkTarget
  readonly fetcher: Fetcher
  readonly metrics: SinkMetrics
  /** Stores records that cannot be used; if undefined, such records are only counted. */
  readonly deadLetters: ((bad: readonly BadRecord[]) => Promise<void>) | undefined
  readonly runtime: Pick<Runtime, 'now' | 'random' | 'log'>
}

/**
 * Reads one partition for a sink. Only the sink's loop calls the methods of a lane. Background work leaves its result
 * for the next `step`.
 */
export interface Lane {
  readonly partition: TopicPartition
  readonly state: LaneState
  /**
   * The offset before which all records are applied or, in a sink that delivers records, done. Undefined while it is
   * unknown or the target contains nothing.
   */
  readonly applied: number | undefined
  readonly caughtUp: boolean
  /** True when a process with an earlier version of the sink owns and serves the partition. */
  readonly isOwnedElsewhere: boolean
  /** Number of offsets from `applied` to the end that the log had at the last fetch. */
  readonly lag: number
  /** Number of bytes that wait to be written. */
  readonly queuedBytes: number
  push(data: PartitionData): void
  /**
   * Applies finished results and starts everything that is due, without waiting. Throws errors that must stop the sink.
   * @param now milliseconds of a monotonic clock
   */
  step(now: number): void
  /** Returns the time, by the clock of `step`, at which the next step is due if nothing else happens. */
  dueAt(now: number): number
  /** Begins to close the lane. Drops the records that still wait to be written; the next owner reads them again. */
  close(): void
  /**
   * Returns the offset to commit, if the offset or its metadata has changed since the last commit, or if the last
   * commit is older than `COMMIT_AGAIN_MS`.
   */
  takeCommit(now: number): OffsetToCommit | undefined
  /** Must be called when a commit has failed, so that the lane offers its offset again. */
  commitFailed(): void
}

/**
 * Interval at which the offsets of idle partitions are committed again. Kafka deletes the offsets of a group without
 * members when they have not been committed for some time (by default seven days).
 */
export const COMMIT_AGAIN_MS = 3_600_000
const NEVER = Number.POSITIVE_INFINITY

export function openLane(partition: TopicPartition, deps: LaneDeps): Lane {
  const { target, fetcher, metrics, runtime } = deps
  const { log } = runtime
  const missing = missingSchemas(() => clock)
  const buffer = laneBuffer(partition, fetcher, target.limits, () => deps.newQueue(missing.has))
  const lost = lostRecords({ partition, target: target.name, metrics, log })
  const job = retriedJob({
    wake: fetcher.wake,
    runtime,
    onRecovery: (attempts) => log.info({ ...partition, target: target.name, attempts }, 'sink_recovered'),
    onFailure: failed,
  })
  let state: LaneState = 'opening'
  let applied: number | undefined
  let committed: number | undefined
  let committedAt = 0
  /**
   * The latest leader epoch in which the log is known to contain all records before `applied`; undefined when no such
   * epoch is known.
   */
  let leaderEpoch: number | undefined
  /** The end of the log when reading began. The target has caught up when it reaches this offset. */
  let goal: number | undefined
  let highWatermark = 0
  /** The end of the records that could be read at `fetchedAt`. Records of open transactions may follow it. */
  let stableEnd = 0
  /** Time of the fetch that returned `stableEnd`, epoch ms. */
  let fetchedAt: number | undefined
  let caughtUp = false
  let isOwnedElsewhere = false
  let lastWriteAt = 0
  let clock = 0

  function become(next: LaneState): void {
    state = laneStateAfter(state, next)
  }

  function failed(error: unknown, isFirst: boolean): 'repeat' | 'drop' {
    if (state === 'closing') return 'drop'
    isOwnedElsewhere = error instanceof OwnedElsewhereError
    if (isOwnedElsewhere && state === 'running') {
      reopen()
      return 'drop'
    }
    if (!isPassing(error)) throw error
    metrics.retries++
    if (isFirst) log.warn({ ...partition, target: target.name, reason: error.message }, 'sink_waits')
    return 'repeat'
  }

  async function open(): Promise<() => void> {
    const facts = await deps.factsOf(partition)
    const next = await target.open(partition, facts)
    const first = next ?? (await firstNeeded(facts))
    return () => opened(facts, next, first)
  }

  /** Returns the offset of the first record that a target without data of the partition needs. */
  async function firstNeeded({ start, end }: PartitionFacts): Promise<number> {
    if (target.neededMs === undefined) return start
    // Records that are appended after the end was read are needed, so the end is a safe offset if no record is found.
    return (await deps.offsetSince(partition, runtime.now() - target.neededMs)) ?? end
  }

  function opened(facts: PartitionFacts, next: number | undefined, first: number): void {
    if (state !== 'opening') return
    become('running')
    applied = next
    committed = undefined
    goal = undefined
    caughtUp = false
    isOwnedElsewhere = false
    if (next !== undefined) lost.note(next, facts.start)
    log.info({ ...partition, target: target.name, next, start: facts.start, end: facts.end }, 'sink_partition_opened')
    const from = Math.max(first, facts.start)
    leaderEpoch = from === facts.committed?.offset ? facts.committed.leaderEpoch : undefined
    fetcher.assign(partition, from, 'earliest', leaderEpoch)
  }

  function reopen(): void {
    become('opening')
    metrics.rewinds++
    log.warn({ ...partition, target: target.name, expected: applied, isOwnedElsewhere }, 'sink_target_moved')
    buffer.clear()
    applied = undefined
    caughtUp = false
  }

  function push(data: PartitionData): void {
    if (state !== 'running') return
    lost.noteSkipped(buffer.end, data)
    goal ??= data.highWatermark
    highWatermark = data.highWatermark
    stableEnd = data.lastStableOffset
    fetchedAt = data.fetchedAt
    leaderEpoch = data.leaderEpoch
    buffer.push(data, clock)
  }

  function step(now: number): void {
    clock = now
    job.takeResult(now)
    if (job.isBusy) return
    if (state === 'closing') {
      become('closed')
      return
    }
    if (state === 'closed' || now < job.retryAt) return
    if (job.mustRepeat) job.repeat()
    else if (state === 'opening') job.start(open)
    else if (buffer.isBatchDue(now)) writeBatch()
    else if (isEmptyWriteDue(now)) write({ records: [], bad: [], next: Math.max(applied ?? 0, buffer.end ?? 0), count: 0 })
  }

  function isEmptyWriteDue(now: number): boolean {
    if (!canWriteEmpty()) return false
    if (!caughtUp && (buffer.end as number) >= (goal as number)) return true
    return now >= nextProbeAt()
  }

  function canWriteEmpty(): boolean {
    return buffer.isEmpty && goal !== undefined && buffer.end !== undefined
  }

  /**
   * Returns the time of the next probe. All partitions have the same time, so that the process wakes up only once for
   * all probes.
   */
  function nextProbeAt(): number {
    const { probeEveryMs } = target
    // No probe is possible while records are in the buffer, or before the first fetch ends. If a time in the past were
    // returned in these cases, the loop would not wait.
    if (probeEveryMs === undefined || !canWriteEmpty()) return NEVER
    return (Math.floor(lastWriteAt / probeEveryMs) + 1) * probeEveryMs
  }

  function writeBatch(): void {
    const taken = buffer.take(clock)
    if (taken) write(taken)
    else if (buffer.waitsForSchema !== undefined) loadSchema(buffer.waitsForSchema)
  }

  function loadSchema(schemaId: number): void {
    job.start(async () => {
      const found = await deps.loadSchema(schemaId).catch((error: unknown) => {
        throw new TargetUnavailableError(`schema ${schemaId} cannot be loaded: ${(error as Error).message}`, { cause: error })
      })
      return () => {
        if (found === 'not-found') missing.add(schemaId)
        // The batch was already due before its schema had to be loaded, so it does not wait for more records.
        buffer.hurry()
      }
    })
  }

  function write({ records, bad, next, count }: Taken): void {
    const reachesGoal = goal !== undefined && next >= goal
    let isKept = bad.length === 0 || deps.deadLetters === undefined
    let refused = 0

    const refuse: RefuseRecords = async (refusals) => {
      const letters = refusals.map(({ at, reason }): BadRecord => {
        const { chunk, row } = records[at]
        return { chunk, row, code: 'refused_by_target', message: reason }
      })
      await deps.deadLetters?.(letters)
      refused = refusals.length
    }

    // The batch is complete even if records of open transactions follow it, because consumers cannot read these records
    // yet and compaction keeps them. If several workers write to a topic, some transaction may be open at any time.
    const completeAt = next >= stableEnd ? fetchedAt : undefined
    const attempt = target.prepare({ partition, records, expected: applied, next, caughtUp: reachesGoal, completeAt, refuse })
    job.start(async () => {
      if (!isKept) await deps.deadLetters?.(bad)
      isKept = true
      if (target.confirmsOwnership && records.length > 0) await deps.confirmOwnership(partition)
      const result = await attempt()
      return () => written(result, next, reachesGoal, count, bad.length + refused)
    })
  }

  function written(result: WriteResult, next: number, reachesGoal: boolean, count: number, bad: number): void {
    lastWriteAt = clock
    if (result.outcome === 'offset-mismatch') {
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
    if (job.hasResult) return now
    if (job.isBusy || state === 'closed') return NEVER
    if (state === 'closing') return now
    if (state === 'opening' || job.mustRepeat) return job.retryAt
    return Math.max(job.retryAt, Math.min(buffer.batchDueAt, nextProbeAt()))
  }

  function close(): void {
    if (state === 'closing' || state === 'closed') return
    become('closing')
    buffer.clear()
    if (!job.isBusy) become('closed')
  }

  function takeCommit(now: number): OffsetToCommit | undefined {
    if (applied === undefined || (applied === committed && now - committedAt < COMMIT_AGAIN_MS)) return undefined
    committed = applied
    committedAt = now
    return { ...partition, offset: applied, metadata: target.commitMetadata, leaderEpoch }
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
    get isOwnedElsewhere() {
      return isOwnedElsewhere
    },
    get lag() {
      return Math.max(0, highWatermark - (applied ?? 0))
    },
    get queuedBytes() {
      return buffer.bytes
    },
    push,
    step,
    dueAt,
    close,
    takeCommit,
    commitFailed() {
      committed = undefined
    },
  }
}
