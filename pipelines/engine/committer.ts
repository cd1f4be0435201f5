import type { GroupMember, WorkerProducer } from '../../kafka/transport.ts'
import type { StateSession } from '../../state/stores/store.ts'
import { type CommitFault, encodeCommit, writeCommit } from './commit.ts'
import { putPositions } from './restore.ts'
import type { StreamTask } from './task.ts'
import type { TaskSet } from './task-set.ts'
import type { EngineLog } from './worker-parts.ts'

/** A transaction is ended before its time when this much waits to be sent: memory is bounded whatever the interval. */
const MAX_TRANSACTION_BYTES = 32 * 1_048_576
/** As above for state: encoding and writing so many keys takes a fifth of a second, in which no heartbeat is sent. */
const MAX_DIRTY_KEYS = 50_000
/** Batches that are full go out beside the work from here on. */
const FLUSH_BYTES = 1_048_576
/** Positions that moved over control records alone are worth a commit this often, for the lag that operators see. */
const IDLE_POSITION_COMMIT_MS = 1_000
/** The state's age is noted this often for tasks without work, so that it does not look older than tombstones are kept. */
const AGE_REFRESH_MS = 3_600_000
/** A database that cannot be written this often in a row (disk full) stops the worker. */
const MAX_FAILED_WRITES = 3

/** Decides when the worker commits, and does it. */
export interface Committer {
  /** @param worked this turn of the loop had records to process */
  commitIfDue(worked: boolean): Promise<void>
  /** All five steps, for every task that has something. All tasks must be at rest. */
  commit(): Promise<void>
  /** Epoch ms until which the loop may wait for input. */
  waitUntil(now: number): number
  /** The open transaction has reached its limits: nothing should be added to it that can wait. */
  readonly isFull: boolean
  /** The last commit counts as just done: nothing is waiting. */
  reset(): void
  readonly commits: number
}

export interface CommitterDeps {
  readonly topology: string
  readonly tasks: TaskSet
  readonly session: StateSession
  readonly producer: WorkerProducer
  readonly group: GroupMember
  readonly commitIntervalMs: number
  readonly commitWhenIdle: boolean
  readonly clock: () => number
  readonly log: EngineLog
  readonly fault: CommitFault | undefined
  readonly onCommit: ((seconds: number) => void) | undefined
  /** Closes the tasks and starts them anew from the last commit. */
  readonly reopen: (tasks: readonly StreamTask[]) => void
}

export function committer(deps: CommitterDeps): Committer {
  const { tasks, session, producer, clock, commitIntervalMs, fault } = deps
  let lastCommitAt = clock()
  let lastAgeRefresh = clock()
  let commits = 0
  let failedWrites = 0
  /** Something was sent: the broker has opened the transaction, and aborts it when its time is up. */
  let sentEarly = false

  const hasWork = () => tasks.running().some((task) => task.hasWork)

  const dirtyKeys = () => tasks.running().reduce((sum, task) => sum + task.dirtyKeys, 0)

  const isFull = () => producer.pendingBytes >= MAX_TRANSACTION_BYTES || dirtyKeys() >= MAX_DIRTY_KEYS

  /** The input pauses: everything that the broker has is processed, so that waiting would win nothing. */
  function commitsAtOnce(): boolean {
    return deps.commitWhenIdle && tasks.running().every((task) => task.caughtUp)
  }

  async function commit(): Promise<void> {
    const involved = tasks.running().filter((task) => task.hasWork || task.positionsMoved)
    if (involved.length === 0) return
    const startedAt = performance.now()
    const offsets = encodeCommit(involved, fault)
    const ends = await producer.commit(offsets, deps.group)
    lastCommitAt = clock()
    sentEarly = false
    commits++
    try {
      writeCommit(involved, session, ends, lastCommitAt, fault)
      failedWrites = 0
    } catch (error) {
      onFailedWrite(error, involved)
    }
    deps.onCommit?.((performance.now() - startedAt) / 1_000)
  }

  /** The transaction is committed and the state is behind: the tasks begin anew and read the changelog's tail. */
  function onFailedWrite(error: unknown, involved: readonly StreamTask[]): void {
    session.dropBatch()
    failedWrites++
    deps.log.error({ err: error, topology: deps.topology, failed_writes: failedWrites }, 'state_write_failed')
    if (failedWrites >= MAX_FAILED_WRITES) throw error
    deps.reopen(involved)
  }

  function refreshAge(now: number): void {
    if (elapsed(lastAgeRefresh, now) < AGE_REFRESH_MS) return
    lastAgeRefresh = now
    for (const task of tasks.running()) putPositions(session, task, new Map(), now)
    session.write()
  }

  async function commitMovedPositions(now: number): Promise<void> {
    if (elapsed(lastCommitAt, now) >= IDLE_POSITION_COMMIT_MS && tasks.running().some((task) => task.positionsMoved)) await commit()
    else if (!tasks.running().some((task) => task.positionsMoved)) refreshAge(now)
  }

  return {
    async commitIfDue(worked) {
      if (!tasks.atRest) return
      const now = clock()
      if (!hasWork()) return commitMovedPositions(now)
      const { closingDue } = tasks
      const due = elapsed(lastCommitAt, now) >= commitIntervalMs || isFull()
      // Time handlers may take longer than the broker keeps a transaction open.
      if (due || (closingDue && sentEarly) || (!worked && commitsAtOnce())) return commit()
      if (closingDue || producer.pendingBytes < FLUSH_BYTES) return
      sentEarly = true
      producer.flushFull().catch(() => {}) // The commit meets the same failure.
    },
    commit,
    get isFull() {
      return isFull()
    },
    waitUntil(now) {
      if (!hasWork()) return Infinity
      return commitsAtOnce() ? now : lastCommitAt + commitIntervalMs
    },
    reset() {
      lastCommitAt = clock()
      sentEarly = false
    },
    get commits() {
      return commits
    },
  }
}

/** Milliseconds between two readings of the clock; endless when it was set back, so that nothing waits until it has caught up. */
function elapsed(since: number, now: number): number {
  return now < since ? Infinity : now - since
}
