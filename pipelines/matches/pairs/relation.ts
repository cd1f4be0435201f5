import type { MatchRelation, PairRow } from '../../../schemas/matches/types.ts'
import { blockedAt, isMatched, likes, otherSide, sideOf } from './pair-state.ts'

/** The user to whom a relation belongs, and the other user of the pair. */
export interface Related {
  readonly userId: string
  readonly otherId: string
}

/**
 * Returns the relation of a user to the other user of a pair; null if there is none. A relation never reveals that the
 * other user passed.
 * @param conversationId id of the pair's conversation if the pair has a match
 */
export function relationOf(row: PairRow, people: Related, conversationId: string | null, now: number): MatchRelation | null {
  const { userId, otherId } = people
  const side = sideOf(userId, otherId)
  const own = row[side]
  const other = row[otherSide(side)]
  const isLiked = likes(other) && row.match_id === null
  if (!isLiked && row.match_id === null && !own.blocks && !other.blocks) return null
  return {
    user_id: userId,
    other_id: otherId,
    liked_at: isLiked ? other.swiped_at : null,
    is_super_like: isLiked && other.direction === 'SUPER_LIKE',
    match_id: row.match_id,
    conversation_id: row.match_id === null ? null : conversationId,
    matched_at: row.matched_at,
    has_ended: row.match_id !== null && !isMatched(row),
    blocks: own.blocks,
    is_blocked: other.blocks,
    blocked_at: own.blocks ? blockedAt(row, side) : null,
    unblocked_until: null,
    reopened_until: null,
    released_until: null,
    changed_at: now,
  }
}

/** Returns the relation between two users who have no likes, match or blocks. */
export function nothingOf({ userId, otherId }: Related, now: number): MatchRelation {
  return {
    user_id: userId,
    other_id: otherId,
    liked_at: null,
    is_super_like: false,
    match_id: null,
    conversation_id: null,
    matched_at: null,
    has_ended: false,
    blocks: false,
    is_blocked: false,
    blocked_at: null,
    unblocked_until: null,
    reopened_until: null,
    released_until: null,
    changed_at: now,
  }
}

/** Returns whether two relations of a user are equal, apart from the time of the change. */
export function isSameRelation(one: MatchRelation | null, other: MatchRelation | null): boolean {
  if (one === null || other === null) return one === other
  return (Object.keys(one) as (keyof MatchRelation)[]).every((field) => field === 'changed_at' || one[field] === other[field])
}
