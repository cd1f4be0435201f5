import { type CountedRequest, entitiesOf } from '../events.ts'
import type { FraudReview, TxnScored } from '../types.ts'

/** The data of a scored transaction that a case needs. */
export interface ReviewedTransaction extends Pick<TxnScored, 'decision' | 'risk_score' | 'triggered_rules' | 'risk_factors' | 'scored_at'> {
  readonly request: CountedRequest
}

export function reviewOf({ request, decision, risk_score, triggered_rules, risk_factors, scored_at }: ReviewedTransaction): FraudReview {
  const { transaction_id, amount, currency } = request
  const { user: _user, ...entities } = entitiesOf(request)
  const user_id = request.payer.user_id
  return { transaction_id, user_id, ...entities, amount, currency, decision, risk_score, triggered_rules, risk_factors, scored_at }
}
