import { hash32 } from '../hash.ts'

/** Share of the transactions that the challenger scores. */
const CHALLENGER_SHARE = 0.05
const TWO_TO_32 = 2 ** 32

/**
 * Returns whether a challenger scores this transaction. All processes get the same result, and so does a repeated
 * request.
 */
export function isChallengersShare(transactionId: string): boolean {
  return hash32(`challenger:${transactionId}`) < CHALLENGER_SHARE * TWO_TO_32
}
