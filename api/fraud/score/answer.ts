import type { TxnScored } from '../../../schemas/fraud/types.ts'
import type { ScoreAnswer } from './model.ts'

/** Returns the answer to a scoring request in its documented form. */
export function answerOf(scored: Omit<TxnScored, 'features'>): ScoreAnswer {
  const { account_takeover, payment_fraud, money_laundering, evaluated } = scored.ml_scores
  return {
    transaction_id: scored.request.transaction_id,
    decision: scored.decision,
    risk_score: scored.risk_score,
    risk_level: scored.risk_level,
    triggered_rules: scored.triggered_rules,
    ml_scores: { account_takeover, payment_fraud, money_laundering, evaluated },
    requires_3ds: scored.requires_3ds,
    request_id: scored.request_id,
    reason: scored.reason ?? '',
    risk_factors: scored.risk_factors,
    degraded: scored.degraded,
    ruleset_version: scored.ruleset_version,
    policy_version: scored.policy_version,
    model_versions: scored.model_versions,
  }
}
