import { expect, test } from 'vitest'
import type { StreamTask } from '../../../../pipelines/engine/task/task.ts'
import type { Worker } from '../../../../pipelines/engine/worker/worker.ts'
import { workerRunner } from '../../../../pipelines/engine/worker/worker-runner.ts'

const NOTHING_COUNTED = { processed: 0, deadLetters: 0, skipped: [], late: 0, dropped: [], counts: [] }

function lagSample(task: Partial<StreamTask>): number | undefined {
  const status = { tasks: [task], restoring: [], standbys: [], deletedTopics: [], withoutTask: [], schemaFailures: new Map() }
  const worker = { topology: { name: 't' }, status: () => ({ ...status, metrics: NOTHING_COUNTED }) } as unknown as Worker
  return [...workerRunner(worker).samples()].find(({ name }) => name === 'task_lag_records')?.value
}

test('a restoring task has no lag, and a running task has the lag of all its sources', () => {
  const sources = ['a', 'b'].map((topic) => ({ topic, partition: 0 }))
  expect(lagSample({ id: '0-0', sources, state: 'RESTORING', position: () => -1, highWatermark: () => 0 })).toBe(0)
  expect(lagSample({ id: '0-0', sources, state: 'RUNNING', position: () => 3, highWatermark: () => 5 })).toBe(4)
})
