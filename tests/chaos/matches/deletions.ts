import type { Evidence } from './evidence.ts'
import { isAccepted } from './requests.ts'

/** Returns when the profiles of users were deleted, epoch ms. */
export function deletionsOf({ logs }: Evidence): ReadonlyMap<string, number> {
  return new Map(logs.matchDeletions.map(({ key, value }) => [key, value.deleted_at]))
}

/** Returns from when the swipes of users who left count for certain: from when a new profile exists. */
export function certainFrom(evidence: Evidence): ReadonlyMap<string, number> {
  const back = new Map(evidence.asked.flatMap((one) => (one.kind === 'return' && isAccepted(one) ? [[one.user, one.to] as const] : [])))
  return new Map([...deletionsOf(evidence).keys()].map((user) => [user, back.get(user) ?? Infinity]))
}
