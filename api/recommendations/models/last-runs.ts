import type { ModelRun } from '../../../schemas/recommendations/types.ts'
import { readModelRuns } from '../../../state/tables/recommendations/model-runs.ts'
import { withDeadline } from '../../kit/deadline.ts'
import type { ServiceKit } from '../../service.ts'

/**
 * Time limit of the query. It is shorter than for other queries, because the other parts of the response, such as the
 * models in force, must not wait long for a ClickHouse that hangs.
 */
const READ_RUNS_MS = 2_000

/** Returns the last training runs, newest first; undefined if they cannot be read now. */
export async function lastRuns(
  { tables, log }: Pick<ServiceKit, 'tables' | 'log'>,
  count: number,
): Promise<readonly ModelRun[] | undefined> {
  try {
    return await withDeadline(readModelRuns(tables, count), READ_RUNS_MS, () => new Error(`no answer within ${READ_RUNS_MS} ms`))
  } catch (error) {
    log.warn({ err: error }, 'model_runs_unreadable')
    return undefined
  }
}
