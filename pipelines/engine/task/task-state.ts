/**
 * Life of a task:
 *
 *     CREATED ──▶ RESTORING ──▶ RUNNING
 *        │            │            │
 *        └────────────┴────────────┴──▶ CLOSED
 *
 * CREATED    declared, nothing opened
 * RESTORING  its changelogs are read into the state
 * RUNNING    stores are open, records are processed and committed
 * CLOSED     nothing of it may be used again; another task object takes over its partition
 */
export type TaskState = 'CREATED' | 'RESTORING' | 'RUNNING' | 'CLOSED'

const SUCCESSORS: Readonly<Record<TaskState, readonly TaskState[]>> = {
  CREATED: ['RESTORING', 'CLOSED'],
  RESTORING: ['RUNNING', 'CLOSED'],
  RUNNING: ['CLOSED'],
  CLOSED: [],
}

/** A step that the table does not allow: a bug of the engine. */
export class IllegalTaskTransition extends Error {
  override readonly name = 'IllegalTaskTransition'
}

export interface TaskStateMachine {
  readonly current: TaskState
  to(next: TaskState): void
  /** Throws unless the task is in this state. */
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
