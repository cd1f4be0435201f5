import type { MatchProfile, MatchSelf, MatchUser } from '../../../schemas/matches/types.ts'
import { FIRST_ELO } from '../../../state/views/matches/candidates/desirability.ts'
import { completenessOf } from '../../../state/views/matches/candidates/person.ts'

/** A user about whom nothing is known yet. */
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
  // The index entry is kept, so that it can be removed from the index.
  if (deleted_at !== null) return { ...NEW_USER, deleted_at, index_key: user.index_key }
  const completeness = completenessOf(profile)
  return { ...user, has_profile: true, birth_date, gender, seeking_gender, min_age_pref, max_age_pref, is_active, completeness }
}

/**
 * Events from before the user's deletion no longer count. Events of a deleted user without a new profile do not count
 * either. An API may accept them while it cannot check the profile, and they would store removed data again.
 */
export function isVoid({ deleted_at, has_profile }: MatchUser, ts: number): boolean {
  return deleted_at !== null && (!has_profile || ts <= deleted_at)
}

/** Returns false for a deleted user without a new profile, of whom nothing may remain in the view. */
export function isShown({ has_profile, deleted_at }: MatchUser): boolean {
  return has_profile || deleted_at === null
}

/** Returns the part of a user that the API reads. */
export function selfOf({ elo_score, lat, lon, location_updated_at, last_active_at, exceptions, last_swipe }: MatchUser): MatchSelf {
  const targets = exceptions.map(({ target_id }) => target_id)
  return { elo_score, lat, lon, location_updated_at, last_active_at, exceptions: targets, last_swipe }
}
