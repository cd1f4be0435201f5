import type { Evidence } from './evidence.ts'
import { type Asked, isAccepted } from './requests.ts'

/** Returns the time at which each user last deleted their profile, epoch ms. */
export function deletionsOf({ logs }: Evidence): ReadonlyMap<string, number> {
  return new Map(logs.matchDeletions.map(({ key, value }) => [key, value.deleted_at]))
}

/** Returns whether a row must be missing from the tables, because it names a user who has left since. */
export function isErased(users: readonly string[], at: number, deletions: ReadonlyMap<string, number>): boolean {
  return users.some((user) => at <= (deletions.get(user) ?? -Infinity))
}

/** The period in which a user has no profile. Times are in epoch ms. */
export interface Absence {
  readonly user: string
  /** `from`: when the request for the deletion was first sent. `to`: when its response arrived. */
  readonly from: number
  readonly to: number
  /**
   * `back`: when the request for a new profile was first sent. `backAt`: when its response arrived. Both are Infinity
   * if the user did not return.
   */
  readonly back: number
  readonly backAt: number
}

export function absencesOf({ asked }: Pick<Evidence, 'asked'>): Absence[] {
  return asked
    .filter((one) => one.kind === 'leave' && isAccepted(one))
    .map(({ user, to }) => {
      const all = (kind: Asked['kind']) => asked.filter((one) => one.kind === kind && one.user === user)
      const first = (kind: Asked['kind']) => Math.min(Infinity, ...all(kind).map(({ from }) => from))
      const returned = all('return').filter(isAccepted)
      return { user, from: first('leave'), to, back: first('return'), backAt: Math.min(Infinity, ...returned.map((one) => one.to)) }
    })
}

/**
 * Returns, for each user who deleted their profile, the time from which their swipes certainly take effect again,
 * because a new profile exists; Infinity for users who did not return.
 */
export function certainFrom(evidence: Evidence): ReadonlyMap<string, number> {
  const back = new Map(evidence.asked.flatMap((one) => (one.kind === 'return' && isAccepted(one) ? [[one.user, one.to] as const] : [])))
  return new Map([...deletionsOf(evidence).keys()].map((user) => [user, back.get(user) ?? Infinity]))
}
