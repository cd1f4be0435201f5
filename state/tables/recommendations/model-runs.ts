import type { ModelRun } from '../../../schemas/recommendations/types.ts'
import { readRows, type TableReader } from '../reader.ts'
import type { Table } from '../table.ts'
import { isoMonth, isoTime, isoTimeOrNull } from '../time.ts'

const KEPT_DAYS = 90

/**
 * The state and result of each training run, kept for 90 days. Fed by `recommendation-model-runs`. Read it with FINAL.
 */
export const modelRunsTable: Table<string, ModelRun> = {
  name: 'model_runs',
  columns: [
    'run_id String',
    'request_ids Array(String)',
    'state LowCardinality(String)',
    'reason String',
    'version Nullable(String)',
    'compared_with Nullable(String)',
    "started_at DateTime64(3, 'UTC')",
    "ended_at Nullable(DateTime64(3, 'UTC'))",
    "learned_until Nullable(DateTime64(3, 'UTC'))",
    'metrics Map(String, Float64)',
  ],
  orderBy: '(started_at, run_id)',
  partitionBy: 'toYYYYMM(started_at)',
  ttl: `toDateTime(started_at) + INTERVAL ${KEPT_DAYS} DAY`,
  rowsOf: (_id, run) =>
    run === null
      ? []
      : [
          {
            ...run,
            started_at: isoTime(run.started_at),
            ended_at: isoTimeOrNull(run.ended_at),
            learned_until: isoTimeOrNull(run.learned_until),
          },
        ],
  partitionOf: (_id, { started_at }) => isoMonth(started_at),
}

/** Reads the last training runs, newest first. */
export async function readModelRuns(reader: TableReader, count: number): Promise<ModelRun[]> {
  const rows = await readRows<RunRow>(reader, RUNS_QUERY, { count })
  return rows.map(([run_id, request_ids, state, reason, version, compared_with, started_at, ended_at, learned_until, metrics]) => {
    return { run_id, request_ids, state, reason, version, compared_with, started_at, ended_at, learned_until, metrics }
  })
}

const RUNS_QUERY = `
SELECT run_id, request_ids, state, reason, version, compared_with, toUnixTimestamp64Milli(started_at),
  toUnixTimestamp64Milli(ended_at), toUnixTimestamp64Milli(learned_until), metrics
FROM model_runs FINAL
ORDER BY model_runs.started_at DESC
LIMIT {count:UInt32}`

type RunRow = [
  string,
  string[],
  ModelRun['state'],
  string,
  string | null,
  string | null,
  number,
  number | null,
  number | null,
  Record<string, number>,
]
