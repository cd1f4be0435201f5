import { type Bounds, boundsOf, type Cell, geohashOf, type Place } from '../../state/views/matches/candidates/cells.ts'
import { firstFailed, verdicts } from '../../state/views/matches/candidates/filters.ts'
import type { IndexMember } from '../../state/views/matches/candidates/index-member.ts'
import type { Candidate } from '../../state/views/matches/candidates/person.ts'
import { findCandidates } from '../../state/views/matches/search.ts'
import { exclusionsOf, interestReader, placeOf, readRelations, type UserState, viewerAt } from '../../state/views/matches/viewer.ts'
import type { ListReader, ScoreReader, ViewReader } from '../../state/views/view.ts'
import { jsonAnswer } from '../kit/answer.ts'
import { ApiError } from '../kit/errors.ts'
import { PRIVATE } from '../kit/headers.ts'
import { caughtUp } from '../kit/readiness.ts'
import { bind } from '../kit/route.ts'
import { matchesErrors } from './errors.ts'
import type { People } from './people.ts'
import { explainRoute } from './routes.ts'

/** Maximum number of users who are listed per cell. The counts include all users. */
const MAX_NAMED = 10

export interface ExplainDeps {
  readonly views: ViewReader & ListReader & ScoreReader
  readonly people: People
  /** Returns the partition of the index that contains a geohash of 4 characters. */
  partitionOfCell(geohash4: string): number
  /** Epoch ms. */
  now(): number
}

interface ExplainedCell {
  readonly geohash: string
  readonly bounds: Bounds
  examined: number
  passed: number
  readonly excluded: Record<string, number>
  readonly people: { readonly user_id: string; readonly excluded_by: string | null }[]
}

/** Creates the route that shows administrators why a user does or does not see other users. */
export function explainRoutes({ views, people, partitionOfCell, now }: ExplainDeps) {
  /**
   * Reads a user other than the caller. Replaces the error of `people.own`, because its message would say that the
   * caller has no profile.
   */
  async function stateOf(userId: string): Promise<UserState> {
    return await people.own(userId).catch((error: unknown) => {
      const isMissing = error instanceof ApiError && error.definition === matchesErrors.profile_not_found
      throw isMissing ? new ApiError(matchesErrors.profile_not_found) : error
    })
  }

  async function explainCandidate(user: string, candidateId: string) {
    const [state, other] = await Promise.all([stateOf(user), stateOf(candidateId)])
    const candidate: Candidate = viewerAt(other, requiredPlace(other, candidateId))
    const relations = caughtUp(await readRelations(views, people.keysOf(user), [candidateId]))
    const exclusion = exclusionsOf(state, now())(candidateId, relations.get(candidateId)) ?? 'none'
    const all = [
      ...verdicts(viewerAt(state, requiredPlace(state, user)), candidate, now()),
      { filter: 'switched_on', passed: other.profile.is_active, value: other.profile.is_active, allowed: 'true' },
      { filter: 'exclusion', passed: exclusion === 'none', value: exclusion, allowed: 'none' },
    ]
    return { user, candidate: candidateId, passed: all.every((verdict) => verdict.passed), verdicts: all }
  }

  /**
   * Repeats the user's search. Each user whom the search finds is counted once, in a single cell. A user who is
   * excluded is counted under the first reason for the exclusion.
   */
  async function explainSearch(user: string) {
    const state = await stateOf(user)
    const viewer = viewerAt(state, requiredPlace(state, user))
    const exclusionOf = exclusionsOf(state, now())
    const cells = new Map<string, ExplainedCell>()
    /** The newest index entry of each user, and the cell in which the search found this entry. */
    const found = new Map<string, { readonly member: IndexMember; readonly cell: ExplainedCell }>()

    function onSearched(place: Cell, members: readonly IndexMember[]): void {
      const geohash = geohashOf(place)
      const cell = cells.get(geohash) ?? { geohash, bounds: boundsOf(place), examined: 0, passed: 0, excluded: {}, people: [] }
      cells.set(geohash, cell)
      for (const member of members) {
        if (member.userId === user) continue
        const before = found.get(member.userId)
        if (before === undefined || before.member.version < member.version) found.set(member.userId, { member, cell })
      }
    }

    const keys = people.keysOf(user)
    const search = {
      reader: views,
      partitionOf: partitionOfCell,
      interestsOf: interestReader(views, keys, exclusionOf),
      onSearched,
      now: now(),
    }
    caughtUp(await findCandidates(viewer, search))
    const unfiltered = [...found.keys()].filter((userId) => firstFailed(viewer, found.get(userId)!.member, now()) === undefined)
    const relations = caughtUp(await readRelations(views, keys, unfiltered))
    let passed = 0
    for (const { member, cell } of found.values()) {
      const reason = firstFailed(viewer, member, now()) ?? exclusionOf(member.userId, relations.get(member.userId))
      cell.examined++
      if (reason !== undefined) cell.excluded[reason] = (cell.excluded[reason] ?? 0) + 1
      else {
        cell.passed++
        passed++
      }
      if (cell.people.length < MAX_NAMED) cell.people.push({ user_id: member.userId, excluded_by: reason ?? null })
    }
    return { user, examined: found.size, passed, cells: [...cells.values()] }
  }

  return [
    bind(explainRoute, async ({ query: { user, candidate } }) => {
      const explained = candidate === undefined ? await explainSearch(user) : await explainCandidate(user, candidate)
      return jsonAnswer(200, explained, PRIVATE)
    }),
  ]
}

/**
 * Returns a user's location. Throws `location_required` with a message of its own, because the default message
 * addresses the caller, who is an administrator here.
 */
function requiredPlace(state: UserState, userId: string): Place {
  const place = placeOf(state)
  if (place === undefined) throw new ApiError(matchesErrors.location_required, { message: `The location of user ${userId} is not known.` })
  return place
}
