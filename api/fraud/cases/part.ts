import { partitionOfCase } from '../../../schemas/fraud/cases/case-id.ts'
import { type AnsweredCase, type CaseAnswer, caseFlow } from '../../../schemas/fraud/cases/flow.ts'
import { fraudCases } from '../../../schemas/fraud/cases/topics.ts'
import type { FraudCase, FraudCaseCommand } from '../../../schemas/fraud/types.ts'
import { readTableCase } from '../../../state/tables/fraud/cases.ts'
import { FRAUD_CASES_VIEW, readCase } from '../../../state/views/fraud/cases.ts'
import { jsonAnswer } from '../../kit/answer.ts'
import { ApiError, invalidRequest } from '../../kit/errors.ts'
import { PRIVATE } from '../../kit/headers.ts'
import { caughtUp, viewProbe } from '../../kit/readiness.ts'
import { bind } from '../../kit/route.ts'
import { fraudErrors } from '../errors.ts'
import type { FraudPart } from '../part.ts'
import type { CasesDeps } from './deps.ts'
import { recordVerdict } from './feedback.ts'
import { pageOfCases } from './lists.ts'
import { caseJson, caseWithHistoryJson } from './model.ts'
import { feedbackRoute, listCasesRoute, patchCaseRoute, readCaseRoute } from './routes.ts'

const NOTHING_ASKED: FraudCaseCommand = {
  actor: '',
  reporter: null,
  verdict: null,
  status: null,
  assigned_to: null,
  fraud_type: null,
  notes: null,
  evidence: [],
  case_id: null,
  version: null,
  transaction: null,
  archived: null,
}

/** Creates the routes for cases and feedback. */
export function casesPart(deps: CasesDeps): FraudPart {
  const { views, tables, commands, facts } = deps

  /**
   * Finds a case in the view, or in ClickHouse if the case was closed long ago. Throws ApiError `case_not_found`,
   * `not_ready`, `unavailable`.
   */
  async function find(caseId: string): Promise<{ readonly found: FraudCase; readonly archived: string | null }> {
    const partition = partitionOfCase(caseId)
    if (partition === undefined || partition >= facts.partitionsOf(fraudCases)) throw new ApiError(fraudErrors.case_not_found)
    const shown = caughtUp(await readCase(views, partition, caseId))
    if (shown !== undefined) return { found: shown, archived: null }
    const archived = await readTableCase(tables, caseId)
    if (archived === undefined) throw new ApiError(fraudErrors.case_not_found)
    return { found: JSON.parse(archived) as FraudCase, archived }
  }

  return {
    // The view is optional for readiness, because scoring needs no cases.
    probes: [{ ...viewProbe(views, facts, FRAUD_CASES_VIEW, fraudCases), optional: true }],
    routes: [
      bind(listCasesRoute, async ({ query }) => {
        const { page, limit } = query
        const { cases, total, complete } = await pageOfCases(deps, query)
        return jsonAnswer(200, { cases: cases.map(caseJson), page, limit, total, complete }, PRIVATE)
      }),
      bind(readCaseRoute, async ({ params }) => jsonAnswer(200, caseWithHistoryJson((await find(params.case_id)).found), PRIVATE)),
      bind(patchCaseRoute, async (input) => {
        const { params, body, caller } = input
        const { found, archived } = await find(params.case_id)
        const open = await commands.open(input, ['patch-case', params.case_id, body])
        const { assigned_to, fraud_type, status = null, notes = null, version = null } = body
        const command: FraudCaseCommand = {
          ...NOTHING_ASKED,
          actor: caller!.subject,
          status,
          notes,
          case_id: params.case_id,
          version,
          assigned_to: assigned_to === undefined ? null : { text: assigned_to },
          fraud_type: fraud_type === undefined ? null : { text: fraud_type },
          archived,
        }
        const run = (whole: FraudCaseCommand, step?: string) => open.run(caseFlow, found.transaction.transaction_id, whole, step)
        let answer = await run(command)
        if (answer.outcome === 'not_found') {
          // The case has left the state since the lookup, so the command is sent again with the archived case.
          answer = await run({ ...command, archived: (await readTableCase(tables, params.case_id)) ?? null }, 'archived')
        }
        return jsonAnswer(200, caseJson(decided(answer, fraudErrors.case_not_found)), PRIVATE)
      }),
      bind(feedbackRoute, async (input) => {
        const { params, body, caller } = input
        const id = params.transaction_id
        const open = await commands.open(input, ['fraud-feedback', id, body])
        const { reporter = null, verdict, fraud_type, notes = null, evidence = [], version = null } = body
        const command: FraudCaseCommand = {
          ...NOTHING_ASKED,
          actor: caller!.subject,
          reporter,
          verdict,
          notes,
          evidence,
          version,
          fraud_type: fraud_type === undefined ? null : { text: fraud_type },
        }
        const answer = await recordVerdict(deps, id, command, (read, step) => open.run(caseFlow, id, read, step))
        const recorded = decided(answer, fraudErrors.transaction_not_found)
        return jsonAnswer(200, { status: 'recorded', case_id: recorded.case_id, version: recorded.version }, PRIVATE)
      }),
    ],
  }
}

/** Returns the case after a command, or throws the error that matches the refusal. */
function decided(answer: CaseAnswer, missing: (typeof fraudErrors)['case_not_found']): AnsweredCase {
  switch (answer.outcome) {
    case 'done':
      return answer.found
    case 'not_found':
      throw new ApiError(missing)
    case 'needs_note':
      throw invalidRequest('body.notes', `must say why the verdict ${answer.found.status} is corrected`)
    case 'no_transition':
      throw new ApiError(fraudErrors.case_transition, { fields: { case: caseJson(answer.found) } })
    case 'other_version':
      throw new ApiError(fraudErrors.version_conflict, { fields: { case: caseJson(answer.found) } })
  }
}
