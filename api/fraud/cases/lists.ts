import { newestFirst } from '../../../schemas/fraud/cases/case-id.ts'
import { fraudCases } from '../../../schemas/fraud/cases/topics.ts'
import { CASE_STATUSES, isFinal } from '../../../schemas/fraud/cases/transitions.ts'
import type { FraudCase, FraudCaseStatus } from '../../../schemas/fraud/types.ts'
import { listArchivedCases, readTableCases } from '../../../state/tables/fraud/cases.ts'
import { listCases, readCases } from '../../../state/views/fraud/cases.ts'
import { withDeadline } from '../../kit/deadline.ts'
import { invalidRequest } from '../../kit/errors.ts'
import { caughtUp } from '../../kit/readiness.ts'
import type { CasesDeps } from './deps.ts'
import { MAX_LISTED } from './model.ts'

export interface CaseQuery {
  readonly status?: FraudCaseStatus | undefined
  readonly assigned_to?: string | undefined
  readonly page: number
  readonly limit: number
}

export interface CasePage {
  readonly cases: readonly FraudCase[]
  readonly total: number
  /** False if archived cases may be missing, because they could not be read from ClickHouse. */
  readonly complete: boolean
}

/**
 * Time limit of each query to ClickHouse. Few analysts look for archived cases, so the list does not wait long for
 * these cases.
 */
const ARCHIVE_TIMEOUT_MS = 2_000
const NOTHING = { total: 0, ids: [] }
const NO_ROWS: ReadonlyMap<string, string> = new Map()

/**
 * Returns a page of the merged case lists of all partitions. A list that may contain closed cases also includes the
 * cases that are archived in ClickHouse, if ClickHouse responds. Throws ApiError: `invalid_request` for a page beyond
 * `MAX_LISTED`, `not_ready`.
 */
export async function pageOfCases(deps: CasesDeps, query: CaseQuery): Promise<CasePage> {
  const { views, facts } = deps
  const { status, assigned_to: assignedTo, page, limit } = query
  const from = (page - 1) * limit
  if (from >= MAX_LISTED) throw invalidRequest('query.page', `only the newest ${MAX_LISTED} cases can be listed`)
  // The last page ends at MAX_LISTED, so it may have fewer cases than `limit`.
  const count = Math.min(from + limit, MAX_LISTED)
  const wanted = { statuses: status === undefined ? CASE_STATUSES : [status], assignedTo, count }

  const archivedStatuses = wanted.statuses.filter(isFinal)
  const archive =
    archivedStatuses.length === 0
      ? NOTHING
      : fromTable(deps, (tables) => listArchivedCases(tables, { ...wanted, statuses: archivedStatuses }))
  const shown = caughtUp(await listCases(views, facts.partitionsOf(fraudCases), wanted))
  const archived = await archive

  const ids = [...new Set([...shown.ids, ...(archived ?? NOTHING).ids])].sort(newestFirst).slice(from, count)
  const found = new Map((await readCases(views, ids)).map((one) => [one.case_id, one]))
  const missing = ids.filter((id) => !found.has(id))
  const old = missing.length === 0 ? NO_ROWS : await fromTable(deps, (tables) => readTableCases(tables, missing))
  const cases = ids.flatMap((id) => found.get(id) ?? parsed(old?.get(id)) ?? [])
  return { cases, total: shown.total + (archived ?? NOTHING).total, complete: archived !== undefined && old !== undefined }
}

/** Reads archived cases from ClickHouse. Returns undefined if the query fails or takes too long. */
async function fromTable<T>({ tables, log }: CasesDeps, read: (tables: CasesDeps['tables']) => Promise<T>): Promise<T | undefined> {
  try {
    return await withDeadline(read(tables), ARCHIVE_TIMEOUT_MS, () => new Error('ClickHouse did not respond in time'))
  } catch (error) {
    log.warn({ reason: (error as Error).message }, 'fraud_cases_without_archive')
    return undefined
  }
}

function parsed(whole: string | undefined): FraudCase | undefined {
  return whole === undefined ? undefined : (JSON.parse(whole) as FraudCase)
}
