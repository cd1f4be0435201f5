/** The data that a payment service has without the scoring service. */
export interface FallbackInput {
  /** In USD. */
  readonly amount: number
  /** Undefined if unknown. */
  readonly accountAgeDays: number | undefined
}

export interface FallbackVerdict {
  readonly decision: 'APPROVE' | 'REVIEW'
  /** True if the payment is approved but should be monitored afterwards. */
  readonly monitor: boolean
}

const SMALL_AMOUNT = 100
const LARGE_AMOUNT = 1_000
const OLD_ACCOUNT_DAYS = 90
const NEW_ACCOUNT_DAYS = 7

/**
 * Decides on a payment in the calling payment service while the scoring service does not respond (see
 * docs/services/fraud.md#the-callers-fallback). The function imports nothing, so that callers can copy it. An amount
 * that is not a number results in REVIEW.
 *
 * @example callersFallback({ amount: 50, accountAgeDays: 400 }) // { decision: 'APPROVE', monitor: false }
 */
export function callersFallback({ amount, accountAgeDays }: FallbackInput): FallbackVerdict {
  if (amount < SMALL_AMOUNT && accountAgeDays !== undefined && accountAgeDays > OLD_ACCOUNT_DAYS) {
    return { decision: 'APPROVE', monitor: false }
  }
  const isNew = accountAgeDays !== undefined && accountAgeDays < NEW_ACCOUNT_DAYS
  if (!(amount <= LARGE_AMOUNT) || isNew) return { decision: 'REVIEW', monitor: false }
  return { decision: 'APPROVE', monitor: true }
}
