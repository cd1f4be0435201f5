import { NO_FEATURES } from '../../../api/fraud/score/no-features.ts'
import { readRequest } from '../../../api/fraud/score/read-request.ts'
import { personalHashes } from '../../../schemas/fraud/personal-hash.ts'
import type { TxnScored } from '../../../schemas/fraud/types.ts'

const HASHES = personalHashes('bench')

/** Returns an event like those that the API publishes, with constant scores. @param body the request as JSON */
export function scoredPayment(body: string, now: number): TxnScored {
  return {
    request: readRequest(JSON.parse(body), HASHES, now),
    ip: { geo_country: 'US', is_vpn: false, is_tor: false, is_datacenter: false },
    features: { ...NO_FEATURES, amount_usd: 1 },
    decision: 'APPROVE',
    risk_score: 12,
    risk_level: 'LOW',
    reason: null,
    requires_3ds: false,
    triggered_rules: ['generated-1', 'generated-2'],
    shadow_rules: [],
    ml_scores: { evaluated: true, account_takeover: 0.01, payment_fraud: 0.02, money_laundering: 0.03 },
    challenger_scores: null,
    risk_factors: [],
    degraded: [],
    ruleset_version: 1,
    policy_version: 1,
    model_versions: { account_takeover: 'shipped', payment_fraud: 'shipped', money_laundering: 'shipped' },
    request_id: 'bench',
    scored_at: now,
  }
}
