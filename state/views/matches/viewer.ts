import { utf8 } from '../../../schemas/keys.ts'
import { SEEN_SHAPE } from '../../../schemas/matches/seen.ts'
import type { MatchProfile, MatchSelf } from '../../../schemas/matches/types.ts'
import { seenSetReader } from '../../stores/seen-set/reader.ts'
import { readableJson } from '../readable.ts'
import {
  type BinaryReader,
  caughtUpKey,
  type ListReader,
  NOT_CAUGHT_UP,
  type ScoredMember,
  type ScoreReader,
  type ViewReader,
} from '../view.ts'
import type { Place } from './candidates/cells.ts'
import { FIRST_ELO } from './candidates/desirability.ts'
import type { Viewer } from './candidates/person.ts'
import type { Interest } from './candidates/ranking.ts'
import {
  ACTIVE_FIELD,
  blockNotes,
  type Cause,
  isSeveredNote,
  LAST_SWIPE,
  LEFT,
  matchedFieldName,
  PLACE_FIELD,
  parseLastSwipe,
  parsePlace,
  parseRecent,
  type Recent,
  type RecentSwipe,
  severedFields,
  severedNoteTime,
} from './recent.ts'
import { causeOf, isSevered, parseRelation, type Relation } from './relation.ts'
import { parseStack, type Stack } from './stack.ts'
import { MATCH_USERS_VIEW, type UserKeys, userKeys } from './users.ts'

/** The data about the user who sends a request, including the user's seen-set, but no relations to other users. */
export interface UserState {
  readonly profile: MatchProfile
  readonly self: MatchSelf | undefined
  readonly recent: Recent
  readonly seenPages: Readonly<Record<string, Buffer>>
  readonly stack: Stack | undefined
}

const seenSet = seenSetReader({ item: utf8, ...SEEN_SHAPE })

/**
 * Reads the data about the user who sends a request.
 * @returns undefined if the user has no profile; NOT_CAUGHT_UP if the view has not caught up, or if the user's profile
 * cannot be parsed
 */
export async function readUser(
  reader: ViewReader & ListReader & BinaryReader,
  partition: number,
  userId: string,
): Promise<UserState | undefined | typeof NOT_CAUGHT_UP> {
  const keys = userKeys(partition, userId)
  const [recent, profile, text, seenPages, stack, caughtUp] = await Promise.all([
    // In one step, a sink adds an event to the other keys and removes the note about the event. The notes are therefore
    // read first, even before the relations, so that no event is missing from both.
    reader.hgetall(keys.recent),
    reader.get(keys.profile),
    reader.get(keys.self),
    reader.hgetallBuffer(keys.seen),
    reader.hgetall(keys.stack),
    reader.get(caughtUpKey(MATCH_USERS_VIEW, partition)),
  ])
  if (caughtUp === null) return NOT_CAUGHT_UP
  const readable = storedProfile(profile)
  if (readable === undefined || readable === NOT_CAUGHT_UP) return readable
  const self = readableJson<MatchSelf>(text)
  const isOld = isOfFormerProfile(self, recent[LEFT])
  return {
    profile: readable,
    self: isOld ? undefined : self,
    recent: parseRecent(recent),
    seenPages: isOld ? {} : seenPages,
    stack: parseStack(stack),
  }
}

/**
 * Returns whether the user has deleted the profile to which this state belongs, and has since created a new one. The
 * state and the seen-set remain in the view until `match-users` has processed the deletion, which may take as long as
 * workers are unavailable.
 * @param left value of the field `left` of the recent events
 */
function isOfFormerProfile(self: MatchSelf | undefined, left: string | null | undefined): boolean {
  return self !== undefined && left !== undefined && left !== null && self.last_active_at <= Number(left)
}

/**
 * Reads the relations of a user to some other users.
 * @param keys the keys of the user
 * @param otherIds at most a few thousand, because each of two commands reads all of them
 */
export async function readRelations(
  reader: Pick<ViewReader & ListReader & ScoreReader, 'get' | 'hmget' | 'zmscore'>,
  keys: UserKeys,
  otherIds: readonly string[],
): Promise<ReadonlyMap<string, Relation> | typeof NOT_CAUGHT_UP> {
  if (otherIds.length === 0) return new Map()
  const [scores, texts, caughtUp] = await Promise.all([
    // When a like becomes a match or a block, a sink moves it from the likes to the relations in one step. The
    // relations are therefore read after the likes.
    reader.zmscore(keys.likes, otherIds),
    reader.hmget(keys.relations, otherIds),
    // If relations are missing because Redis was emptied, the flag is missing too.
    reader.get(keys.caughtUp),
  ])
  if (caughtUp === null) return NOT_CAUGHT_UP
  return new Map(otherIds.map((id, index) => [id, parseRelation(texts[index], scores[index])]))
}

/**
 * Reads whether each of several users likes the viewer. The result lacks users whom the viewer has swiped, has matched
 * with or may not see.
 */
export type InterestReader = (userIds: readonly string[]) => Promise<ReadonlyMap<string, Interest> | typeof NOT_CAUGHT_UP>

export function interestReader(
  reader: Parameters<typeof readRelations>[0],
  keys: UserKeys,
  exclusion: ReturnType<typeof exclusionsOf>,
): InterestReader {
  return async function interestsOf(userIds) {
    const open = userIds.filter((id) => exclusion(id, undefined) === undefined)
    const relations = await readRelations(reader, keys, open)
    if (relations === NOT_CAUGHT_UP) return NOT_CAUGHT_UP
    const visible = open.filter((id) => exclusion(id, relations.get(id)) === undefined)
    return new Map(visible.map((id) => [id, interestIn(relations.get(id))]))
  }
}

/**
 * Reads a range of the users who like a user, or of a user's matches, by descending score; see `likeScore` and
 * `matchScore`. Both positions are inclusive.
 */
export async function readList(
  reader: ViewReader & ScoreReader,
  keys: UserKeys,
  list: 'likes' | 'matches',
  start: number,
  stop: number,
): Promise<ScoredMember[] | typeof NOT_CAUGHT_UP> {
  const [members, caughtUp] = await Promise.all([reader.zrevrangeWithScores(keys[list], start, stop), reader.get(keys.caughtUp)])
  return caughtUp === null ? NOT_CAUGHT_UP : members
}

/** Parses a profile. Returns undefined if there is none, and NOT_CAUGHT_UP if it cannot be parsed. */
function storedProfile(text: string | null): MatchProfile | undefined | typeof NOT_CAUGHT_UP {
  return text === null ? undefined : (readableJson<MatchProfile>(text) ?? NOT_CAUGHT_UP)
}

/** The data about a user, without relations to other users. */
export interface OwnState {
  readonly profile: MatchProfile
  readonly self: MatchSelf | undefined
  readonly recent: Pick<Recent, 'place' | 'last' | 'activeAt'>
}

/**
 * Reads a user without the relations and the seen-set, because these may be large.
 * @returns undefined or NOT_CAUGHT_UP in the same cases as `readUser`
 */
export async function readOwn(
  reader: ViewReader & ListReader,
  partition: number,
  userId: string,
): Promise<OwnState | undefined | typeof NOT_CAUGHT_UP> {
  const keys = userKeys(partition, userId)
  const [profile, text, [place, last, active, left], caughtUp] = await Promise.all([
    reader.get(keys.profile),
    reader.get(keys.self),
    reader.hmget(keys.recent, [PLACE_FIELD, LAST_SWIPE, ACTIVE_FIELD, LEFT]),
    reader.get(caughtUpKey(MATCH_USERS_VIEW, partition)),
  ])
  if (caughtUp === null) return NOT_CAUGHT_UP
  const readable = storedProfile(profile)
  if (readable === undefined || readable === NOT_CAUGHT_UP) return readable
  const recent = {
    place: place === null ? undefined : parsePlace(place),
    last: last === null ? undefined : parseLastSwipe(last),
    activeAt: active === null ? undefined : Number(active),
  }
  const self = readableJson<MatchSelf>(text)
  return { profile: readable, self: isOfFormerProfile(self, left) ? undefined : self, recent }
}

/** A user, and the partition of the view that contains the user's data. */
export interface PlacedUser {
  readonly id: string
  readonly partition: number
}

/** The state that decides whether a user may swipe another user. */
export interface SwipeState {
  /** The user's profile; undefined if the user has none. */
  readonly profile: MatchProfile | undefined
  readonly target: MatchProfile | undefined
  readonly self: MatchSelf | undefined
  readonly recent: Pick<Recent, 'last'>
  readonly isSevered: boolean
  /**
   * Epoch ms before which a swipe has no effect. This time is after the creation of both profiles, and not before the
   * newest noted decision about a block or the end of a match. The clock of a worker determines this time and may be
   * ahead of the clock of an API process.
   */
  readonly countsFrom: number
}

/**
 * Reads the state that decides whether a user may swipe another user. The state is read with few commands, because
 * swipes are frequent.
 */
export async function readForSwipe(
  reader: Pick<ViewReader & ListReader, 'hget' | 'hmget' | 'mget'>,
  user: PlacedUser,
  target: PlacedUser,
): Promise<SwipeState | typeof NOT_CAUGHT_UP> {
  const keys = userKeys(user.partition, user.id)
  const [[last, ...severed], text, ownTexts, otherTexts] = await Promise.all([
    // The notes are read before the relation; see `readUser`.
    reader.hmget(keys.recent, [LAST_SWIPE, ...severedFields(target.id)]),
    reader.hget(keys.relations, target.id),
    // The caught-up flags are requested last: if keys are missing because Redis was emptied, the flags are missing too.
    reader.mget([keys.profile, keys.self, caughtUpKey(MATCH_USERS_VIEW, user.partition)]),
    reader.mget([userKeys(target.partition, target.id).profile, caughtUpKey(MATCH_USERS_VIEW, target.partition)]),
  ])
  const [profile, self, isCaughtUp] = ownTexts
  const [targetProfile, isTargetCaughtUp] = otherTexts
  if (isCaughtUp === null || isTargetCaughtUp === null) return NOT_CAUGHT_UP
  const [own, other] = [profile, targetProfile].map(storedProfile)
  if (own === NOT_CAUGHT_UP || other === NOT_CAUGHT_UP) return NOT_CAUGHT_UP
  return {
    profile: own,
    target: other,
    self: readableJson<MatchSelf>(self),
    recent: { last: last === null ? undefined : parseLastSwipe(last) },
    // A swipe at the very time of a deletion has no effect. The new profile may be from the same millisecond, so the
    // profile's first millisecond is excluded.
    countsFrom: Math.max(...[own, other].map((one) => (one === undefined ? 0 : one.created_at + 1)), ...severed.map(severedNoteTime)),
    isSevered: severed.some(isSeveredNote) || (text !== null && isSevered(parseRelation(text, null))),
  }
}

/** The part of the relation between two users that may be shown to one of them. */
export interface PairState {
  /** The match of the two users, even if it has ended; undefined if there is neither a match nor a block. */
  readonly relation: Pick<Relation, 'matchedAt'> | undefined
  readonly isSevered: boolean
  /** Time at which the answer to a swipe announced a match of the two users, epoch ms. */
  readonly matchedAt: number | undefined
}

/** Reads the relation of a user to one other user. */
export async function readPair(reader: ViewReader & ListReader, partition: number, userId: string, otherId: string): Promise<PairState> {
  const keys = userKeys(partition, userId)
  const [[matchedAt, ...severed], text] = await Promise.all([
    // The notes are read before the relation; see `readUser`.
    reader.hmget(keys.recent, [matchedFieldName(otherId), ...severedFields(otherId)]),
    reader.hget(keys.relations, otherId),
  ])
  const relation = text === null ? undefined : parseRelation(text, null)
  return {
    relation,
    isSevered: severed.some(isSeveredNote) || (relation !== undefined && isSevered(relation)),
    matchedAt: matchedAt === null ? undefined : Number(matchedAt),
  }
}

/** A page of the users whom a user blocks. */
export interface BlockedUsers {
  /** Number of users on all pages. */
  readonly total: number
  /** The users whom the user blocked most recently come first. */
  readonly ids: readonly string[]
  /** Time at which the first block of the page began, epoch ms; 0 if the page is empty. */
  readonly firstAt: number
}

/**
 * Reads a page of the users whom a user blocks. Takes into account notes about blocks that the view does not include
 * yet.
 * @param from number of users before the page
 */
export async function readBlocks(
  reader: ViewReader & ListReader & ScoreReader,
  keys: UserKeys,
  from: number,
  limit: number,
): Promise<BlockedUsers | typeof NOT_CAUGHT_UP> {
  // The notes are read before the view; see `readUser`.
  const notes = blockNotes(await reader.hgetall(keys.recent))
  const [stored, count, times, caughtUp] = await Promise.all([
    // Each note may remove a user from this list, so as many more users are read as there are notes.
    reader.zrevrangeWithScores(keys.blocks, 0, from + limit + notes.length - 1),
    reader.zcard(keys.blocks),
    notes.length === 0
      ? []
      : reader.zmscore(
          keys.blocks,
          notes.map(({ otherId }) => otherId),
        ),
    reader.get(keys.caughtUp),
  ])
  if (caughtUp === null) return NOT_CAUGHT_UP
  const newer = notes.filter(({ at }, index) => at >= (times[index] ?? 0))
  const ofNotes = new Set(newer.map(({ otherId }) => otherId))
  const inBoth = notes.filter(({ otherId }, index) => ofNotes.has(otherId) && times[index] !== null).length
  const added = newer.filter(({ isBlocked }) => isBlocked).map(({ otherId, at }) => ({ member: otherId, score: at }))
  const blocks = [...stored.filter(({ member }) => !ofNotes.has(member)), ...added].sort((one, other) => other.score - one.score)
  const page = blocks.slice(from, from + limit)
  return { total: count - inBoth + added.length, ids: page.map(({ member }) => member), firstAt: page[0]?.score ?? 0 }
}

/** Returns the newest known location of the user; undefined if none is known. */
export function placeOf({
  self,
  recent,
}: Pick<OwnState, 'self'> & { recent: Pick<Recent, 'place'> }): (Place & { readonly at: number }) | undefined {
  const { lat, lon, location_updated_at: at } = self ?? { lat: null, lon: null, location_updated_at: null }
  const known = lat === null || lon === null || at === null ? undefined : { lat, lon, at }
  if (recent.place === undefined || (known !== undefined && known.at >= recent.place.at)) return known
  return recent.place
}

/**
 * Returns the time of the last known activity of a user, apart from changes to the profile, epoch ms; 0 if none is
 * known.
 */
export function lastActiveOf({ self, recent }: Pick<OwnState, 'self'> & { recent: Partial<Recent> }): number {
  const { activeAt, place, last } = recent
  return Math.max(self?.last_active_at ?? 0, activeAt ?? 0, place?.at ?? 0, last?.at ?? 0)
}

/**
 * Returns the last swipe or rewind, by the time at which an API instance received it; undefined if none is known.
 */
export function lastSwipeOf({
  self,
  recent: { last },
}: Pick<OwnState, 'self'> & { recent: Pick<Recent, 'last'> }): RecentSwipe | undefined {
  const stored = self?.last_swipe ?? null
  const known = stored && { swipeId: stored.swipe_id, targetId: stored.target_id, direction: stored.direction, at: stored.ts }
  if (last === undefined || known === null) return last ?? known ?? undefined
  return last.at >= known.at ? last : known
}

export function viewerAt(state: Pick<UserState, 'profile' | 'self'>, place: Place): Viewer {
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

/** A reason, other than a filter, why a user may not see another user. */
export type Exclusion = 'swiped' | 'matched' | Cause

/**
 * Returns a function that determines why a user may not see another user: a swipe, a match, its end or a block. The
 * function takes the relation of the user to the other user (see `readRelations`). Without a relation, the function
 * only checks the recent events and the seen-set.
 */
export function exclusionsOf({ self, recent, seenPages }: Pick<UserState, 'self' | 'recent' | 'seenPages'>, now: number) {
  // A page that cannot be read counts as empty. Users whom it contains may be shown again, but the feed still works.
  const seen = seenSet.open(
    (page) => seenPages[page],
    now,
    () => undefined,
  )
  const exceptions = new Set(self?.exceptions ?? [])

  return function exclusionOf(otherId: string, relation: Relation | undefined): Exclusion | undefined {
    const cause = (relation && causeOf(relation)) ?? recent.severed.get(otherId)
    if (cause !== undefined) return cause
    if (relation?.matchedAt !== undefined) return 'matched'
    // A recent swipe takes precedence over the view.
    const direction = recent.swipes.get(otherId)?.direction
    if (direction !== undefined) return direction === 'REWIND' ? undefined : 'swiped'
    return !exceptions.has(otherId) && seen.has(otherId) ? 'swiped' : undefined
  }
}

function interestIn(relation: Relation | undefined): Interest {
  if (relation?.likedAt === undefined) return 'none'
  return relation.isSuperLike ? 'super_like' : 'like'
}
