import { randomUUID } from 'node:crypto'
import { BUILD_LOCK_MS, type BuildDeps, buildStack, lockBuild, unlockBuild } from '../../state/views/matches/build.ts'
import type { Place } from '../../state/views/matches/candidates/cells.ts'
import { passes } from '../../state/views/matches/candidates/filters.ts'
import { indexedPlace } from '../../state/views/matches/candidates/index-member.ts'
import { completenessOf } from '../../state/views/matches/candidates/person.ts'
import { scoreOf } from '../../state/views/matches/candidates/ranking.ts'
import { basisOf, isFresh, type Stack, type StackedCandidate } from '../../state/views/matches/stack.ts'
import {
  exclusionsOf,
  type InterestReader,
  interestReader,
  lastSwipeOf,
  placeOf,
  type UserState,
  viewerAt,
} from '../../state/views/matches/viewer.ts'
import { ApiError, errors } from '../kit/errors.ts'
import { caughtUp } from '../kit/readiness.ts'
import type { People } from './people.ts'

export interface Served {
  readonly stack: Stack
  /** The candidates to show, in display order. */
  readonly left: readonly StackedCandidate[]
}

/**
 * Returns the candidates to show to a user. Throws `unavailable` if too many searches are running, `not_ready` while a
 * view is being built, and the errors of `People.own`.
 */
export type StackFor = (userId: string, state: UserState, place: Place) => Promise<Served>

/**
 * Maximum number of searches that run at once in this process. When Redis has lost its data, every feed needs a search,
 * and more searches at once would only slow all of them down.
 */
const MAX_BUILDS = 32
/** Interval at which a waiting feed request checks whether another search for the same user has ended. */
const LOOK_EVERY_MS = 20
/**
 * How long a feed request waits for another search for the same user. By then, the lock of that search has expired, so
 * the request runs a search itself.
 */
const WAIT_MS = BUILD_LOCK_MS + 500
const RETRY_AFTER_SECONDS = 1
const NOBODY: ReadonlySet<string> = new Set()

/**
 * Creates the function that returns the candidates for a user. It returns the kept candidates if they are fresh enough,
 * and otherwise runs a search while the request waits. A lock in Redis keeps requests from searching for the same user
 * at the same time.
 */
export function stacks(people: Pick<People, 'own' | 'stateOf' | 'keysOf'>, deps: BuildDeps): StackFor {
  let running = 0

  async function build(userId: string, token: string, state: UserState, place: Place): Promise<Served> {
    const { stack, stored } = caughtUp(await buildStack(deps, people.keysOf(userId), token, state, place))
    // A failure to store the stack is ignored, because the next feed request then searches again.
    const leftOut = await stored.catch(() => NOBODY)
    return { stack, left: stack.candidates.filter(({ userId }) => !leftOut.has(userId)) }
  }

  /**
   * Locks the search of a user and runs it. The request counts as a running search while it asks for the lock, so that
   * requests that arrive together cannot exceed the limit.
   * @param mustBuild whether to search even without the lock
   * @returns undefined if another search for the user is running and `mustBuild` is false
   */
  async function lockAndBuild(userId: string, token: string, place: Place, mustBuild: boolean) {
    if (running >= MAX_BUILDS) {
      throw new ApiError(errors.unavailable, {
        message: 'Too many searches are running. Try again shortly.',
        retryAfter: RETRY_AFTER_SECONDS,
      })
    }
    running++
    try {
      // If Redis cannot run scripts, the feed request searches without a lock and does not store the result.
      const isLocked = await lockBuild(deps, people.keysOf(userId), token).catch(() => true)
      if (!isLocked && !mustBuild) return undefined
      try {
        const state = await people.own(userId)
        return { state, found: await build(userId, token, state, place) }
      } catch (error) {
        // Without unlocking, the user's next feed request would wait until the lock expires. This still happens if
        // unlocking fails.
        await unlockBuild(deps, people.keysOf(userId), token).catch(() => undefined)
        throw error
      }
    } finally {
      running--
    }
  }

  /**
   * If the user has just taken back a swipe, puts the candidate of that swipe first, even if the search ranked this
   * candidate low or did not find it.
   */
  async function withRewound(state: UserState, place: Place, { stack, left }: Served, interestsOf: InterestReader): Promise<Served> {
    const last = lastSwipeOf(state)
    if (last?.direction !== 'REWIND') return { stack, left }
    const isRewound = ({ userId }: StackedCandidate) => userId === last.targetId
    const rewound = left.find(isRewound) ?? (await candidateFor(state, place, last.targetId, interestsOf))
    return rewound === undefined ? { stack, left } : { stack, left: [rewound, ...left.filter((candidate) => !isRewound(candidate))] }
  }

  /**
   * Returns a user as a candidate; undefined if the viewer may not see this user, if a filter excludes the user, or if
   * the user has no location, is switched off, or cannot be read now.
   */
  async function candidateFor(
    state: UserState,
    place: Place,
    userId: string,
    interestsOf: InterestReader,
  ): Promise<StackedCandidate | undefined> {
    const now = deps.now()
    const interest = caughtUp(await interestsOf([userId])).get(userId)
    if (interest === undefined) return undefined
    const other = await people.stateOf(userId).catch(() => undefined)
    const where = other && placeOf(other)
    if (other === undefined || where === undefined || !other.profile.is_active) return undefined
    const viewer = viewerAt(state, place)
    const candidate = { ...viewerAt(other, indexedPlace(where)), completeness: completenessOf(other.profile) }
    if (!passes(viewer, candidate, now)) return undefined
    return { userId, place: candidate.place, score: scoreOf(viewer, candidate, interest, now) }
  }

  return async function stackFor(userId, first, place) {
    const keys = people.keysOf(userId)
    const token = randomUUID()
    const until = deps.now() + WAIT_MS
    const interestsOf = (state: UserState) => interestReader(deps.reader, keys, exclusionsOf(state, deps.now()))
    let state = first
    for (;;) {
      const kept = await served(state, place, interestsOf(state), deps.now())
      if (kept !== undefined) return await withRewound(state, place, kept, interestsOf(state))
      const built = await lockAndBuild(userId, token, place, deps.now() >= until)
      if (built !== undefined) return await withRewound(built.state, place, built.found, interestsOf(built.state))
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
      state = await people.own(userId)
    }
  }
}

/**
 * Returns the kept candidates that the user may see now; undefined if there is no kept stack or it is not fresh enough.
 */
async function served(state: UserState, place: Place, interestsOf: InterestReader, now: number): Promise<Served | undefined> {
  const { stack } = state
  if (stack === undefined) return undefined
  const interests = caughtUp(await interestsOf(stack.candidates.map(({ userId }) => userId)))
  const left = stack.candidates.filter(({ userId }) => interests.has(userId))
  return isFresh(stack, left.length, basisOf(viewerAt(state, place)), now) ? { stack, left } : undefined
}
