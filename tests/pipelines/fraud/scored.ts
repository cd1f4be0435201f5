import { featuresOf } from '../../../schemas/fraud/features/features.ts'
import type { FraudRequest, TxnScored } from '../../../schemas/fraud/types.ts'
import { lookedUp, NO_IP_FACTS } from '../../schemas/fraud/payments.ts'

/** Returns the event of an approved transaction. */
export function scored(request: FraudRequest): TxnScored {
  return {
    request,
    ip: NO_IP_FACTS,
    features: featuresOf({ ...request, amount: 1, currency: 'USD' }, NO_IP_FACTS, lookedUp(request, [])).features,
    decision: 'APPROVE',
    risk_score: 0,
    risk_level: 'LOW',
    reason: null,
    requires_3ds: false,
    triggered_rules: [],
    shadow_rules: [],
    ml_scores: { evaluated: false, account_takeover: 0, payment_fraud: 0, money_laundering: 0 },
    challenger_scores: null,
    risk_factors: [],
    degraded: [],
    ruleset_version: 1,
    policy_version: 1,
    model_versions: {},
    request_id: 'r',
    scored_at: request.timestamp,
  }
}
