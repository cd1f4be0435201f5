import { type OffsetToCommit, partitionKey } from '../../../kafka/transport.ts'
import type { StateBatch, StateSession } from '../../../state/stores/store.ts'
import { putPositions } from '../state/restore.ts'
import type { StreamTask, TaskProgress } from '../task/task.ts'

/**
 * The commit, in five steps. What a crash after each of them leaves behind:
 *
 * 1 encoded        hooks have run, every dirty key is encoded once, into the changelog and the state's batch. Nothing is left.
 * 2 produced       outputs and changelog records lie in the open transaction. Nothing is left: the broker aborts it.
 * 3 offsets-added  the source offsets are part of the transaction. As after 2.
 * 4 committed      the transaction is committed. The state is one commit behind: its changelog tail is replayed at the next start.
 * 5 written        state, changelog positions and source offsets are in the database, in one batch.
 *
 * Steps 2 to 4 wait for the brokers; the next records are processed meanwhile (docs/adr/0007). What they change is none of this commit's: step 1 takes
 * the state's batch and the tasks' positions with it, and the producer holds the next transaction's records back until step 4 is over.
 */
export type CommitFaultPoint = 'encoded' | 'produced' | 'offsets-added' | 'committed' | 'written'

/** Called as each step is passed. Crash tests kill the process, or throw. */
export type CommitFault = (step: CommitFaultPoint) => void

/** What step 1 leaves to the others. */
export interface PreparedCommit {
  /** Source offsets for step 3. */
  readonly offsets: ReadonlyMap<string, OffsetToCommit>
  /** State for step 5. */
  readonly batch: StateBatch
  readonly tasks: readonly { readonly task: StreamTask; readonly progress: TaskProgress }[]
}

/** Step 1 of every task. */
export function encodeCommit(tasks: readonly StreamTask[], session: StateSession, fault: CommitFault | undefined): PreparedCommit {
  const prepared = tasks.map((task) => ({ task, progress: task.prepareCommit() }))
  const batch = session.takeBatch()
  fault?.('encoded')
  const offsets = new Map<string, OffsetToCommit>()
  for (const { progress } of prepared)
    for (const offset of progress.offsets) offsets.set(partitionKey(offset.topic, offset.partition), offset)
  return { offsets, batch, tasks: prepared }
}

/**
 * Step 5: one batch with state, changelog positions and source offsets.
 * @param ends by partition key the offset after the transaction's records
 * @throws what the database throws; the tasks must be closed and restored then
 */
export function writeCommit(
  { batch, tasks }: PreparedCommit,
  ends: ReadonlyMap<string, number>,
  now: number,
  fault: CommitFault | undefined,
): void {
  for (const { task, progress } of tasks) putPositions(batch, task, progress, ends, now)
  batch.write()
  for (const { task } of tasks) task.committed()
  fault?.('written')
}
