import { reviewOf } from '../../../schemas/fraud/cases/review.ts'
import type { FraudCaseCommand, FraudReview } from '../../../schemas/fraud/types.ts'
import { type Payment, pay } from '../../schemas/fraud/payments.ts'
import { scored } from './scored.ts'

/**
 * Returns a scored transaction with the decision REVIEW. It has the fields that the case about the transaction stores.
 */
export function review(payment: Payment = {}): FraudReview {
  return reviewOf({ ...scored(pay(payment)), decision: 'REVIEW', risk_score: 612, triggered_rules: ['r1'] })
}

/** Returns an analyst's command that changes only the given fields. */
export function caseCommand(asked: Partial<FraudCaseCommand>): FraudCaseCommand {
  return {
    actor: 'ann',
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
    ...asked,
  }
}
