import type { FraudBlocklistType, FraudSettingsChange, TxnScored } from '../../../schemas/fraud/types.ts'

/** The actor in the audit record. Scoring itself is the actor, because no person changed the answer. */
const SCORING = 'fraud-scoring'

/**
 * Creates the audit record of a repeated request that the blocklist blocks. When the transaction was first answered,
 * none of its entities was on the blocklist.
 * @param entityType type of the entity on the blocklist
 */
export function blockedAgain(first: TxnScored, blocked: TxnScored, entityType: FraudBlocklistType): FraudSettingsChange {
  return {
    subject: `transaction:${blocked.request.transaction_id}`,
    action: 'block_repeated_transaction',
    actor: SCORING,
    at: blocked.scored_at,
    version: null,
    before: JSON.stringify(shown(first)),
    after: JSON.stringify({ ...shown(blocked), entity_type: entityType }),
  }
}

function shown({ decision, risk_score, reason, request_id, scored_at }: TxnScored) {
  return { decision, risk_score, reason, request_id, scored_at: new Date(scored_at).toISOString() }
}
