import { z } from '@hono/zod-openapi'
import { errors } from '../../kit/errors.ts'
import { defineRoute } from '../../kit/route.ts'
import { fraudErrors } from '../errors.ts'
import { OPERATORS } from '../operators.ts'
import { AssignmentSchema, ModelsSchema, ReportSchema, VersionsSchema } from './model.ts'

export const modelsRoute = defineRoute({
  method: 'get',
  path: '/api/v1/models',
  operationId: 'readFraudModels',
  summary: 'Get the models in force and the available models',
  description: 'A model is available if the answering process can read its manifest.',
  auth: OPERATORS,
  answers: { 200: { description: 'The models.', schema: ModelsSchema } },
  errors: [errors.not_ready],
})

export const modelReportRoute = defineRoute({
  method: 'get',
  path: '/api/v1/models/report',
  operationId: 'readFraudModelReport',
  summary: 'Get a report on the quality of the models',
  description:
    'The report covers a uniform sample of at most about a million transactions of the last 30 days. The curves of a model include only transactions that the version in use scored as part of the champion. A transaction is treated as fraud if its newest verdict is fraud. All other transactions are treated as normal. Drift compares the last day with the 29 days before it.',
  auth: OPERATORS,
  answers: { 200: { description: 'The report.', schema: ReportSchema } },
  errors: [errors.query_too_large, errors.unavailable],
})

export const challengerRoute = defineRoute({
  method: 'post',
  path: '/api/v1/models/challenger',
  operationId: 'setFraudChallenger',
  summary: 'Put models on trial, or end the trial',
  description:
    "The challenger scores 5 % of the transactions, which are chosen by a hash of transaction_id. Its scores do not affect decisions. The challenger uses the champion's version of every model that the body omits. `versions: null` ends the trial.",
  auth: OPERATORS,
  idempotent: true,
  body: z.strictObject({ versions: VersionsSchema.nullable() }).openapi('FraudChallengerBody'),
  bodyExample: { versions: { payment_fraud: '2' } },
  answers: { 200: { description: 'The models after the change.', schema: AssignmentSchema } },
  errors: [fraudErrors.model_not_found, fraudErrors.no_challenger, errors.not_ready],
})

export const promoteRoute = defineRoute({
  method: 'post',
  path: '/api/v1/models/promote',
  operationId: 'promoteFraudChallenger',
  summary: 'Make the challenger the champion',
  description:
    'Makes the challenger the champion, together with its thresholds. The trial must have lasted 7 days, and the model process of the answering API must not have refused the models. `force` skips both checks. It requires the scope `admin`, and the audit log records its use.',
  auth: OPERATORS,
  idempotent: true,
  body: z.strictObject({ force: z.boolean().optional() }).openapi('FraudPromoteBody'),
  bodyExample: {},
  answers: { 200: { description: 'The models after the change.', schema: AssignmentSchema } },
  errors: [fraudErrors.no_challenger, fraudErrors.challenger_too_young, fraudErrors.challenger_refused, errors.forbidden, errors.not_ready],
})

export const rollBackModelsRoute = defineRoute({
  method: 'post',
  path: '/api/v1/models/rollback',
  operationId: 'rollBackFraudModels',
  summary: 'Restore the previous champion',
  description: 'Also restores the policy of that champion, as a new version of the policy.',
  auth: OPERATORS,
  idempotent: true,
  answers: { 200: { description: 'The models after the change.', schema: AssignmentSchema } },
  errors: [fraudErrors.no_previous_models, errors.not_ready],
})
