import type { MatchProfile, MatchSelf, MatchUser } from '../../../schemas/matches/types.ts'
import { FIRST_ELO } from '../../../state/views/matches/candidates/desirability.ts'
import { completenessOf } from '../../../state/views/matches/candidates/person.ts'

/** The state of a user before the first event. */
export const NEW_USER: MatchUser = {
  has_profile: false,
  birth_date: '',
  gender: null,
  seeking_gender: [],
  min_age_pref: 0,
  max_age_pref: 0,
  completeness: 0,
  is_active: false,
  deleted_at: null,
  elo_score: FIRST_ELO,
  lat: null,
  lon: null,
  location_updated_at: null,
  last_active_at: 0,
  index_key: null,
  exceptions: [],
  last_swipe: null,
}

export function withProfile(user: MatchUser, profile: MatchProfile): MatchUser {
  const { deleted_at, birth_date, gender, seeking_gender, min_age_pref, max_age_pref, is_active } = profile
  // The state keeps the index entry, so that the entry can be removed from the index.
  if (deleted_at !== null) return { ...NEW_USER, deleted_at, index_key: user.index_key }
  const completeness = completenessOf(profile)
  return { ...user, has_profile: true, birth_date, gender, seeking_gender, min_age_pref, max_age_pref, is_active, completeness }
}

/**
 * Returns whether an event from or about a user must be ignored: the event is not later than the user's deletion, or
 * the deleted user has no new profile. The API may accept such an event while it cannot check the profile, and applying
 * the event would store removed data again.
 */
export function isVoid({ deleted_at, has_profile }: MatchUser, ts: number): boolean {
  return deleted_at !== null && (!has_profile || ts <= deleted_at)
}

/** Returns whether the view may contain data of a user. A deleted user without a new profile has no data there. */
export function isShown({ has_profile, deleted_at }: MatchUser): boolean {
  return has_profile || deleted_at === null
}

/** Returns the part of a user's state that the API reads. */
export function selfOf({ elo_score, lat, lon, location_updated_at, last_active_at, exceptions, last_swipe }: MatchUser): MatchSelf {
  const targets = exceptions.map(({ target_id }) => target_id)
  return { elo_score, lat, lon, location_updated_at, last_active_at, exceptions: targets, last_swipe }
}

/**
 * Removes from a user's state the last swipe and the rewinds that are older than `before`.
 * @returns the same state if there are none
 */
export function withoutOldSwipes(user: MatchUser, before: number): MatchUser {
  const { last_swipe, exceptions } = user
  const kept = exceptions.filter(({ rewound_at }) => rewound_at >= before)
  const isOld = last_swipe !== null && last_swipe.ts < before
  if (!isOld && kept.length === exceptions.length) return user
  return { ...user, exceptions: kept, last_swipe: isOld ? null : last_swipe }
}
