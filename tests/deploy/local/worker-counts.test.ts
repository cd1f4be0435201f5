import { expect, test } from 'vitest'
import { workerCounts } from '../../../deploy/local/worker-counts.ts'

test('no process is started for a role that has nothing to run in the selected pipelines, because the process would end at once', () => {
  const counts = (pipelines?: string) => workerCounts({ workers: 3, deciders: 2, pipelines })
  expect(counts()).toEqual({ bulk: 3, deciding: 2 })
  expect(counts('all')).toEqual({ bulk: 3, deciding: 2 })
  expect(counts('links')).toEqual({ bulk: 0, deciding: 2 })
  expect(counts('trends')).toEqual({ bulk: 3, deciding: 0 })
  expect(counts('links, clicks')).toEqual({ bulk: 3, deciding: 2 })
})
