import type { FraudCase, FraudFeedback } from '../../../schemas/fraud/types.ts'

/** Returns the feedback from the last change of a case; undefined if that change contained no verdict. */
export function feedbackOf({ case_id, transaction, history }: FraudCase): FraudFeedback | undefined {
  const last = history.at(-1)
  if (last === undefined || last.verdict === null) return undefined
  const { transaction_id, user_id, device, ip, card, merchant } = transaction
  const { verdict, previous_verdict, previous_at, fraud_type, notes, evidence, at } = last
  const reporter = last.reporter ?? last.actor ?? ''
  const entities = { user_id, device, ip, card, merchant }
  return { transaction_id, case_id, verdict, previous_verdict, previous_at, fraud_type, notes, evidence, reporter, at, ...entities }
}
