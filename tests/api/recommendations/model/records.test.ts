import { expect, test } from 'vitest'
import { MODELS_KEY, modelRequests, modelRuns, recommendationModels } from '../../../../schemas/recommendations/models/topics.ts'
import type { ModelRun } from '../../../../schemas/recommendations/types.ts'
import { modelRunsTable } from '../../../../state/tables/recommendations/model-runs.ts'
import { START } from '../../kit/harness.ts'

const RUN: ModelRun = {
  run_id: 'run-1',
  request_ids: [],
  state: 'IN_FORCE',
  reason: '',
  version: 'v1',
  compared_with: null,
  started_at: START,
  ended_at: null,
  learned_until: START,
  metrics: { ndcg: 0.5 },
}

test('one record names the models, so that its topics have one partition and keep their order', () => {
  expect([recommendationModels, modelRequests, modelRuns].map(({ partitions }) => partitions)).toEqual([1, 1, 1])
  expect(MODELS_KEY).toBe('models')
})

test('a run of the training is one row, which is kept by the month of its start', () => {
  expect(modelRunsTable.rowsOf(RUN.run_id, RUN)).toEqual([
    { ...RUN, started_at: new Date(START).toISOString(), ended_at: null, learned_until: new Date(START).toISOString() },
  ])
  expect(modelRunsTable.rowsOf(RUN.run_id, null)).toEqual([])
})
