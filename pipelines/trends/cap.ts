import type { UserContributions } from '../../schemas/trends/types.ts'
import { MAX_AHEAD_MINUTES, WINDOW_MINUTES } from './time.ts'

/** One user adds at most this much to one term in any window, all regions together: docs/services/trends.md#spam-cap */
export const MAX_PER_USER = 3

/**
 * Terms remembered per user: some two thousand phrases in two hours, more than a person writes. At 560 bytes for the longest term, and nine minutes
 * of each, a user's state stays below 1.3 MB.
 */
export const MAX_TERMS_PER_USER = 2_000

/**
 * Contributions this much older than a user's newest can share no window with anything still to come: a tweet is at most a window old
 * when it is counted, its windows reach back one more, and the newest may be dated ahead.
 */
export const REMEMBERED_MINUTES = 2 * WINDOW_MINUTES + MAX_AHEAD_MINUTES

/** Whether one more term can be remembered of the user, or it is one of those that are. */
export function hasRoomFor(user: UserContributions, term: string): boolean {
  return user.terms.length < MAX_TERMS_PER_USER || user.terms.some((each) => each.term === term)
}

/**
 * Counts a contribution of the user, unless some window of 60 minutes would then hold more than three of them for this term.
 * Order of arrival decides; late contributions are held against the windows on both sides of them.
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

/** The most contributions in one window that contains `minute`, once it were counted. */
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

/** The minute of the newest counted contribution; -1 when there is none. */
export function newestContribution(user: UserContributions): number {
  let newest = -1
  for (const { minutes } of user.terms) newest = Math.max(newest, minutes[minutes.length - 1])
  return newest
}

/** Forgets contributions before `oldest`, and terms that have none left. */
export function forgetBefore(user: UserContributions, oldest: number): void {
  let kept = 0
  for (const each of user.terms) {
    if (each.minutes[0] < oldest) each.minutes = each.minutes.filter((minute) => minute >= oldest)
    if (each.minutes.length > 0) user.terms[kept++] = each
  }
  user.terms.length = kept
}
