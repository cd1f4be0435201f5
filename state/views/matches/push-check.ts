import type { MatchProfile } from '../../../schemas/matches/types.ts'
import { readableJson } from '../readable.ts'
import { caughtUpKey, type ListReader, type ViewReader } from '../view.ts'
import { isSeveredNote, severedFields } from './recent.ts'
import { isSevered, parseRelation } from './relation.ts'
import { MATCH_USERS_VIEW, userKeys } from './users.ts'
import type { PlacedUser } from './viewer.ts'

/** The commands that the check needs. */
export type PushCheckReader = Pick<ViewReader & ListReader, 'get' | 'hget' | 'hmget'>

/** A match and the user whom the push notifies. */
export interface MatchToTell {
  readonly user: PlacedUser
  readonly other: PlacedUser
  /** Epoch ms. */
  readonly matchedAt: number
}

/**
 * - `open`: nothing forbids the push
 * - `severed`: a block or the end of the match hides the two users from each other
 * - `deleted`: one of the users no longer has a profile, or has created a new profile since the match
 * - `unknown`: the view is being built, or it contains a severed relation but not the match yet
 */
export type MatchVerdict = 'open' | 'severed' | 'deleted' | 'unknown'

/**
 * Checks whether two matched users may still be notified about each other. The API notes blocks and ends of matches for
 * both users before it responds, so this check finds them even while the view lags behind.
 */
export async function checkMatch(reader: PushCheckReader, { user, other, matchedAt }: MatchToTell): Promise<MatchVerdict> {
  const keys = userKeys(user.partition, user.id)
  const otherKeys = userKeys(other.partition, other.id)
  const [profile, otherProfile, recent, text, ...flags] = await Promise.all([
    reader.get(keys.profile),
    reader.get(otherKeys.profile),
    reader.hmget(keys.recent, severedFields(other.id)),
    reader.hget(keys.relations, other.id),
    // The caught-up flags are requested last: if keys are missing because Redis was emptied, the flags are missing too.
    reader.get(caughtUpKey(MATCH_USERS_VIEW, user.partition)),
    reader.get(caughtUpKey(MATCH_USERS_VIEW, other.partition)),
  ])
  // A note about the end of the match stays until the view includes the end, even if a block ended the match and has
  // been lifted since. The notes outlast a rebuild of the view, so they are evaluated before the flags.
  if (recent.some(isSeveredNote)) return 'severed'
  if (flags.includes(null)) return 'unknown'
  if (profile === null || otherProfile === null) return 'deleted'
  const relation = text === null ? undefined : parseRelation(text, null)
  // A deletion ends all matches, and the profile of a user who has returned is newer than these matches. Because the
  // clocks of processes differ, a profile may also seem to be newer than an existing match. The view soon includes an
  // existing match, so a newer profile is evidence of a deletion only if the view lacks the match.
  const isNewer = [profile, otherProfile].some((text) => (readableJson<MatchProfile>(text)?.created_at ?? 0) > matchedAt)
  if (isNewer && relation?.matchedAt === undefined) return 'deleted'
  if (relation === undefined || !isSevered(relation)) return 'open'
  // Users cannot match while one of them blocks the other. If the stored relation has a block but no match, the block
  // is older than the match and has been lifted since.
  return relation.matchedAt !== undefined ? 'severed' : 'unknown'
}
