import { z } from '@hono/zod-openapi'
import { errors } from '../../kit/errors.ts'
import { pageLimitParameter, pageParameter } from '../../kit/parameters.ts'
import { defineRoute } from '../../kit/route.ts'
import { fraudErrors } from '../errors.ts'
import {
  analyst,
  CaseListSchema,
  CasePatchBody,
  CaseSchema,
  CaseWithHistorySchema,
  caseId,
  caseStatus,
  FeedbackBody,
  MAX_LISTED,
  RecordedSchema,
  transactionId,
} from './model.ts'

const ANALYST = { kind: 'scope', scope: ['fraud:analyst', 'admin'] } as const
const params = z.object({ case_id: caseId })

export const listCasesRoute = defineRoute({
  method: 'get',
  path: '/api/v1/cases',
  operationId: 'listCases',
  summary: 'List cases, newest first',
  description: 'Only the newest 10,000 cases that match can be listed.',
  auth: ANALYST,
  query: z.object({
    status: caseStatus.optional().openapi({ description: 'Returns only cases with this status.' }),
    assigned_to: analyst.optional().openapi({ description: 'Returns only cases that are assigned to this analyst.' }),
    page: pageParameter(MAX_LISTED),
    limit: pageLimitParameter('cases'),
  }),
  answers: { 200: { description: 'A page of cases.', schema: CaseListSchema } },
  errors: [errors.not_ready],
})

export const readCaseRoute = defineRoute({
  method: 'get',
  path: '/api/v1/cases/{case_id}',
  operationId: 'readCase',
  summary: 'Get a case with its history',
  description: 'A case that was closed more than 30 days ago can be read only while ClickHouse is available.',
  auth: ANALYST,
  params,
  answers: { 200: { description: 'The case.', schema: CaseWithHistorySchema } },
  errors: [fraudErrors.case_not_found, errors.query_too_large, errors.not_ready],
})

export const patchCaseRoute = defineRoute({
  method: 'patch',
  path: '/api/v1/cases/{case_id}',
  operationId: 'changeCase',
  summary: 'Change a case',
  description: 'A final status is a verdict and is recorded as feedback. Correcting a verdict requires notes.',
  auth: ANALYST,
  idempotent: true,
  params,
  body: CasePatchBody,
  bodyExample: { assigned_to: 'ann', status: 'IN_REVIEW' },
  answers: { 200: { description: 'The changed case.', schema: CaseSchema } },
  errors: [fraudErrors.case_not_found, fraudErrors.case_transition, fraudErrors.version_conflict, errors.query_too_large, errors.not_ready],
})

export const feedbackRoute = defineRoute({
  method: 'post',
  path: '/api/v1/transactions/{transaction_id}/feedback',
  operationId: 'giveFeedback',
  summary: 'Give a verdict about a transaction',
  description:
    'Closes the case of the transaction, or escalates it if the verdict is SUSPICIOUS. If the transaction has no case, a case is opened first. Correcting a verdict requires notes.',
  auth: ANALYST,
  idempotent: true,
  params: z.object({ transaction_id: transactionId }),
  body: FeedbackBody,
  bodyExample: { verdict: 'CONFIRMED_FRAUD', fraud_type: 'stolen_card', notes: 'The user did not make this payment.' },
  answers: { 200: { description: 'The verdict is recorded.', schema: RecordedSchema } },
  errors: [fraudErrors.transaction_not_found, fraudErrors.version_conflict, errors.query_too_large, errors.not_ready],
})
