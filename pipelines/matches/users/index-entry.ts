import type { MatchUser } from '../../../schemas/matches/types.ts'
import { ACTIVE_WITHIN_MS } from '../../../state/views/matches/candidates/filters.ts'
import { formatMember, indexedPlace, parseMember } from '../../../state/views/matches/candidates/index-member.ts'

/** The index follows a score only in steps, because a popular user's score changes with every swipe. */
const ELO_STEP = 10
/** The index follows a user's activity in steps, because recency is only a fifth of the ranking. */
const ACTIVITY_STEP_MS = 6 * 3_600_000

/**
 * Returns the user's member of the candidate index after a change; null if nobody may find the user. It stays the same
 * unless something changes that filters or the ranking use.
 */
export function indexEntry(userId: string, user: MatchUser, now: number): string | null {
  const { has_profile, is_active, lat, lon, last_active_at, index_key } = user
  if (!has_profile || !is_active || lat === null || lon === null || now - last_active_at >= ACTIVE_WITHIN_MS) return null
  const known = index_key === null ? undefined : parseMember(index_key)
  const elo = known !== undefined && Math.abs(known.elo - user.elo_score) < ELO_STEP ? known.elo : user.elo_score
  const described = {
    userId,
    place: indexedPlace({ lat, lon }),
    birthDate: user.birth_date,
    gender: user.gender ?? undefined,
    seekingGender: user.seeking_gender,
    minAge: user.min_age_pref,
    maxAge: user.max_age_pref,
    elo,
    lastActiveAt: last_active_at - (last_active_at % ACTIVITY_STEP_MS),
    completeness: user.completeness,
  }
  if (known !== undefined && formatMember({ ...described, version: known.version }) === index_key) return index_key
  return formatMember({ ...described, version: now })
}
