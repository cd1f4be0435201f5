import type { GroupMember, WorkerProducer } from '../../../kafka/transport.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import type { StateSession } from '../../../state/stores/store.ts'
import { putPositions } from '../state/restore.ts'
import type { StreamTask } from '../task/task.ts'
import { type CommitFault, encodeCommit, type PreparedCommit, writeCommit } from './commit.ts'
import type { TaskSet } from './task-set.ts'

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

/**
 * Decides when the worker commits, and does it. At most one commit is under way; while the brokers are busy with it, the worker goes on with the
 * records of the next one.
 */
export interface Committer {
  /**
   * Ends a commit that the brokers are done with, and begins one that is due. Waits only when what was done meanwhile must not grow.
   * @param worked this turn of the loop had records to process
   */
  commitIfDue(worked: boolean): Promise<void>
  /** All five steps, for every task that has something, after those of a commit under way. All tasks must be at rest. */
  commit(): Promise<void>
  /** Waits for the end of a commit under way, whatever it is. Before this nothing can be aborted. */
  settle(): Promise<void>
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
  readonly runtime: Runtime
  readonly fault: CommitFault | undefined
  readonly onCommit: ((seconds: number) => void) | undefined
  /** Ends the loop's wait for input. */
  readonly wake: () => void
  /** Closes the tasks and starts them anew from the last commit. */
  readonly reopen: (tasks: readonly StreamTask[]) => void
}

/** A commit between step 1 and step 5. */
interface UnderWay {
  readonly prepared: PreparedCommit
  /** Steps 2 to 4. */
  readonly ends: Promise<Map<string, number>>
  readonly startedAt: number
  answered: boolean
}

export function committer(deps: CommitterDeps): Committer {
  const { tasks, session, producer, runtime, commitIntervalMs, fault } = deps
  let lastCommitAt = runtime.now()
  let lastAgeRefresh = runtime.now()
  let commits = 0
  let failedWrites = 0
  let underWay: UnderWay | undefined
  /** Something was sent: the broker has opened the transaction, and aborts it when its time is up. */
  let sentEarly = false

  const hasWork = () => tasks.running().some((task) => task.hasWork)

  const dirtyKeys = () => tasks.running().reduce((sum, task) => sum + task.dirtyKeys, 0)

  const isFull = () => producer.pendingBytes >= MAX_TRANSACTION_BYTES || dirtyKeys() >= MAX_DIRTY_KEYS

  /** The input pauses: everything that the broker has is processed, so that waiting would win nothing. */
  function commitsAtOnce(): boolean {
    return deps.commitWhenIdle && tasks.running().every((task) => task.caughtUp)
  }

  /** Step 1; steps 2 to 4 go on by themselves. */
  function begin(): void {
    const involved = tasks.running().filter((task) => task.hasWork || task.positionsMoved)
    if (involved.length === 0) return
    const startedAt = runtime.monotonic()
    const prepared = encodeCommit(involved, session, fault)
    const begun: UnderWay = { prepared, ends: producer.commit(prepared.offsets, deps.group), startedAt, answered: false }
    underWay = begun
    lastCommitAt = runtime.now()
    sentEarly = false
    function answer(): void {
      begun.answered = true
      deps.wake()
    }
    begun.ends.then(answer, answer)
  }

  /** Waits for steps 2 to 4 of the commit under way; step 5. */
  async function finish(): Promise<void> {
    if (underWay === undefined) return
    const { prepared, ends, startedAt } = underWay
    try {
      const offsetsAfter = await ends
      commits++
      await write(prepared, offsetsAfter)
    } catch (error) {
      prepared.batch.drop()
      throw error
    } finally {
      underWay = undefined
    }
    deps.onCommit?.((runtime.monotonic() - startedAt) / 1_000)
  }

  async function write(prepared: PreparedCommit, ends: ReadonlyMap<string, number>): Promise<void> {
    try {
      writeCommit(prepared, ends, runtime.now(), fault)
      failedWrites = 0
    } catch (error) {
      prepared.batch.drop()
      await onFailedWrite(error)
    }
  }

  /**
   * The transaction is committed and the state is behind: the tasks begin anew and read the changelog's tail. The records that they have processed
   * meanwhile are dropped, and with them those of all tasks, since they lie in one transaction.
   */
  async function onFailedWrite(error: unknown): Promise<void> {
    failedWrites++
    runtime.log.error({ err: error, topology: deps.topology, failed_writes: failedWrites }, 'state_write_failed')
    if (failedWrites >= MAX_FAILED_WRITES) throw error
    session.dropBatch()
    await producer.abort()
    deps.reopen(tasks.running())
  }

  async function commit(): Promise<void> {
    await finish()
    begin()
    await finish()
  }

  function refreshAge(now: number): void {
    if (elapsed(lastAgeRefresh, now) < AGE_REFRESH_MS) return
    lastAgeRefresh = now
    for (const task of tasks.running()) putPositions(session, task, task.progress(), new Map(), now)
    session.write()
  }

  async function commitMovedPositions(now: number): Promise<void> {
    if (elapsed(lastCommitAt, now) >= IDLE_POSITION_COMMIT_MS && tasks.running().some((task) => task.positionsMoved)) await commit()
    else if (!tasks.running().some((task) => task.positionsMoved)) refreshAge(now)
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
      // The interval may pass meanwhile: the batch grows, and its commit begins when the brokers have time for it.
      if (underWay !== undefined && !full) return
      const { closingDue } = tasks
      const due = full || elapsed(lastCommitAt, now) >= commitIntervalMs
      // Time handlers may take longer than the broker keeps a transaction open.
      if (due || (closingDue && sentEarly) || (!worked && commitsAtOnce())) {
        await finish()
        begin()
        return
      }
      if (closingDue || producer.pendingBytes < FLUSH_BYTES) return
      sentEarly = true
      producer.flushFull().catch(() => {}) // The commit meets the same failure.
    },
    commit,
    async settle() {
      await finish().catch((error) => runtime.log.warn({ err: error, topology: deps.topology }, 'commit_lost'))
    },
    get isFull() {
      return isFull()
    },
    waitUntil(now) {
      if (underWay !== undefined || !hasWork()) return Infinity
      return commitsAtOnce() ? now : lastCommitAt + commitIntervalMs
    },
    reset() {
      lastCommitAt = runtime.now()
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
