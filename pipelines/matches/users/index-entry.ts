import type { MatchUser } from '../../../schemas/matches/types.ts'
import { ACTIVE_WITHIN_MS } from '../../../state/views/matches/candidates/filters.ts'
import { formatMember, indexedPlace, parseMember } from '../../../state/views/matches/candidates/index-member.ts'

/**
 * Smallest change of a score that updates the index. Smaller changes are ignored, because a popular user's score
 * changes with every swipe.
 */
const ELO_STEP = 10
/**
 * Precision of the time of a user's last activity in the index. It can be low, because recency is only a fifth of the
 * ranking.
 */
const ACTIVITY_STEP_MS = 6 * 3_600_000

/**
 * Returns the user's entry in the candidate index after a change, as text (see index-member.ts). Returns null if
 * no search may find the user. A search finds only users with an active profile, a location and recent activity. The
 * entry changes only with the values that the filters or the ranking use.
 * @param before the user before the change, if known. Most changes leave the entry as it is, and comparing the two
 *   states costs a tenth of formatting the entry again.
 */
export function indexEntry(userId: string, user: MatchUser, now: number, before?: MatchUser): string | null {
  const { has_profile, is_active, lat, lon, last_active_at, index_key } = user
  if (!has_profile || !is_active || lat === null || lon === null || now - last_active_at >= ACTIVE_WITHIN_MS) return null
  const isDescribed = before !== undefined && index_key !== null && isSameApartFromScore(before, user)
  if (isDescribed && before.elo_score === user.elo_score) return index_key
  const known = index_key === null ? undefined : parseMember(index_key)
  if (isDescribed && known !== undefined && Math.abs(known.elo - user.elo_score) < ELO_STEP) return index_key
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
    lastActiveAt: activityStep(last_active_at),
    completeness: user.completeness,
  }
  // If `isDescribed` is true here, the score has changed by at least a step, so the entry must change.
  if (!isDescribed && known !== undefined && formatMember({ ...described, version: known.version }) === index_key) return index_key
  // Readers keep the entry with the higher version. This clock may be behind the clock of the worker that wrote the
  // known entry, so the version is at least one above that of the known entry.
  return formatMember({ ...described, version: Math.max(now, (known?.version ?? 0) + 1) })
}

/**
 * Returns the end of the step in which a user was last active. If this were the beginning of the step, searches would
 * stop finding the user up to a step too early. The end does no harm, because a timer removes the entries of inactive
 * users in time.
 */
function activityStep(lastActiveAt: number): number {
  return lastActiveAt - (lastActiveAt % ACTIVITY_STEP_MS) + ACTIVITY_STEP_MS
}

/** Returns whether two states of a user have the same index entry, apart from the score. */
function isSameApartFromScore(before: MatchUser, after: MatchUser): boolean {
  const isSame = (field: keyof MatchUser) => before[field] === after[field]
  return DESCRIBED.every(isSame) && activityStep(before.last_active_at) === activityStep(after.last_active_at)
}

/** The index entry, and the fields of a user on which it depends, apart from score and activity. */
const DESCRIBED = [
  'index_key',
  'has_profile',
  'is_active',
  'lat',
  'lon',
  'birth_date',
  'gender',
  'seeking_gender',
  'min_age_pref',
  'max_age_pref',
  'completeness',
] as const satisfies readonly (keyof MatchUser)[]
