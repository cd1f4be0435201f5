import { newestFirst } from '../../../schemas/fraud/cases/case-id.ts'
import { fraudCases } from '../../../schemas/fraud/cases/topics.ts'
import { CASE_STATUSES, isFinal } from '../../../schemas/fraud/cases/transitions.ts'
import type { FraudCase, FraudCaseStatus } from '../../../schemas/fraud/types.ts'
import { listArchivedCases } from '../../../state/tables/fraud/cases.ts'
import { listCases, readCases } from '../../../state/views/fraud/cases.ts'
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
  /** Whether cases that were closed long ago are included. */
  readonly complete: boolean
}

const NO_ARCHIVE = { total: 0, cases: [] }

/**
 * Merges the lists of all partitions and, if closed cases are asked for, those of ClickHouse. Without ClickHouse the
 * list has the cases of the view, because analysts mostly need open ones.
 * Throws ApiError: `invalid_request` beyond the greatest list, `not_ready`.
 */
export async function pageOfCases({ views, tables, facts, log }: CasesDeps, query: CaseQuery): Promise<CasePage> {
  const { status, assigned_to: assignedTo, page, limit } = query
  const count = page * limit
  if (count > MAX_LISTED) throw invalidRequest('query.page', `only the newest ${MAX_LISTED} cases can be listed`)
  const statuses = status === undefined ? CASE_STATUSES : [status]
  const closed = statuses.filter(isFinal)

  const archived =
    closed.length === 0 ? NO_ARCHIVE : listArchivedCases(tables, { statuses: closed, assignedTo, count }).catch(withoutArchive)
  const shown = caughtUp(await listCases(views, facts.partitionsOf(fraudCases), { statuses, assignedTo, count }))
  const old = await archived
  const wholes = new Map(old?.cases.map(({ case_id, whole }) => [case_id, whole]))
  // A request may have brought a case back since the table was written.
  for (const id of shown.ids) wholes.delete(id)

  const ids = [...shown.ids, ...wholes.keys()].sort(newestFirst).slice(count - limit, count)
  const found = new Map(
    (
      await readCases(
        views,
        ids.filter((id) => !wholes.has(id)),
      )
    ).map((one) => [one.case_id, one]),
  )
  const cases = ids.flatMap((id) => found.get(id) ?? parsed(wholes.get(id)) ?? [])
  return { cases, total: shown.total + (old?.total ?? 0), complete: old !== undefined }

  function withoutArchive(error: unknown): undefined {
    log.warn({ reason: (error as Error).message }, 'fraud_cases_without_archive')
    return undefined
  }
}

function parsed(whole: string | undefined): FraudCase | undefined {
  return whole === undefined ? undefined : (JSON.parse(whole) as FraudCase)
}
