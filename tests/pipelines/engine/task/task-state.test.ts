import { expect, test } from 'vitest'
import { IllegalTaskTransition, type TaskState, taskStateMachine } from '../../../../pipelines/engine/task/task-state.ts'
import { testDriver } from '../../../../pipelines/engine/testing/test-driver.ts'
import { wordCount } from '../words.ts'

const STATES: readonly TaskState[] = ['CREATED', 'RESTORING', 'RUNNING', 'CLOSED']
const PATHS: Record<TaskState, TaskState[]> = {
  CREATED: [],
  RESTORING: ['RESTORING'],
  RUNNING: ['RESTORING', 'RUNNING'],
  CLOSED: ['CLOSED'],
}
const LEGAL = ['CREATED RESTORING', 'CREATED CLOSED', 'RESTORING RUNNING', 'RESTORING CLOSED', 'RUNNING CLOSED']

test.each(STATES.flatMap((from) => STATES.map((to) => [from, to] as const)))(
  'a task goes from %s to %s only if that transition is legal',
  (from, to) => {
    const machine = taskStateMachine('t 0_0')
    for (const step of PATHS[from]) machine.to(step)
    if (LEGAL.includes(`${from} ${to}`)) {
      machine.to(to)
      expect(machine.current).toBe(to)
      return
    }
    expect(() => machine.to(to)).toThrow(IllegalTaskTransition)
    expect(machine.current).toBe(from)
  },
)

test('a task refuses work that its state does not allow', () => {
  const driver = testDriver(wordCount())
  const [task] = driver.tasks
  expect(() => task.beginRestore()).toThrow('cannot go from RUNNING to RESTORING')
  driver.restart()
  expect(() => task.run(() => true)).toThrow('is CLOSED: processing needs RUNNING')
  expect(() => task.prepareCommit()).toThrow('is CLOSED: committing needs RUNNING')
  expect(() => task.close()).toThrow(IllegalTaskTransition)
})
