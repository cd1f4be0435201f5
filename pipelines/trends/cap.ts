import type { UserContributions } from '../../schemas/trends/types.ts'
import { MAX_AHEAD_MINUTES, WINDOW_MINUTES } from './time.ts'

/**
 * Maximum number of contributions of one user to a term in any window, over all regions:
 * docs/services/trends.md#spam-cap
 */
export const MAX_PER_USER = 3

/**
 * Maximum number of terms remembered per user. Nobody writes two thousand phrases in two hours. With at most 560 bytes
 * per term and nine minutes each, the state of a user stays below 1.3 MB.
 */
export const MAX_TERMS_PER_USER = 2_000

/**
 * Contributions that are this much older than a user's newest one share no window with any future contribution. A tweet
 * is at most one window old when it is counted, its windows reach back one more, and the newest may be dated ahead.
 */
export const REMEMBERED_MINUTES = 2 * WINDOW_MINUTES + MAX_AHEAD_MINUTES

/** Returns true if the term is already remembered for the user, or if there is room for one more. */
export function hasRoomFor(user: UserContributions, term: string): boolean {
  return user.terms.length < MAX_TERMS_PER_USER || user.terms.some((each) => each.term === term)
}

/**
 * Counts a contribution of the user unless some window of 60 minutes would then contain more than three for this
 * term. The order of arrival decides. Late contributions are checked against the windows before and after them.
 * @returns whether it counts
 */
export function admit(user: UserContributions, term: string, minute: number): boolean {
  const known = user.terms.find((each) => each.term === term)
  if (known === undefined) {
    user.terms.push({ term, minutes: [minute] })
    return true
  }
  const { minutes } = known
  if (minutes.length >= MAX_PER_USER && fullestWindowWith(minutes, minute) > MAX_PER_USER) return false
  let place = minutes.length
  while (place > 0 && minutes[place - 1] > minute) place--
  minutes.splice(place, 0, minute)
  return true
}

/** Returns the greatest number of contributions in any window that contains `minute`, plus a new one in `minute`. */
function fullestWindowWith(minutes: readonly number[], minute: number): number {
  const near = minutes.filter((known) => Math.abs(known - minute) < WINDOW_MINUTES)
  near.push(minute)
  near.sort((a, b) => a - b)
  let fullest = 0
  let oldest = 0
  for (let newest = 0; newest < near.length; newest++) {
    while (near[newest] - near[oldest] >= WINDOW_MINUTES) oldest++
    if (near[oldest] <= minute && minute <= near[newest]) fullest = Math.max(fullest, newest - oldest + 1)
  }
  return fullest
}

/** Returns the minute of the newest counted contribution, or -1 if there is none. */
export function newestContribution(user: UserContributions): number {
  let newest = -1
  for (const { minutes } of user.terms) newest = Math.max(newest, minutes[minutes.length - 1])
  return newest
}

/** Deletes contributions before `oldest`, and terms without contributions. */
export function forgetBefore(user: UserContributions, oldest: number): void {
  let kept = 0
  for (const each of user.terms) {
    if (each.minutes[0] < oldest) each.minutes = each.minutes.filter((minute) => minute >= oldest)
    if (each.minutes.length > 0) user.terms[kept++] = each
  }
  user.terms.length = kept
}
