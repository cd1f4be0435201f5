import { expect, test } from 'vitest'
import { relationKey } from '../../../../schemas/matches/keys.ts'
import { jumpArguments } from '../../../../state/views/matches/jumps.ts'
import { matchedFieldName, severedField, severedVersion } from '../../../../state/views/matches/recent.ts'
import { MAX_KEPT_LIKES } from '../../../../state/views/matches/relation.ts'
import { matchUsersView, userKeys } from '../../../../state/views/matches/users.ts'
import { ANN, BOB } from '../../../pipelines/matches/swipes.ts'

test('a deletion removes the profile and its stack, but not the times of jumps, so returning does not allow more jumps', () => {
  const operations = matchUsersView.operationsFor(0, ANN, { view: { user_id: ANN, deleted_at: 5 } as never, result: null })
  const deleted = operations.flatMap((operation) => (operation.op === 'del' ? [operation.key] : []))
  const { profile, stack, building, refill, resume, jumps } = userKeys(0, ANN)
  expect(deleted.sort()).toEqual([profile, stack, building, refill, resume].sort())
  expect(deleted).not.toContain(jumps)
  // The key with the times of jumps need not be deleted, because it expires within the hour that a deletion may take.
  const [, windowMs] = jumpArguments(0, 'x', false)
  expect(windowMs).toBeLessThanOrEqual(3_600_000)
})

test('the note about a match is removed when the view includes the match, because notes of an active user never expire', () => {
  const { recent } = userKeys(0, ANN)
  const removal = { op: 'hdel', key: recent, field: matchedFieldName(BOB) }
  const operationsFor = (relation: object) => matchUsersView.operationsFor(0, relationKey(ANN, BOB), relation as never)
  expect(operationsFor({ liked_at: 5, match_id: null })).not.toContainEqual(removal)
  for (const has_ended of [false, true])
    expect(operationsFor({ liked_at: null, match_id: 'm', matched_at: 5, has_ended })).toContainEqual(removal)
})

test('only the newest likes that a user has received are stored, and a match or a block replaces a like', () => {
  const keys = userKeys(0, ANN)
  const none = { liked_at: 5, match_id: null, blocks: false, is_blocked: false, has_ended: false, blocked_at: null, changed_at: 9 }
  const operationsFor = (relation: object | null) =>
    matchUsersView.operationsFor(0, relationKey(ANN, BOB), relation && ({ ...none, ...relation } as never))
  const like = { op: 'zadd', key: keys.likes, score: 10, member: BOB, newest: MAX_KEPT_LIKES }
  const noLike = { op: 'zrem', key: keys.likes, member: BOB }
  const noRelation = { op: 'hdel', key: keys.relations, field: BOB }
  expect(operationsFor({})).toEqual(expect.arrayContaining([like, noRelation]))
  expect(operationsFor(null)).toEqual(expect.arrayContaining([noLike, noRelation, { op: 'zrem', key: keys.matches, member: BOB }]))
  const match = { match_id: 'm', matched_at: 7 }
  const matched = { op: 'zadd', key: keys.matches, score: 7, member: BOB }
  expect(operationsFor({ liked_at: null, ...match })).toEqual(expect.arrayContaining([noLike, matched]))
  expect(operationsFor({ liked_at: null, ...match, has_ended: true })).toContainEqual({ ...matched, score: -7 })
  expect(operationsFor({ is_blocked: true })).toEqual(
    expect.arrayContaining([noLike, { op: 'hset', key: keys.relations, fields: { [BOB]: '{"i":1}' } }]),
  )
})

test('when the view includes a block or an ended match, the notes about it are removed, but not those about later changes', () => {
  const { recent } = userKeys(0, ANN)
  const none = { liked_at: null, match_id: null, blocks: false, is_blocked: false, has_ended: false, blocked_at: null, changed_at: 9 }
  const removals = (relation: object | null) =>
    matchUsersView
      .operationsFor(0, relationKey(ANN, BOB), relation && ({ ...none, ...relation } as never))
      .filter((operation) => operation.op === 'hdelUpTo')
  const removal = (cause: 'blocks' | 'blocked' | 'ended', at: number) => {
    return { op: 'hdelUpTo', key: recent, field: severedField(BOB, cause), upTo: severedVersion(at) }
  }
  expect([removals(null), removals({})]).toEqual([[], []])
  expect(removals({ blocks: true, blocked_at: 7 })).toEqual([removal('blocks', 7)])
  expect(removals({ is_blocked: true })).toEqual([removal('blocked', 9)])
  expect(removals({ match_id: 'm', matched_at: 5, has_ended: true })).toEqual([removal('ended', 9)])
})
