import { isPositive } from '../../../schemas/matches/directions.ts'
import { matchIdOf } from '../../../schemas/matches/pair.ts'
import type { PairRow, PairSide, PairSwipe } from '../../../schemas/matches/types.ts'

const NOTHING: PairSide = { direction: null, swipe_id: '', swiped_at: 0, blocks: false, blocked_at: 0, was_notified: false }

/** The row of a pair without any swipes or commands. */
export const EMPTY_PAIR: PairRow = { a: NOTHING, b: NOTHING, counts_from: 0, match_id: null, matched_at: null, ended_at: null }

type SideName = 'a' | 'b'

/** Returns which side of the pair's row belongs to a user. The lower id has side `a`. */
export function sideOf(userId: string, otherId: string): SideName {
  return userId < otherId ? 'a' : 'b'
}

export function otherSide(side: SideName): SideName {
  return side === 'a' ? 'b' : 'a'
}

/** Returns whether the two users have a match that has not ended. */
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
 * Returns whether a swipe changes the row. A swipe has no effect if it is not newer than the last swipe of its side, or
 * if it is older than `counts_from`. It also has no effect if the pair is blocked or has a match, even one that has
 * ended. A pass or rewind changes the row only if it takes back a like. Other passes and rewinds need not be stored,
 * because match-users sends the swipes of a side in chronological order and no older like can follow.
 */
export function canTakeEffect(row: PairRow, { swipe_id, swiper_id, target_id, direction, ts }: PairSwipe): boolean {
  const own = row[sideOf(swiper_id, target_id)]
  if (ts < own.swiped_at || (ts === own.swiped_at && swipe_id <= own.swipe_id)) return false
  if (ts < row.counts_from || isBlocked(row) || row.match_id !== null) return false
  return isPositive(direction) || likes(own)
}

/**
 * Applies a swipe that can take effect. The match begins as soon as both sides like each other. Later swipes do not
 * change it.
 */
export function withSwipe(row: PairRow, { swipe_id, swiper_id, target_id, direction, ts }: PairSwipe): PairRow {
  const side = sideOf(swiper_id, target_id)
  const { a, b, counts_from, matched_at, ended_at } = row
  const { blocks, blocked_at, was_notified } = row[side]
  const own: PairSide = { direction, swipe_id, swiped_at: ts, blocks, blocked_at, was_notified }
  const after: PairRow = { a: side === 'a' ? own : a, b: side === 'a' ? b : own, counts_from, match_id: null, matched_at, ended_at }
  if (!likes(after.a) || !likes(after.b)) return after
  return { ...after, match_id: matchIdOf(swiper_id, target_id), matched_at: Math.max(after.a.swiped_at, after.b.swiped_at) }
}

/** Ends the match. Returns the same row if there is no match or it has already ended. */
export function ended(row: PairRow, now: number): PairRow {
  return isMatched(row) ? { ...row, ended_at: now } : row
}

/**
 * Adds a block. The block ends the match and takes back the likes of both users.
 * @param since a block by the same user from before this time belongs to a deleted profile, so it is replaced
 * @returns the same row if the user has already blocked the other at `since` or later
 */
export function withBlock(row: PairRow, side: SideName, now: number, since: number): PairRow {
  if (row[side].blocks && blockedAt(row, side) >= since) return row
  const forgotten = withoutLikes(ended(row, now), now)
  return { ...forgotten, [side]: { ...forgotten[side], blocks: true, blocked_at: now } }
}

/**
 * Returns when a user's block began. A row that an earlier version wrote does not contain this time, so `counts_from`
 * takes its place.
 */
export function blockedAt(row: PairRow, side: SideName): number {
  return row[side].blocked_at || row.counts_from
}

/** Lifts a block. Likes from before `now` have no effect, even if they arrive later. */
export function withoutBlock(row: PairRow, side: SideName, now: number): PairRow {
  if (!row[side].blocks) return row
  return { ...row, counts_from: now, [side]: { ...row[side], blocks: false, blocked_at: 0 } }
}

/**
 * Applies the deletion of one user to the pair. Removes the match, the swipes of both users and the deleted user's
 * block. The other user's block stays. Everything after the deletion also stays, because it belongs to a new profile
 * with the same id. The removal may therefore run late and more than once.
 * @returns the same row if it has nothing to remove
 */
export function withoutUser(row: PairRow, side: SideName, deletedAt: number): PairRow {
  const own = row[side]
  const other = row[otherSide(side)]
  const isOld = ({ swiped_at }: PairSide) => swiped_at > 0 && swiped_at <= deletedAt
  const hasOldBlock = own.blocks && blockedAt(row, side) <= deletedAt
  const hasOldMatch = row.match_id !== null && (isOld(own) || isOld(other))
  if (!isOld(own) && !isOld(other) && !hasOldBlock && !hasOldMatch) return row
  const kept = (one: PairSide, blocks: boolean): PairSide => {
    const { was_notified, ...swipe } = isOld(one) ? NOTHING : one
    return { ...swipe, blocks, blocked_at: blocks ? one.blocked_at : 0, was_notified: was_notified && !hasOldMatch }
  }
  const sides = { [side]: kept(own, own.blocks && !hasOldBlock), [otherSide(side)]: kept(other, other.blocks) }
  const match = hasOldMatch ? NO_MATCH : { match_id: row.match_id, matched_at: row.matched_at, ended_at: row.ended_at }
  return { ...row, ...sides, ...match, counts_from: Math.max(row.counts_from, deletedAt) }
}

/**
 * Removes swipes from before a time. A match stays, and its time replaces the times of its swipes, so that a later
 * deletion still finds the match.
 * @returns the same row if it has nothing to remove
 */
export function withoutOldSwipes(row: PairRow, before: number): PairRow {
  const isOld = ({ swipe_id, swiped_at }: PairSide) => swipe_id !== '' && swiped_at < before
  if (!isOld(row.a) && !isOld(row.b)) return row
  const kept = (side: PairSide): PairSide =>
    isOld(side) ? { ...side, direction: null, swipe_id: '', swiped_at: row.matched_at ?? 0 } : side
  return { ...row, a: kept(row.a), b: kept(row.b) }
}

const NO_MATCH = { match_id: null, matched_at: null, ended_at: null }

/**
 * Returns whether a row contains nothing that is still needed, so that it may be deleted.
 * @param until swipes up to this time have no effect anyway
 */
export function isBlank({ a, b, match_id, counts_from }: PairRow, until: number): boolean {
  return a.swiped_at === 0 && b.swiped_at === 0 && !a.blocks && !b.blocks && match_id === null && counts_from <= until
}

function withoutLikes(row: PairRow, now: number): PairRow {
  return { ...row, counts_from: now, a: { ...row.a, direction: null }, b: { ...row.b, direction: null } }
}
