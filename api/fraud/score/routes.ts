import { errors } from '../../kit/errors.ts'
import { defineRoute, type StreamedBody } from '../../kit/route.ts'
import { fraudErrors } from '../errors.ts'
import { ScoreAnswerSchema, ScoreRequestSchema } from './model.ts'

const MAX_BODY_BYTES = 65_536
const BODY_TIMEOUT_MS = 5_000

/** A payment as a caller sends it. */
export const EXAMPLE = {
  transaction_id: 't1',
  timestamp: '2026-01-15T12:00:00Z',
  amount: 20,
  currency: 'USD',
  transaction_type: 'PURCHASE',
  payer: { user_id: 'u1', email: 'ada@example.com', account_age_days: 400 },
  payee: { merchant_id: 'm1', merchant_category: 'books', merchant_country: 'DE' },
  payment_instrument: { type: 'CREDIT_CARD', card_hash: 'c1', bin_country: 'DE' },
  device: { fingerprint_id: 'd1', ip_address: '192.0.2.1', geo_location: { lat: 52.5, lng: 13.4 } },
  session: { session_id: 's1', login_method: 'passkey', time_since_login_sec: 40 },
}

/** The handler checks the body itself, so that one answer names all faults, and none repeats a card number. */
const streamed: StreamedBody = {
  content: { 'application/json': { schema: ScoreRequestSchema, example: EXAMPLE } },
  timeoutMs: BODY_TIMEOUT_MS,
}

export const scoreRoute = defineRoute({
  method: 'post',
  path: '/api/v1/transactions/score',
  operationId: 'scoreTransaction',
  summary: 'Score a transaction',
  description:
    'Decides whether a payment is approved, reviewed or blocked. The answer says in `degraded` what was unavailable; scoring itself is never refused for that. A repeated transaction_id gets its first answer.',
  auth: { kind: 'scope', scope: ['internal', 'admin'], orCertificate: true },
  isExemptFromLimits: true,
  streamed,
  maxBodyBytes: MAX_BODY_BYTES,
  answers: { 200: { description: 'The decision.', schema: ScoreAnswerSchema } },
  errors: [fraudErrors.raw_card_number, errors.idempotency_conflict],
})
