import type { GroupMember, WorkerProducer } from '../../../kafka/transport.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import type { StateSession } from '../../../state/stores/store.ts'
import { putComplete, putPositions } from '../state/restore.ts'
import type { FailedRecords } from '../task/failed-records.ts'
import type { StreamTask } from '../task/task.ts'
import { type CommitFault, encodeCommit, type PreparedCommit, writeCommit } from './commit.ts'
import type { TaskSet } from './task-set.ts'

/**
 * Maximum memory for a transaction: the outputs that brokers have not acknowledged yet, plus the estimated size of the
 * changed rows. At this size, the transaction is committed early, so that memory stays bounded regardless of the commit
 * interval. If the database has little memory, its `batchBytes` limits the changed rows further.
 */
const MAX_TRANSACTION_BYTES = 32 * 1_048_576
/**
 * Maximum number of changed keys in a transaction. Encoding and writing this many blocks the event loop for a fifth of
 * a second.
 */
const MAX_DIRTY_KEYS = 50_000
/**
 * When the open transaction has this many unacknowledged bytes, its large batches are sent (`flushFull`) while
 * processing continues.
 */
const FLUSH_BYTES = 1_048_576
/**
 * Time after which a transaction is committed, regardless of the commit interval, if a part of it was sent with
 * `flushFull`. Together with `LONGEST_STALL_WAIT_MS`, it is shorter than the transaction timeout of 10 s. A longer
 * commit interval would otherwise make every large transaction time out.
 */
const LONGEST_SENT_MS = 2_000
/**
 * Commit interval for positions that have moved only past control records. These commits matter only for the lag that
 * operators see.
 */
const IDLE_POSITION_COMMIT_MS = 1_000
/**
 * Interval at which the write time of idle tasks' state is refreshed, so that the state does not look older than the
 * retention of tombstones.
 */
const AGE_REFRESH_MS = 3_600_000
/**
 * Minimum time between the starts of two commits, as a multiple of the duration of the last commit. A busy broker takes
 * longer for a commit, so the worker then commits less often. Fewer commits relieve the broker, because each of them
 * costs several requests, whatever its size.
 */
const SPACING_PER_COMMIT = 2
/** Upper limit of the minimum time between the starts of two commits. It is low, because callers wait for commits. */
const LONGEST_SPACING_MS = 50
/**
 * How long before the earliest start of the next commit the worker fetches again, so that the commit contains the
 * fetched records. A fetch takes 1 to 2 ms, and processing the records that arrived in a short pause takes about as
 * long.
 */
const FETCH_BEFORE_COMMIT_MS = 4
/** Interval at which a commit checks whether the database can take its rows without blocking the event loop. */
const STALL_CHECK_MS = 10
/**
 * Maximum time that a commit waits for the database's flushes and compactions. It is shorter than the transaction
 * timeout of 10 s, because a part of the transaction may already have been sent.
 */
const LONGEST_STALL_WAIT_MS = 5_000
/** The ends of the changelogs for a transaction without records. */
const NOTHING_SENT: Map<string, number> = new Map()
/** The worker stops after this number of consecutive failed writes to the database (for example, on a full disk). */
const MAX_FAILED_WRITES = 3

/**
 * Decides when the worker commits, and runs the commits, one at a time. While the brokers handle a commit, the worker
 * processes the records of the next one.
 */
export interface Committer {
  /**
   * Finishes a commit that the brokers have answered, and starts one that is due. Waits for the brokers only when the
   * open transaction must not grow any further, or when the tasks have no results and only positions or write times
   * must be saved. Waits for the database while it cannot take rows without blocking the event loop.
   * @param worked true when this turn of the loop processed records
   */
  commitIfDue(worked: boolean): Promise<void>
  /**
   * Commits if time handlers are about to begin and a part of the open transaction was already sent. `commitIfDue` does
   * so when a time becomes due while a task runs, but a task may also start with a time that is due. Must be called
   * after task starts, before the tasks run.
   */
  commitBeforeHandlers(): Promise<void>
  /**
   * Runs all five steps for every task that has something to commit, after a running commit has finished. All tasks
   * must be at rest.
   */
  commit(): Promise<void>
  /**
   * Commits like `commit`. If a row cannot be written, rolls back instead, so that the tasks process the records again
   * and find the one that caused the failure. Rejects with all other errors of `commit`.
   */
  commitOrRollBack(): Promise<void>
  /**
   * Waits for a running commit. Then drops the results since the last commit and restarts the tasks, so that they
   * process the records again. Rejects with the same errors as `commit`.
   */
  rollBack(): Promise<void>
  /** Waits for the end of a running commit, regardless of its outcome. Must be called before an abort. */
  settle(): Promise<void>
  /**
   * Returns the time (epoch ms) until which the loop may wait for input; Infinity if there is nothing to commit, or if
   * a commit is running. The end of that commit wakes the loop.
   */
  waitUntil(now: number): number
  /**
   * Returns how long (in ms) records may collect on the brokers: until shortly before the next commit can begin. A
   * record that is fetched at that time is committed no later than a record that is fetched earlier.
   */
  collectMs(now: number): number
  /**
   * True when the open transaction has reached a limit. In that case, only time handlers that have already begun
   * should continue.
   */
  readonly isFull: boolean
  /** Restarts the commit interval, as if a commit had just begun. */
  reset(): void
  /** Number of commits that the brokers have accepted. */
  readonly commits: number
  /** Number of times that `rollBack` or a failed write of the state has restarted the tasks. */
  readonly restarts: number
}

export interface CommitterDeps {
  readonly topology: string
  readonly tasks: TaskSet
  readonly failed: FailedRecords
  readonly session: StateSession
  readonly producer: WorkerProducer
  readonly group: GroupMember
  /** Returns the latest leader epoch of a partition; -1 when it is unknown. */
  readonly leaderEpoch: (topic: string, partition: number) => number
  readonly commitIntervalMs: number
  /** The commit interval when a task has requested an early commit with `commitSoon`. */
  readonly commitSoonMs: number
  readonly commitWhenIdle: boolean
  readonly runtime: Runtime
  readonly fault: CommitFault | undefined
  readonly onCommit: ((seconds: number) => void) | undefined
  /** Ends the loop's wait for input. */
  readonly wake: () => void
  /** Closes the tasks and restarts them from the last commit. */
  readonly reopen: (tasks: readonly StreamTask[]) => void
}

/** A commit between step 1 and step 5. */
interface UnderWay {
  readonly prepared: PreparedCommit
  /** Tasks that have nothing to commit, but whose write time this commit refreshes. */
  readonly idle: readonly StreamTask[]
  /** Resolves after step 4, with the ends of the changelogs. */
  readonly ends: Promise<Map<string, number>>
  readonly startedAt: number
  /** Epoch ms at which step 1 ended. */
  readonly preparedAt: number
  answered: boolean
}

export function committer(deps: CommitterDeps): Committer {
  const { tasks, session, producer, runtime, commitIntervalMs, commitSoonMs, fault } = deps
  let lastCommitAt = runtime.now()
  let lastAgeRefresh = runtime.now()
  let commits = 0
  let restarts = 0
  let failedWrites = 0
  let underWay: UnderWay | undefined
  /** How long the last commit took from the beginning of step 1 to the answer of the brokers. */
  let lastTookMs = 0
  /**
   * Monotonic time (ms) at which the first part of the open transaction was sent; undefined if nothing was sent. The
   * broker aborts a transaction that stays open beyond its timeout.
   */
  let sentSince: number | undefined

  const hasWork = () => tasks.running().some((task) => task.hasWork)

  const dirtyKeys = () => tasks.running().reduce((sum, task) => sum + task.dirtyKeys, 0)

  const dirtyBytes = () => tasks.running().reduce((sum, task) => sum + task.dirtyBytes, 0)

  function isFull(): boolean {
    const bytes = dirtyBytes()
    return bytes >= session.batchBytes || producer.pendingBytes + bytes >= MAX_TRANSACTION_BYTES || dirtyKeys() >= MAX_DIRTY_KEYS
  }

  /**
   * Returns true when the input pauses, unless `commitWhenIdle` is off. At that point everything on the broker has been
   * processed, so it would not help to wait for the end of the commit interval.
   */
  function commitsAtOnce(): boolean {
    return deps.commitWhenIdle && tasks.running().every((task) => task.caughtUp)
  }

  function isSentLong(): boolean {
    return sentSince !== undefined && runtime.monotonic() - sentSince >= LONGEST_SENT_MS
  }

  /**
   * Returns how long after the last commit the next one is due, unless the transaction is full or the input pauses. If
   * brokers take long to commit, they are busy. In that case, results arrive sooner if commits are fewer and larger.
   */
  function spacingMs(): number {
    const intervalMs = tasks.running().some((task) => task.commitSoon) ? commitSoonMs : commitIntervalMs
    return Math.max(intervalMs, Math.min(lastTookMs * SPACING_PER_COMMIT, LONGEST_SPACING_MS))
  }

  /**
   * Runs step 1. Steps 2 to 4 continue in the background. If there is nothing to send to the brokers, step 5 follows at
   * once.
   */
  async function begin(): Promise<void> {
    await untilWritable()
    const running = tasks.running()
    const involved = running.filter((task) => task.hasWork || task.positionsMoved)
    if (involved.length === 0) return
    const startedAt = runtime.monotonic()
    const moved = involved.some((task) => task.positionsMoved)
    const prepared = encodeCommit(involved, session, deps.leaderEpoch, fault)
    const preparedAt = runtime.now()
    lastCommitAt = preparedAt
    // A tick of the caught-up clock runs in step 1 and often changes nothing, so there may be nothing to send. Without
    // an answer from the brokers, it is unknown whether this worker still owns the partitions, so the write time is not
    // refreshed.
    if (!moved && sentSince === undefined && producer.pendingBytes === 0) return write(prepared, NOTHING_SENT, undefined)
    // This commit also refreshes the write time of idle tasks, because `refreshAge` runs only while no task has work.
    // The brokers accept the commit only from a member, so no request to the group is necessary.
    const refreshes = elapsed(lastAgeRefresh, preparedAt) >= AGE_REFRESH_MS
    if (refreshes) lastAgeRefresh = preparedAt
    const idle = refreshes ? running.filter((task) => !involved.includes(task)) : []
    const ends = producer.commit(prepared.offsets, deps.group)
    const begun: UnderWay = { prepared, idle, ends, startedAt, preparedAt, answered: false }
    underWay = begun
    sentSince = undefined
    function answer(): void {
      begun.answered = true
      lastTookMs = runtime.monotonic() - startedAt
      deps.wake()
    }
    begun.ends.then(answer, answer)
  }

  /**
   * Waits while a write would block the event loop, so that heartbeats, queries and other topologies continue. The
   * topology processes no records in the meantime, so its transaction does not grow.
   */
  async function untilWritable(): Promise<void> {
    const until = runtime.monotonic() + LONGEST_STALL_WAIT_MS
    while (session.nearsStall() && runtime.monotonic() < until) await runtime.sleep(STALL_CHECK_MS)
  }

  /** Waits for steps 2 to 4 of the running commit and runs step 5. */
  async function finish(): Promise<void> {
    if (underWay === undefined) return
    const { prepared, idle, ends, startedAt, preparedAt } = underWay
    try {
      const offsetsAfter = await ends
      commits++
      for (const task of idle) putComplete(prepared.batch, task, preparedAt)
      // The process may have been suspended since the brokers answered, so the present time would be too late.
      await write(prepared, offsetsAfter, preparedAt)
    } catch (error) {
      prepared.batch.drop()
      throw error
    } finally {
      underWay = undefined
    }
    deps.onCommit?.((runtime.monotonic() - startedAt) / 1_000)
  }

  async function write(prepared: PreparedCommit, offsets: ReadonlyMap<string, number>, writtenAt: number | undefined): Promise<void> {
    try {
      writeCommit(prepared, { offsets, leaderEpoch: deps.leaderEpoch }, writtenAt, fault)
      failedWrites = 0
    } catch (error) {
      prepared.batch.drop()
      await onFailedWrite(error)
    }
  }

  /**
   * The transaction is committed but the state is not written, so the tasks restart and read the tail of the changelog.
   * Results that any task has produced in the meantime are dropped, because all tasks share a transaction.
   */
  async function onFailedWrite(error: unknown): Promise<void> {
    failedWrites++
    runtime.log.error({ err: error, topology: deps.topology, failed_writes: failedWrites }, 'state_write_failed')
    if (failedWrites >= MAX_FAILED_WRITES) throw error
    await restart()
  }

  async function restart(): Promise<void> {
    restarts++
    session.dropBatch()
    await producer.abort()
    sentSince = undefined
    deps.reopen(tasks.running())
  }

  async function commit(): Promise<void> {
    await finish()
    await begin()
    await finish()
  }

  async function commitOrRollBack(): Promise<void> {
    try {
      await commit()
    } catch (error) {
      if (!deps.failed.note(error)) throw error
      await rollBack()
    }
  }

  async function rollBack(): Promise<void> {
    await finish()
    await restart()
  }

  /**
   * Refreshes the write time of the state if the group confirms the membership. If the process was suspended for a long
   * time, another worker may have processed the partitions, and the broker may no longer have that worker's tombstones.
   * If this worker then refreshed the write time, it would later keep rows that the other worker has deleted.
   */
  async function refreshAge(now: number): Promise<void> {
    if (elapsed(lastAgeRefresh, now) < AGE_REFRESH_MS) return
    lastAgeRefresh = now
    try {
      await deps.group.heartbeat()
    } catch (error) {
      runtime.log.debug({ err: error, topology: deps.topology }, 'state_age_not_refreshed')
      return
    }
    for (const task of tasks.running()) putPositions(session, task, task.progress(), now)
    session.write()
  }

  async function commitMovedPositions(now: number): Promise<void> {
    if (elapsed(lastCommitAt, now) >= IDLE_POSITION_COMMIT_MS && tasks.running().some((task) => task.positionsMoved)) await commit()
    else if (!tasks.running().some((task) => task.positionsMoved)) await refreshAge(now)
  }

  return {
    async commitIfDue(worked) {
      if (underWay?.answered) await finish()
      if (!tasks.atRest) return
      const now = runtime.now()
      if (!hasWork()) {
        if (underWay === undefined) await commitMovedPositions(now)
        return
      }
      const full = isFull()
      // While another commit is running, the brokers are not ready for the next one, so the open transaction grows.
      if (underWay !== undefined && !full) return
      const { closingDue } = tasks
      const sentEarly = sentSince !== undefined
      const due = full || tasks.commitDue || isSentLong() || elapsed(lastCommitAt, now) >= spacingMs()
      // Time handlers may take longer than the transaction timeout, so a transaction that was partly sent is committed
      // before they begin.
      if (due || (closingDue && sentEarly) || (!worked && commitsAtOnce())) {
        await finish()
        await begin()
        return
      }
      if (closingDue || producer.pendingBytes < FLUSH_BYTES) return
      sentSince ??= runtime.monotonic()
      producer.flushFull(deps.group).catch(() => {}) // The commit throws the same error.
    },
    async commitBeforeHandlers() {
      if (sentSince !== undefined && tasks.closingDue && tasks.atRest) await commit()
    },
    commit,
    commitOrRollBack,
    rollBack,
    async settle() {
      await finish().catch((error) => runtime.log.warn({ err: error, topology: deps.topology }, 'commit_lost'))
    },
    get isFull() {
      return isFull()
    },
    waitUntil(now) {
      if (underWay !== undefined || !hasWork()) return Infinity
      return commitsAtOnce() ? now : lastCommitAt + spacingMs()
    },
    // The minimum time between commits is ignored here. It depends on the duration of the last commit, so it may become
    // shorter when the commit in flight ends.
    collectMs: (now) => Math.max(0, commitSoonMs - elapsed(lastCommitAt, now) - FETCH_BEFORE_COMMIT_MS),
    reset() {
      lastCommitAt = runtime.now()
      sentSince = undefined
    },
    get commits() {
      return commits
    },
    get restarts() {
      return restarts
    },
  }
}

/**
 * Returns the milliseconds between two clock readings; Infinity when the clock was set back, so that nothing waits for
 * the clock to catch up.
 */
function elapsed(since: number, now: number): number {
  return now < since ? Infinity : now - since
}
