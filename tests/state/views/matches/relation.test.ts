import { expect, test } from 'vitest'
import type { MatchRelation } from '../../../../schemas/matches/types.ts'
import { parseRelation, storedRelation } from '../../../../state/views/matches/relation.ts'
import { ANN, BOB } from '../../../pipelines/matches/swipes.ts'

const NOTHING: MatchRelation = {
  user_id: ANN,
  other_id: BOB,
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
  changed_at: 1_767_323_046_200,
}
const TIME = 1_767_323_046_123
const MATCH = { match_id: 'a', conversation_id: 'b', matched_at: TIME }
/** The setting hash-max-listpack-value of Redis. A hash with a longer value takes three times the memory. */
const COMPACT_BYTES = 64

test.each<[string, Partial<MatchRelation>]>([
  ['a like', { liked_at: TIME }],
  ['a super-like', { liked_at: TIME, is_super_like: true }],
  ['a like by somebody blocked', { liked_at: TIME, blocks: true }],
  ['a match', MATCH],
  ['an ended match with blocks', { ...MATCH, has_ended: true, blocks: true, is_blocked: true }],
])('%s is stored in a few bytes and read back', (_name, given) => {
  const relation = { ...NOTHING, ...given }
  const text = storedRelation(relation)
  expect(text.length).toBeLessThanOrEqual(COMPACT_BYTES)
  expect(parseRelation(text)).toEqual({
    likedAt: relation.liked_at ?? undefined,
    isSuperLike: relation.is_super_like,
    matchedAt: relation.matched_at ?? undefined,
    hasEnded: relation.has_ended,
    blocks: relation.blocks,
    isBlocked: relation.is_blocked,
  })
})

test('a like is a whole number, for which Redis has a short form', () => {
  expect([storedRelation({ ...NOTHING, liked_at: TIME }), storedRelation({ ...NOTHING, liked_at: TIME, is_super_like: true })]).toEqual([
    String(TIME),
    String(-TIME),
  ])
})

test('what earlier versions stored is read as before', () => {
  expect(parseRelation(`{"l":${TIME},"s":1}`)).toMatchObject({ likedAt: TIME, isSuperLike: true, matchedAt: undefined })
  expect(parseRelation(`{"m":["a","b",${TIME}],"e":1}`)).toMatchObject({ matchedAt: TIME, hasEnded: true, likedAt: undefined })
})
