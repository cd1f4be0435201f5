import { randomUUID } from 'node:crypto'
import { utf8 } from '../../schemas/keys.ts'
import { matchIndex, matchProfiles, matchRelations } from '../../schemas/matches/topics.ts'
import type { MatchProfile } from '../../schemas/matches/types.ts'
import type { Place } from '../../state/views/matches/candidates/cells.ts'
import { distanceKm } from '../../state/views/matches/candidates/distance.ts'
import { ageAt } from '../../state/views/matches/candidates/person.ts'
import { COUNT_JUMP, JUMP_KM, jumpArguments, jumpKeys, jumpRefusal, UNDO_JUMP } from '../../state/views/matches/jumps.ts'
import { NOTE_RECENT, NOTE_SEVERED, noteArguments, severedArguments, withSwipes } from '../../state/views/matches/recent.ts'
import { MATCH_USERS_VIEW, type UserKeys, userKeys } from '../../state/views/matches/users.ts'
import {
  type BlockedUsers,
  type OwnState,
  type PairState,
  placeOf,
  readBlocks,
  readForSwipe,
  readList,
  readOwn,
  readPair,
  readUser,
  type SwipeState,
  type UserState,
} from '../../state/views/matches/viewer.ts'
import { readableJson } from '../../state/views/readable.ts'
import {
  areCaughtUp,
  type BinaryReader,
  type ListReader,
  type ScoredMember,
  type ScoreReader,
  type ViewReader,
  type ViewScripts,
} from '../../state/views/view.ts'
import type { CommandRequest } from '../kit/commands/commands.ts'
import { ApiError, errors } from '../kit/errors.ts'
import type { Facts } from '../kit/facts.ts'
import type { Logger } from '../kit/logging.ts'
import { caughtUp } from '../kit/readiness.ts'
import { matchesErrors } from './errors.ts'
import type { SwipeNotes } from './swipe-notes.ts'

export interface PeopleDeps {
  readonly views: ViewReader & ListReader & ScoreReader & BinaryReader
  readonly scripts: ViewScripts
  readonly facts: Pick<Facts, 'partitionOf'>
  readonly notes: Pick<SwipeNotes, 'pendingOf'>
  readonly log: Logger
  /** Epoch ms. */
  now(): number
}

/** Reads users, and stores notes about changes that the view does not include yet. */
export interface People {
  /** Returns a user's state, with the seen-set and recent events. Throws `profile_not_found`, `not_ready`. */
  own(userId: string): Promise<UserState>
  /** Works like `own`, but only for active users. Also throws `profile_inactive`. */
  active(userId: string): Promise<UserState>
  /** Returns a user's state without the seen-set; undefined if the user has no profile. Throws `not_ready`. */
  stateOf(userId: string): Promise<OwnState | undefined>
  /** Works like `stateOf`, but throws `profile_not_found` if the user has no profile. */
  self(userId: string): Promise<OwnState>
  /** Returns a part of a user's likes or matches; see `readList`. Throws `not_ready`. */
  list(userId: string, list: 'likes' | 'matches', start: number, stop: number): Promise<readonly ScoredMember[]>
  /** Returns the relation of a user to another user. */
  pair(userId: string, otherId: string): Promise<PairState>
  /** Returns a page of the users whom a user blocks; see `readBlocks`. Throws `not_ready`. */
  blocked(userId: string, from: number, limit: number): Promise<BlockedUsers>
  /**
   * Checks that a user may swipe a target. Returns the part of the state that contains the user's last swipe, and the
   * earliest time at which a swipe takes effect. Throws `profile_not_found`, `profile_inactive`, `not_ready`.
   */
  swiper(userId: string, targetId: string): Promise<Pick<SwipeState, 'self' | 'recent' | 'countsFrom'>>
  /**
   * Returns profiles by id. Leaves out users without a profile and users who are switched off. Users in a partition of
   * the view that is still being built may be missing.
   */
  shown(userIds: readonly string[]): Promise<Map<string, MatchProfile>>
  /**
   * Works like `shown`, but throws `not_ready` if a user may be missing only because a partition of the view is still
   * being built.
   */
  listed(userIds: readonly string[]): Promise<Map<string, MatchProfile>>
  /**
   * Stores notes about a user's location, activity or expected match. Never throws, because a missing note does little
   * harm: until the view has caught up, a search may use the former location, or a user may take back a like that has
   * led to a match.
   */
  tryToNote(userId: string, fields: Readonly<Record<string, string>>): Promise<void>
  /**
   * Stores a note that a user must not see another user, or may see the other user again.
   * @param field name of the field, from `severedField`
   * @param at time of the decision, epoch ms
   */
  sever(userId: string, field: string, at: number, isSevered: boolean): Promise<void>
  /**
   * Counts a jump: a move of more than a kilometre from the user's last location, or the first location of a new
   * profile soon after the user has deleted the former one. Returns a function that takes the jump back and never
   * throws. Throws `rate_limit_exceeded` if there were too many jumps in the last hour.
   */
  checkJump(userId: string, state: Parameters<typeof placeOf>[0], place: Place): Promise<() => Promise<void>>
  keysOf(userId: string): UserKeys
}

export function people({ views, scripts, facts, notes, log, now }: PeopleDeps): People {
  const partitionOf = (userId: string) => partitionOfUser(facts, userId)
  const keysOf = (userId: string) => userKeys(partitionOf(userId), userId)

  async function own(userId: string): Promise<UserState> {
    const state = caughtUp(await readUser(views, partitionOf(userId), userId))
    if (state === undefined) throw noProfile()
    return { ...state, recent: withSwipes(state.recent, notes.pendingOf(userId)) }
  }

  async function stateOf(userId: string): Promise<OwnState | undefined> {
    const state = caughtUp(await readOwn(views, partitionOf(userId), userId))
    return state && { ...state, recent: withSwipes(state.recent, notes.pendingOf(userId)) }
  }

  async function note(userId: string, fields: Readonly<Record<string, string>>): Promise<void> {
    await scripts.run(NOTE_RECENT, [keysOf(userId).recent], noteArguments(fields))
  }

  async function shown(userIds: readonly string[]): Promise<Map<string, MatchProfile>> {
    const texts = await Promise.all(userIds.map((id) => views.get(keysOf(id).profile)))
    return new Map(texts.flatMap((text) => activeOf(text) ?? []).map((profile) => [profile.user_id, profile]))
  }

  return {
    own,
    stateOf,
    keysOf,
    async active(userId) {
      const state = await own(userId)
      if (!state.profile.is_active) throw new ApiError(matchesErrors.profile_inactive)
      return state
    },
    async self(userId) {
      const state = await stateOf(userId)
      if (state === undefined) throw noProfile()
      return state
    },
    async list(userId, list, start, stop) {
      return caughtUp(await readList(views, keysOf(userId), list, start, stop))
    },
    async pair(userId, otherId) {
      return await readPair(views, partitionOf(userId), userId, otherId)
    },
    async blocked(userId, from, limit) {
      return caughtUp(await readBlocks(views, keysOf(userId), from, limit))
    },
    async swiper(userId, targetId) {
      const placed = (id: string) => ({ id, partition: partitionOf(id) })
      const state = caughtUp(await readForSwipe(views, placed(userId), placed(targetId)))
      if (state.profile === undefined) throw noProfile()
      if (!state.profile.is_active) throw new ApiError(matchesErrors.profile_inactive)
      if (!state.target?.is_active || state.isSevered) throw new ApiError(matchesErrors.profile_not_found)
      return { ...state, recent: withSwipes(state.recent, notes.pendingOf(userId)) }
    },
    shown,
    async listed(userIds) {
      const found = await shown(userIds)
      const partitions = new Set(userIds.filter((id) => !found.has(id)).map(partitionOf))
      if (!(await areCaughtUp(views, MATCH_USERS_VIEW, partitions))) throw new ApiError(errors.not_ready)
      return found
    },
    async tryToNote(userId, fields) {
      await note(userId, fields).catch((error: Error) => log.warn({ reason: error.message }, 'recent_not_noted'))
    },
    async sever(userId, field, at, isSevered) {
      await scripts.run(NOTE_SEVERED, [keysOf(userId).recent], severedArguments(field, at, isSevered))
    },
    async checkJump(userId, state, place) {
      const known = placeOf(state)
      if (known !== undefined && distanceKm(known, place) <= JUMP_KM) return async () => {}
      const keys = jumpKeys(keysOf(userId))
      const member = randomUUID()
      const waitMs = Number(await scripts.run(COUNT_JUMP, keys, jumpArguments(now(), member, known === undefined)))
      if (waitMs > 0) {
        const fields = jumpRefusal(waitMs)
        const message = 'You have moved too often. Wait as long as Retry-After says.'
        throw new ApiError(errors.rate_limit_exceeded, { message, retryAfter: fields.retry_after, fields })
      }
      return async () => void (await scripts.run(UNDO_JUMP, keys, [member]).catch(() => undefined))
    },
  }
}

function activeOf(text: string | null): MatchProfile | undefined {
  const profile = readableJson<MatchProfile>(text)
  return profile?.is_active ? profile : undefined
}

/** Returns the error for a caller without a profile. */
export function noProfile(): ApiError {
  return new ApiError(matchesErrors.profile_not_found, { message: 'You have no profile. Create one with PUT /v1/me.' })
}

/** Returns the caller's id in lower case. The service uses all ids in lower case. */
export function userOf({ caller }: Pick<CommandRequest, 'caller'>): string {
  return caller!.subject.toLowerCase()
}

/**
 * Returns the time for a user's new location, epoch ms. A location that is not newer than the profile and the previous
 * location would be ignored. The clock of this process may be behind the clocks of the processes that set these times,
 * so the result is later than both.
 */
export function placeTimeOf(state: Pick<OwnState, 'profile' | 'self' | 'recent'>, now: number): number {
  // Adds 1 to the time of the profile. A location with the time of a deletion is ignored, and the new profile may have
  // been created in the same millisecond as the deletion.
  return Math.max(now, state.profile.created_at + 1, (placeOf(state)?.at ?? 0) + 1)
}

/** Returns the partition of the view that contains a user's keys. */
export function partitionOfUser(facts: Pick<Facts, 'partitionOf'>, userId: string): number {
  return facts.partitionOf(matchRelations, userId)
}

/**
 * Returns the partition of the candidate index that contains a cell.
 * @param geohash4 the cell, as a geohash of 4 characters
 */
export function partitionOfCell(facts: Pick<Facts, 'partitionOf'>, geohash4: string): number {
  return facts.partitionOf({ name: matchIndex.name, key: utf8 }, geohash4)
}

/** Returns the fields of a user that feeds, likes and matches show. */
export function personJson(profile: MatchProfile, now: number) {
  const { user_id, display_name, birth_date, photo_urls } = profile
  return { user_id, display_name, age: ageAt(birth_date, now), photo_urls }
}

/** A topic that has the same partitions as the view of users. */
export const usersTopic = matchProfiles
