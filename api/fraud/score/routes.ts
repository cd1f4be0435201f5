import { errors } from '../../kit/errors.ts'
import { defineRoute, type StreamedBody } from '../../kit/route.ts'
import { fraudErrors } from '../errors.ts'
import { EXAMPLE_PAYMENT } from './example-payment.ts'
import { ScoreAnswerSchema, ScoreRequestSchema } from './model.ts'

const MAX_BODY_BYTES = 65_536
const BODY_TIMEOUT_MS = 5_000

/**
 * The handler checks the body itself, for two reasons: one answer must name faults of all kinds, and no answer may
 * repeat a card number.
 */
const streamed: StreamedBody = {
  content: { 'application/json': { schema: ScoreRequestSchema, example: EXAMPLE_PAYMENT } },
  timeoutMs: BODY_TIMEOUT_MS,
}

export const scoreRoute = defineRoute({
  method: 'post',
  path: '/api/v1/transactions/score',
  operationId: 'scoreTransaction',
  summary: 'Score a transaction',
  description:
    'Decides whether a payment is approved, reviewed or blocked. If part of the service is unavailable, the payment is still scored, and `degraded` names that part. For 24 hours (SCORE_ANSWER_HOURS), a repeated request gets the first answer again, unless one of its entities has been blocked in the meantime or Redis is unavailable.',
  auth: { kind: 'scope', scope: ['internal', 'admin'], orCertificate: true },
  isExemptFromLimits: true,
  isDirect: true,
  streamed,
  maxBodyBytes: MAX_BODY_BYTES,
  answers: { 200: { description: 'The decision.', schema: ScoreAnswerSchema } },
  errors: [fraudErrors.raw_card_number, errors.idempotency_conflict, errors.not_ready],
})
