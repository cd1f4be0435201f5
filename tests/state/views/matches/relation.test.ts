import { expect, test } from 'vitest'
import { nothingOf } from '../../../../pipelines/matches/pairs/relation.ts'
import type { MatchRelation } from '../../../../schemas/matches/types.ts'
import { likeScore, matchScore, parseRelation, storedRelation } from '../../../../state/views/matches/relation.ts'
import { ANN, BOB } from '../../../pipelines/matches/swipes.ts'

const NOTHING = nothingOf({ userId: ANN, otherId: BOB }, 1_767_323_046_200)
const TIME = 1_767_323_046_123
const MATCH = { match_id: 'a', conversation_id: 'b', matched_at: TIME }
/** Redis's setting hash-max-listpack-value. A hash with a longer value takes three times the memory. */
const COMPACT_BYTES = 64

test.each<[string, Partial<MatchRelation>]>([
  ['nothing', {}],
  ['a like', { liked_at: TIME }],
  ['a super-like', { liked_at: TIME, is_super_like: true }],
  ['a match', MATCH],
  ['an ended match with blocks', { ...MATCH, has_ended: true, blocks: true, is_blocked: true }],
])('%s is stored in at most 64 bytes and read back', (_name, given) => {
  const relation = { ...NOTHING, ...given }
  const [text, score] = [storedRelation(relation), likeScore(relation)]
  expect(text?.length ?? 0).toBeLessThanOrEqual(COMPACT_BYTES)
  expect(parseRelation(text, score)).toEqual({
    likedAt: relation.liked_at ?? undefined,
    isSuperLike: relation.is_super_like,
    matchedAt: relation.matched_at ?? undefined,
    hasEnded: relation.has_ended,
    blocks: relation.blocks,
    isBlocked: relation.is_blocked,
  })
})

test('a like does not count while the user who gave it blocks the liked user', () => {
  expect(likeScore({ ...NOTHING, liked_at: TIME, is_blocked: true })).toBeNull()
  expect(likeScore({ ...NOTHING, liked_at: TIME })).toBe(2 * TIME)
})

test('the score of an open match is its time, and ended and blocked matches come after all open ones', () => {
  expect(matchScore(NOTHING)).toBeNull()
  expect(matchScore({ ...NOTHING, ...MATCH })).toBe(TIME)
  for (const end of [{ has_ended: true }, { blocks: true }, { is_blocked: true }])
    expect(matchScore({ ...NOTHING, ...MATCH, ...end })).toBe(-TIME)
})
