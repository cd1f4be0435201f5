import { randomUUID } from 'node:crypto'
import { utf8 } from '../../schemas/keys.ts'
import { matchIndex, matchProfiles, matchRelations } from '../../schemas/matches/topics.ts'
import type { MatchProfile } from '../../schemas/matches/types.ts'
import type { Place } from '../../state/views/matches/candidates/cells.ts'
import { distanceKm } from '../../state/views/matches/candidates/distance.ts'
import { ageAt } from '../../state/views/matches/candidates/person.ts'
import { COUNT_JUMP, JUMP_KM, jumpArguments, retryAfterSeconds } from '../../state/views/matches/jumps.ts'
import { FORGET_RECENT, NOTE_RECENT, noteArguments } from '../../state/views/matches/recent.ts'
import { KEEP_STACK, STACK_TTL_MS, type Stack } from '../../state/views/matches/stack.ts'
import { userKeys } from '../../state/views/matches/users.ts'
import { placeOf, readUser, type UserState } from '../../state/views/matches/viewer.ts'
import type { ListReader, ViewReader, ViewScripts } from '../../state/views/view.ts'
import { ApiError, errors } from '../kit/errors.ts'
import type { Facts } from '../kit/facts.ts'
import type { Logger } from '../kit/logging.ts'
import { caughtUp } from '../kit/readiness.ts'
import { matchesErrors } from './errors.ts'

export interface PeopleDeps {
  readonly views: ViewReader & ListReader
  readonly scripts: ViewScripts
  readonly facts: Facts
  readonly log: Logger
  /** Epoch ms. */
  now(): number
}

/** Reads users, and keeps what the view does not include yet. */
export interface People {
  /** Throws `profile_not_found`, `not_ready`. */
  own(userId: string): Promise<UserState>
  /** Like `own`; undefined if the user has no profile. */
  stateOf(userId: string): Promise<UserState | undefined>
  /** Like `own`, for what only active users may do. Throws `profile_inactive`, too. */
  active(userId: string): Promise<UserState>
  /** Profiles by id; users without one, or who are switched off, are left out. */
  shown(userIds: readonly string[]): Promise<Map<string, MatchProfile>>
  note(userId: string, fields: Readonly<Record<string, string>>): Promise<void>
  /** Like `note` where a failure only means that the user may see something again until the view has caught up. */
  tryToNote(userId: string, fields: Readonly<Record<string, string>>): Promise<void>
  /** Keeps the candidates that a search found. A failure only means that the next feed searches again. */
  keepStack(userId: string, stack: Stack): Promise<void>
  /** Counts a move of more than a kilometre from the user's last place. Throws `rate_limit_exceeded`. */
  checkJump(userId: string, state: UserState, place: Place): Promise<void>
  forget(userId: string, fields: readonly string[]): Promise<void>
  /** Returns the partition of a cell of the candidate index. */
  partitionOfCell(geohash4: string): number
  partitionOf(userId: string): number
}

export function people({ views, scripts, facts, log, now }: PeopleDeps): People {
  function partitionOf(userId: string): number {
    return facts.partitionOf(matchRelations, userId)
  }

  async function stateOf(userId: string): Promise<UserState | undefined> {
    return caughtUp(await readUser(views, partitionOf(userId), userId))
  }

  async function own(userId: string): Promise<UserState> {
    const state = await stateOf(userId)
    if (state === undefined)
      throw new ApiError(matchesErrors.profile_not_found, { message: 'You have no profile. Create one with PUT /v1/me.' })
    return state
  }

  async function note(userId: string, fields: Readonly<Record<string, string>>): Promise<void> {
    await scripts.run(NOTE_RECENT, [userKeys(partitionOf(userId), userId).recent], noteArguments(fields))
  }

  return {
    own,
    stateOf,
    note,
    partitionOf,
    async active(userId) {
      const state = await own(userId)
      if (!state.profile.is_active) throw new ApiError(matchesErrors.profile_inactive)
      return state
    },
    async shown(userIds) {
      const texts = await Promise.all(userIds.map((id) => views.get(userKeys(partitionOf(id), id).profile)))
      const profiles = texts.flatMap((text) => (text === null ? [] : [JSON.parse(text) as MatchProfile]))
      return new Map(profiles.filter(({ is_active }) => is_active).map((profile) => [profile.user_id, profile]))
    },
    async tryToNote(userId, fields) {
      await note(userId, fields).catch((error: Error) => log.warn({ reason: error.message }, 'recent_not_noted'))
    },
    async keepStack(userId, stack) {
      const key = userKeys(partitionOf(userId), userId).stack
      await scripts.run(KEEP_STACK, [key], [JSON.stringify(stack), STACK_TTL_MS]).catch(() => undefined)
    },
    async checkJump(userId, state, place) {
      const known = placeOf(state)
      if (known === undefined || distanceKm(known, place) <= JUMP_KM) return
      const waitMs = Number(
        await scripts.run(COUNT_JUMP, [userKeys(partitionOf(userId), userId).jumps], jumpArguments(now(), randomUUID())),
      )
      if (waitMs > 0)
        throw new ApiError(errors.rate_limit_exceeded, { message: 'You have moved too often.', retryAfter: retryAfterSeconds(waitMs) })
    },
    async forget(userId, fields) {
      await scripts.run(FORGET_RECENT, [userKeys(partitionOf(userId), userId).recent], fields)
    },
    partitionOfCell: (geohash4) => facts.partitionOf({ name: matchIndex.name, key: utf8 }, geohash4),
  }
}

/** Returns what a user may see of another one. */
export function personJson(profile: MatchProfile, now: number) {
  const { user_id, display_name, birth_date, photo_urls } = profile
  return { user_id, display_name, age: ageAt(birth_date, now), photo_urls }
}

/** The topic whose partitions the view of users has. */
export const usersTopic = matchProfiles
