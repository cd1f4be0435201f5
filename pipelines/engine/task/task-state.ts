/**
 * The states of a task:
 *
 *     CREATED ──▶ RESTORING ──▶ RUNNING
 *        │            │            │
 *        └────────────┴────────────┴──▶ CLOSED
 *
 * - CREATED: nothing is open yet
 * - RESTORING: the changelogs are being read into the state
 * - RUNNING: the stores are open; records are processed and committed
 * - CLOSED: the task must not be used; a new task object takes over the partition
 */
export type TaskState = 'CREATED' | 'RESTORING' | 'RUNNING' | 'CLOSED'

const SUCCESSORS: Readonly<Record<TaskState, readonly TaskState[]>> = {
  CREATED: ['RESTORING', 'CLOSED'],
  RESTORING: ['RUNNING', 'CLOSED'],
  RUNNING: ['CLOSED'],
  CLOSED: [],
}

/**
 * Thrown for a forbidden transition between states, and for an operation on a task in the wrong state. Both are bugs in
 * the engine.
 */
export class IllegalTaskTransition extends Error {
  override readonly name = 'IllegalTaskTransition'
}

export interface TaskStateMachine {
  readonly current: TaskState
  to(next: TaskState): void
  /**
   * Throws IllegalTaskTransition unless the task is in this state.
   * @param doing the operation that needs this state, for the message
   */
  expect(state: TaskState, doing: string): void
}

export function taskStateMachine(taskId: string): TaskStateMachine {
  let current: TaskState = 'CREATED'
  return {
    get current() {
      return current
    },
    to(next) {
      if (!SUCCESSORS[current].includes(next)) throw new IllegalTaskTransition(`task ${taskId} cannot go from ${current} to ${next}`)
      current = next
    },
    expect(state, doing) {
      if (current !== state) throw new IllegalTaskTransition(`task ${taskId} is ${current}: ${doing} needs ${state}`)
    },
  }
}
