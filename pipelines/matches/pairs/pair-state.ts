import { isPositive } from '../../../schemas/matches/directions.ts'
import { matchIdOf } from '../../../schemas/matches/pair.ts'
import type { PairRow, PairSide, PairSwipe } from '../../../schemas/matches/types.ts'

const NOTHING: PairSide = { direction: null, swipe_id: '', swiped_at: 0, blocks: false, was_notified: false }

/** A pair of which nothing is known yet. */
export const EMPTY_PAIR: PairRow = { a: NOTHING, b: NOTHING, counts_from: 0, match_id: null, matched_at: null, ended_at: null }

type SideName = 'a' | 'b'

/** Returns the side of a user in the pair. */
export function sideOf(userId: string, otherId: string): SideName {
  return userId < otherId ? 'a' : 'b'
}

export function otherSide(side: SideName): SideName {
  return side === 'a' ? 'b' : 'a'
}

/** Returns whether the two are matched. A match that has ended never returns. */
export function isMatched({ match_id, ended_at }: PairRow): boolean {
  return match_id !== null && ended_at === null
}

export function likes({ direction }: PairSide): boolean {
  return direction !== null && isPositive(direction)
}

function isBlocked({ a, b }: PairRow): boolean {
  return a.blocks || b.blocks
}

/**
 * Returns whether a swipe changes the row. The newest one of each side counts. A pass or rewind changes nothing unless
 * it takes back a like: match-users sends a side's swipes in the order of their times, so no like can follow that is
 * older.
 */
export function canTakeEffect(row: PairRow, { swipe_id, swiper_id, target_id, direction, ts }: PairSwipe): boolean {
  const own = row[sideOf(swiper_id, target_id)]
  if (ts < own.swiped_at || (ts === own.swiped_at && swipe_id <= own.swipe_id)) return false
  if (ts < row.counts_from || isBlocked(row) || row.match_id !== null) return false
  return isPositive(direction) || likes(own)
}

/**
 * Applies a swipe that can take effect. The first moment in which both sides like each other makes the match; nothing
 * unmakes it but `ended`.
 */
export function withSwipe(row: PairRow, { swipe_id, swiper_id, target_id, direction, ts }: PairSwipe): PairRow {
  const side = sideOf(swiper_id, target_id)
  const { a, b, counts_from, matched_at, ended_at } = row
  const { blocks, was_notified } = row[side]
  const own: PairSide = { direction, swipe_id, swiped_at: ts, blocks, was_notified }
  const after: PairRow = { a: side === 'a' ? own : a, b: side === 'a' ? b : own, counts_from, match_id: null, matched_at, ended_at }
  if (!likes(after.a) || !likes(after.b)) return after
  return { ...after, match_id: matchIdOf(swiper_id, target_id), matched_at: Math.max(after.a.swiped_at, after.b.swiped_at) }
}

/** Ends the match permanently, for both. Without a match, nothing changes. */
export function ended(row: PairRow, now: number): PairRow {
  return isMatched(row) ? { ...row, ended_at: now } : row
}

/** Adds a block, which ends the match and takes back the likes of both. */
export function withBlock(row: PairRow, side: SideName, now: number): PairRow {
  if (row[side].blocks) return row
  const forgotten = withoutLikes(ended(row, now), now)
  return { ...forgotten, [side]: { ...forgotten[side], blocks: true } }
}

/** Likes from before the block was lifted do not count, even if they arrive late. */
export function withoutBlock(row: PairRow, side: SideName, now: number): PairRow {
  if (!row[side].blocks) return row
  return { ...row, counts_from: now, [side]: { ...row[side], blocks: false } }
}

/**
 * Removes a deleted user. Only a block by the other user remains: a new profile with the same id starts afresh, but not
 * for them.
 */
export function withoutUser(row: PairRow, side: SideName, deletedAt: number): PairRow {
  const other = row[otherSide(side)]
  return { ...EMPTY_PAIR, counts_from: deletedAt, [otherSide(side)]: { ...NOTHING, blocks: other.blocks } }
}

function withoutLikes(row: PairRow, now: number): PairRow {
  return { ...row, counts_from: now, a: { ...row.a, direction: null }, b: { ...row.b, direction: null } }
}
