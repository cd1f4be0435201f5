import { utf8 } from '../../../schemas/keys.ts'
import { SEEN_SHAPE } from '../../../schemas/matches/seen.ts'
import type { MatchProfile, MatchSelf } from '../../../schemas/matches/types.ts'
import { seenSetReader } from '../../stores/seen-set/reader.ts'
import { caughtUpKey, type ListReader, NOT_CAUGHT_UP, type ViewReader } from '../view.ts'
import type { Place } from './candidates/cells.ts'
import { FIRST_ELO } from './candidates/desirability.ts'
import type { Viewer } from './candidates/person.ts'
import type { Interest } from './candidates/ranking.ts'
import { parseRecent, type Recent, type RecentSwipe } from './recent.ts'
import type { Stack } from './stack.ts'
import { isSevered, MATCH_USERS_VIEW, parseRelation, type Relation, userKeys } from './users.ts'

/** All that is known of a user who asks for others. */
export interface UserState {
  readonly profile: MatchProfile
  readonly self: MatchSelf | undefined
  readonly relations: ReadonlyMap<string, Relation>
  readonly recent: Recent
  readonly seenPages: Readonly<Record<string, string>>
  readonly stack: Stack | undefined
}

const seenSet = seenSetReader({ item: utf8, ...SEEN_SHAPE })

/** @returns undefined if the user has no profile */
export async function readUser(
  reader: ViewReader & ListReader,
  partition: number,
  userId: string,
): Promise<UserState | undefined | typeof NOT_CAUGHT_UP> {
  const keys = userKeys(partition, userId)
  const [profile, self, relations, recent, seenPages, stack, caughtUp] = await Promise.all([
    reader.get(keys.profile),
    reader.get(keys.self),
    reader.hgetall(keys.relations),
    reader.hgetall(keys.recent),
    reader.hgetall(keys.seen),
    reader.get(keys.stack),
    reader.get(caughtUpKey(MATCH_USERS_VIEW, partition)),
  ])
  if (caughtUp === null) return NOT_CAUGHT_UP
  if (profile === null) return undefined
  return {
    profile: JSON.parse(profile) as MatchProfile,
    self: self === null ? undefined : (JSON.parse(self) as MatchSelf),
    relations: new Map(Object.entries(relations).map(([other, text]) => [other, parseRelation(text)])),
    recent: parseRecent(recent),
    seenPages,
    stack: stack === null ? undefined : (JSON.parse(stack) as Stack),
  }
}

/** Returns the newest place that the user has reported. */
export function placeOf({ self, recent }: UserState): (Place & { readonly at: number }) | undefined {
  const { lat, lon, location_updated_at: at } = self ?? { lat: null, lon: null, location_updated_at: null }
  const known = lat === null || lon === null || at === null ? undefined : { lat, lon, at }
  if (recent.place === undefined || (known !== undefined && known.at >= recent.place.at)) return known
  return recent.place
}

/** Returns the last swipe that was not taken back, by the time at which the API received it. */
export function lastSwipeOf({ self, recent }: UserState): Omit<RecentSwipe, 'swipeId'> | undefined {
  const known = self?.last_swipe ?? null
  const swipes = [...recent.swipes, ...(known === null ? [] : [{ targetId: known.target_id, direction: known.direction, at: known.ts }])]
  return swipes.reduce<Omit<RecentSwipe, 'swipeId'> | undefined>(
    (last, one) => (last === undefined || one.at >= last.at ? one : last),
    undefined,
  )
}

export function viewerAt(state: UserState, place: Place): Viewer {
  const { profile, self } = state
  return {
    userId: profile.user_id,
    place,
    birthDate: profile.birth_date,
    gender: profile.gender ?? undefined,
    seekingGender: profile.seeking_gender,
    minAge: profile.min_age_pref,
    maxAge: profile.max_age_pref,
    elo: self?.elo_score ?? FIRST_ELO,
    lastActiveAt: self?.last_active_at ?? profile.updated_at,
    completeness: 1,
    maxDistanceKm: profile.max_dist_km,
  }
}

/** Why a user may not see another one, apart from the filters; undefined if nothing forbids it. */
export type Exclusion = 'swiped' | 'severed' | 'matched'

/** Returns a test whether a user has already seen, swiped, blocked or matched another one. */
export function exclusionsOf({ self, relations, recent, seenPages }: UserState, now: number): (otherId: string) => Exclusion | undefined {
  const seen = seenSet.open((page) => (seenPages[page] === undefined ? undefined : Buffer.from(seenPages[page], 'base64')), now)
  /** The newest recent direction of each target: it overrules the view. */
  const newest = new Map(recent.swipes.map(({ targetId, direction }) => [targetId, direction]))
  const exceptions = new Set(self?.exceptions ?? [])

  return function exclusionOf(otherId) {
    const relation = relations.get(otherId)
    if (recent.severed.has(otherId) || (relation !== undefined && isSevered(relation))) return 'severed'
    if (relation?.match !== undefined) return 'matched'
    const direction = newest.get(otherId)
    if (direction !== undefined) return direction === 'REWIND' ? undefined : 'swiped'
    return !exceptions.has(otherId) && seen.has(otherId) ? 'swiped' : undefined
  }
}

export function interestOf(relation: Relation | undefined): Interest {
  if (relation?.likedAt === undefined) return 'none'
  return relation.isSuperLike ? 'super_like' : 'like'
}
