import type { FraudBlocklistType, FraudVerdict } from '../../../schemas/fraud/types.ts'
import type { CameBack } from '../send.ts'
import type { PlannedPayment } from './plan.ts'

interface Call extends CameBack {
  readonly api: number
  /** When the request was sent, in epoch ms. All processes of a round share one clock. */
  readonly from: number
  readonly to: number
}

/** A scoring request and its response. */
export interface ScoreCall extends Call {
  readonly payment: PlannedPayment
  /** Amount in the body. If a payment is sent with two different bodies, they differ only in their amounts. */
  readonly amount: number
}

export interface BlockCall extends Call {
  readonly type: FraudBlocklistType
  readonly value: string
}

export interface FeedbackCall extends Call {
  readonly id: string
  readonly verdict: FraudVerdict
  readonly reporter: string
}

/** A request that changes the rule, and the name that the change gives to the rule. */
export interface RuleCall extends Call {
  readonly name: string
}

/** Id of the only rule that a round changes. */
export const RULE_ID = 'chaos'

/** All calls of a round. */
export interface Calls {
  readonly scores: ScoreCall[]
  readonly blocks: BlockCall[]
  readonly feedback: FeedbackCall[]
  readonly rules: RuleCall[]
}

/** Difference between the amounts in the two bodies of a payment. */
export const OTHER_AMOUNT = 0.5

/**
 * Returns the body of a scoring request.
 * @param at time of the payment, ISO 8601
 */
export function scoreBody(payment: PlannedPayment, amount: number, at: string) {
  const { id, user, device, ip, card, email, merchant, currency, accountAgeDays } = payment
  return {
    transaction_id: id,
    timestamp: at,
    amount,
    currency,
    transaction_type: 'PURCHASE',
    payer: { user_id: user, email, account_age_days: accountAgeDays },
    payee: { merchant_id: merchant },
    payment_instrument: { type: 'CARD', card_hash: card },
    device: { fingerprint_id: device, ip_address: ip },
  }
}

export function wasAnswered({ status }: CameBack): boolean {
  return status === 200 || status === 201
}
