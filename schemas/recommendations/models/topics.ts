import { utf8 } from '../../keys.ts'
import { avro } from '../../load.ts'
import { compacted, DAY_MS, HOUR_MS, keptFor } from '../../retention.ts'
import type { Topic } from '../../topic.ts'
import type { ModelHistory, ModelRequest, ModelRun } from '../types.ts'

/** The only key of `recommendation-models` and of requests. */
export const MODELS_KEY = 'models'
/** Retention of runs in Kafka, in days. ClickHouse keeps runs for as long as interactions. */
const RUNS_KEPT_DAYS = 7

/** The existing models, and which of them answer requests. Every API process reads this topic. */
export const recommendationModels: Topic<string, ModelHistory> = {
  name: 'recommendation-models',
  key: utf8,
  value: avro('recommendations/ModelHistory'),
  partitions: 1,
  config: compacted,
}

/**
 * Requests to train, promote, try and roll back models. There is one partition, so that its owner is the only process
 * that changes models.
 */
export const modelRequests: Topic<string, ModelRequest> = {
  name: 'recommendation-model-requests',
  key: utf8,
  value: avro('recommendations/ModelRequest'),
  partitions: 1,
  config: keptFor(DAY_MS, HOUR_MS),
}

/** The state and result of each training run; key: run_id. */
export const modelRuns: Topic<string, ModelRun> = {
  name: 'recommendation-model-runs',
  key: utf8,
  value: avro('recommendations/ModelRun'),
  partitions: 1,
  config: keptFor(RUNS_KEPT_DAYS * DAY_MS, HOUR_MS),
}

export const modelTopics = [recommendationModels, modelRequests, modelRuns]
