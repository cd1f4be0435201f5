import type { FraudCaseStatus, FraudVerdict } from '../types.ts'

type FinalVerdict = Exclude<FraudVerdict, 'SUSPICIOUS'>

/**
 * The statuses that may follow each status. In addition, the verdict SUSPICIOUS may reopen a case with a final status.
 */
const NEXT: Readonly<Record<FraudCaseStatus, readonly FraudCaseStatus[]>> = {
  OPEN: ['IN_REVIEW', 'ESCALATED', 'CONFIRMED_FRAUD', 'FALSE_POSITIVE'],
  IN_REVIEW: ['ESCALATED', 'CONFIRMED_FRAUD', 'FALSE_POSITIVE'],
  ESCALATED: ['IN_REVIEW', 'CONFIRMED_FRAUD', 'FALSE_POSITIVE'],
  CONFIRMED_FRAUD: ['FALSE_POSITIVE'],
  FALSE_POSITIVE: ['CONFIRMED_FRAUD'],
}

export const CASE_STATUSES = Object.keys(NEXT) as FraudCaseStatus[]

export function mayFollow(before: FraudCaseStatus, after: FraudCaseStatus): boolean {
  return before === after || NEXT[before].includes(after)
}

/** Returns whether the status is final, that is, a verdict that closes the case. */
export function isFinal(status: FraudCaseStatus): status is FinalVerdict {
  return status === 'CONFIRMED_FRAUD' || status === 'FALSE_POSITIVE'
}

/**
 * Returns the status of a case after a verdict. SUSPICIOUS is not final, so another analyst has to look at the case,
 * even if the case was closed.
 */
export function statusAfter(verdict: FraudVerdict): FraudCaseStatus {
  return verdict === 'SUSPICIOUS' ? 'ESCALATED' : verdict
}
