import type { OffsetToCommit } from '../../kafka/transport.ts'
import type { StateSession } from '../../state/stores/store.ts'
import { offsetsOf, putPositions } from './restore.ts'
import type { StreamTask } from './task.ts'

/**
 * The commit, in five steps. What a crash after each of them leaves behind:
 *
 * 1 encoded        hooks have run, every dirty key is encoded once, into the changelog and the state's open batch. Nothing is left.
 * 2 produced       outputs and changelog records lie in the open transaction. Nothing is left: the broker aborts it.
 * 3 offsets-added  the source offsets are part of the transaction. As after 2.
 * 4 committed      the transaction is committed. The state is one commit behind: its changelog tail is replayed at the next start.
 * 5 written        state, changelog positions and source offsets are in the database, in one batch.
 */
export type CommitFaultPoint = 'encoded' | 'produced' | 'offsets-added' | 'committed' | 'written'

/** Called as each step is passed. Crash tests kill the process, or throw. */
export type CommitFault = (step: CommitFaultPoint) => void

/**
 * Step 1 of every task.
 * @returns the source offsets for step 3
 */
export function encodeCommit(tasks: readonly StreamTask[], fault: CommitFault | undefined): Map<string, OffsetToCommit> {
  for (const task of tasks) task.prepareCommit()
  fault?.('encoded')
  return offsetsOf(tasks)
}

/**
 * Step 5: one batch with state, changelog positions and source offsets.
 * @param ends by partition key the offset after the transaction's records
 * @throws what the database throws; the tasks must be closed and restored then
 */
export function writeCommit(
  tasks: readonly StreamTask[],
  session: StateSession,
  ends: ReadonlyMap<string, number>,
  now: number,
  fault: CommitFault | undefined,
): void {
  for (const task of tasks) putPositions(session, task, ends, now)
  session.write()
  for (const task of tasks) task.committed()
  fault?.('written')
}
