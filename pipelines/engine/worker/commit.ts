import { type OffsetToCommit, partitionKey } from '../../../kafka/transport.ts'
import type { StateBatch, StateSession } from '../../../state/stores/store.ts'
import { withChangelogEpochs } from '../state/commit-metadata.ts'
import { type ChangelogEnds, putChangelogEnds, putPositions } from '../state/restore.ts'
import type { StreamTask, TaskProgress } from '../task/task.ts'

/**
 * A commit has five steps. This list shows what each step does, and what remains after a crash just after that step:
 *
 * - 1 encoded: the hooks have run, and every dirty key is encoded once, into the changelog and the state's batch.
 *   Nothing remains.
 * - 2 produced: the open transaction contains the outputs and changelog records. Nothing remains, because the broker
 *   aborts the transaction.
 * - 3 offsets-added: the transaction contains the source offsets. As after step 2, nothing remains.
 * - 4 committed: the transaction is committed. The state is one commit behind; the next start replays the tail of its
 *   changelog.
 * - 5 written: the database contains the state, the changelog positions and the source offsets, written in one batch.
 *
 * Steps 2 to 4 wait for the brokers, and in the meantime the worker processes the next records (docs/adr/0007). The
 * changes of these records are not part of this commit. Step 1 takes the state's batch and the tasks' positions, and
 * the producer holds back the records of the next transaction until step 4 is done.
 */
export type CommitFaultPoint = 'encoded' | 'produced' | 'offsets-added' | 'committed' | 'written'

/** Called after each step of a commit. Crash tests kill the process in this callback, or throw. */
export type CommitFault = (step: CommitFaultPoint) => void

/** The result of step 1. Steps 2 to 5 need it. */
export interface PreparedCommit {
  /** Source offsets for step 3. */
  readonly offsets: ReadonlyMap<string, OffsetToCommit>
  /** State for step 5. */
  readonly batch: StateBatch
  readonly tasks: readonly { readonly task: StreamTask; readonly progress: TaskProgress }[]
}

/**
 * Runs step 1 for every task.
 * @param leaderEpoch returns the latest leader epoch of a changelog; -1 when it is unknown
 */
export function encodeCommit(
  tasks: readonly StreamTask[],
  session: StateSession,
  leaderEpoch: (topic: string, partition: number) => number,
  fault: CommitFault | undefined,
): PreparedCommit {
  const prepared = tasks.map((task) => ({ task, progress: task.prepareCommit() }))
  const batch = session.takeBatch()
  fault?.('encoded')
  const offsets = new Map<string, OffsetToCommit>()
  for (const { task, progress } of prepared)
    for (const offset of progress.offsets)
      offsets.set(partitionKey(offset.topic, offset.partition), withChangelogEpochs(offset, task, session, leaderEpoch))
  return { offsets, batch, tasks: prepared }
}

/**
 * Runs step 5: writes state, changelog positions and source offsets in one batch.
 * @param writtenAt see `putPositions`
 * @throws the error of the database; the tasks must then be closed and restored
 */
export function writeCommit(
  { batch, tasks }: PreparedCommit,
  ends: ChangelogEnds,
  writtenAt: number | undefined,
  fault: CommitFault | undefined,
): void {
  for (const { task, progress } of tasks) {
    putPositions(batch, task, progress, writtenAt)
    putChangelogEnds(batch, task, ends)
  }
  batch.write()
  for (const { task } of tasks) task.committed()
  fault?.('written')
}
