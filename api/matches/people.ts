import { utf8 } from '../../schemas/keys.ts'
import { matchIndex, matchProfiles, matchRelations } from '../../schemas/matches/topics.ts'
import type { MatchProfile } from '../../schemas/matches/types.ts'
import { ageAt } from '../../state/views/matches/candidates/person.ts'
import { FORGET_RECENT, NOTE_RECENT, noteArguments } from '../../state/views/matches/recent.ts'
import { userKeys } from '../../state/views/matches/users.ts'
import { readUser, type UserState } from '../../state/views/matches/viewer.ts'
import type { ListReader, ViewReader, ViewScripts } from '../../state/views/view.ts'
import { ApiError } from '../kit/errors.ts'
import type { Facts } from '../kit/facts.ts'
import type { Logger } from '../kit/logging.ts'
import { caughtUp } from '../kit/readiness.ts'
import { matchesErrors } from './errors.ts'

export interface PeopleDeps {
  readonly views: ViewReader & ListReader
  readonly scripts: ViewScripts
  readonly facts: Facts
  readonly log: Logger
}

/** Reads users, and keeps what the view does not include yet. */
export interface People {
  /** Throws `profile_not_found`, `not_ready`. */
  own(userId: string): Promise<UserState>
  /** Like `own`, for what only active users may do. Throws `profile_inactive`, too. */
  active(userId: string): Promise<UserState>
  /** Profiles by id; users without one, or who are switched off, are left out. */
  shown(userIds: readonly string[]): Promise<Map<string, MatchProfile>>
  note(userId: string, fields: Readonly<Record<string, string>>): Promise<void>
  /** Like `note` where a failure only means that the user may see something again until the view has caught up. */
  tryToNote(userId: string, fields: Readonly<Record<string, string>>): Promise<void>
  forget(userId: string, fields: readonly string[]): Promise<void>
  /** Returns the partition of a cell of the candidate index. */
  partitionOfCell(geohash4: string): number
  partitionOf(userId: string): number
}

export function people({ views, scripts, facts, log }: PeopleDeps): People {
  function partitionOf(userId: string): number {
    return facts.partitionOf(matchRelations, userId)
  }

  async function own(userId: string): Promise<UserState> {
    const state = caughtUp(await readUser(views, partitionOf(userId), userId))
    if (state === undefined)
      throw new ApiError(matchesErrors.profile_not_found, { message: 'You have no profile. Create one with PUT /v1/me.' })
    return state
  }

  async function note(userId: string, fields: Readonly<Record<string, string>>): Promise<void> {
    await scripts.run(NOTE_RECENT, [userKeys(partitionOf(userId), userId).recent], noteArguments(fields))
  }

  return {
    own,
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
