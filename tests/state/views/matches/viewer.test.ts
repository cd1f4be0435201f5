import { expect, test } from 'vitest'
import { activeField, severedField, swipeField } from '../../../../state/views/matches/recent.ts'
import { MATCH_USERS_VIEW, userKeys } from '../../../../state/views/matches/users.ts'
import {
  exclusionsOf,
  lastActiveOf,
  placeOf,
  readBlocks,
  readForSwipe,
  readOwn,
  readPair,
  readRelations,
  readUser,
} from '../../../../state/views/matches/viewer.ts'
import { NOT_CAUGHT_UP } from '../../../../state/views/view.ts'
import { ANN, BOB } from '../../../pipelines/matches/swipes.ts'
import { fakeRedis } from '../fake-redis.ts'

/**
 * Creates a Redis client. Between two of its commands, a sink adds a block to the relations and removes the note about
 * that block.
 */
function readerDuringApply() {
  const keys = userKeys(0, ANN)
  let isApplied = false
  const hashes = (key: string): Record<string, string> => {
    if (key === keys.recent) return isApplied ? {} : { [severedField(BOB, 'blocks')]: '5 1' }
    if (key === keys.relations && isApplied) return { [BOB]: '{"b":1}' }
    return key === keys.likes && !isApplied ? { [BOB]: '2000' } : {}
  }
  /**
   * Returns what a command reads. After the first command on the notes, the relations or the likes, the sink applies
   * the block.
   */
  function read<T>(key: string, of: (fields: Record<string, string>) => T): Promise<T> {
    const answer = of(hashes(key))
    isApplied ||= [keys.recent, keys.relations, keys.likes].includes(key)
    return Promise.resolve(answer)
  }
  return {
    get: async () => '{}',
    mget: async (names: readonly string[]) => names.map(() => '{"created_at":0}'),
    hget: (key: string, field: string) => read(key, (fields) => fields[field] ?? null),
    hmget: (key: string, names: readonly string[]) => read(key, (fields) => names.map((name) => fields[name] ?? null)),
    hgetall: (key: string) => read(key, (fields) => fields),
    hgetallBuffer: async () => ({}),
    zmscore: (key: string, names: readonly string[]) => read(key, (fields) => names.map((name) => Number(fields[name]) || null)),
  } as unknown as Parameters<typeof readUser>[0] & Parameters<typeof readRelations>[0]
}

test('a block is never missing while the sink moves it from the notes into the view', async () => {
  const [ann, bob] = [ANN, BOB].map((id) => ({ id, partition: 0 }))
  expect(await readPair(readerDuringApply(), 0, ANN, BOB)).toMatchObject({ isSevered: true })
  expect(await readForSwipe(readerDuringApply(), ann, bob)).toMatchObject({ isSevered: true })
  const reader = readerDuringApply()
  const state = await readUser(reader, 0, ANN)
  const relations = await readRelations(reader, userKeys(0, ANN), [BOB])
  if (state === undefined || state === NOT_CAUGHT_UP || relations === NOT_CAUGHT_UP) throw new Error('the profile is missing')
  expect(exclusionsOf(state, 0)(BOB, relations.get(BOB))).toBe('blocks')
  // The block replaces a like, which has a different key. The reader must not miss both.
  expect(await readRelations(readerDuringApply(), userKeys(0, ANN), [BOB])).toEqual(
    new Map([[BOB, { likedAt: 1_000, isSuperLike: false, matchedAt: undefined, hasEnded: false, blocks: true, isBlocked: false }]]),
  )
})

test('a new profile has no place and no seen pages of the deleted one, even before the pipeline has processed the deletion', async () => {
  const keys = userKeys(0, ANN)
  const LEFT_AT = 1_000
  const stateWith = async (last_active_at: number, recent: Readonly<Record<string, string>>) => {
    const self = JSON.stringify({ lat: 1, lon: 2, location_updated_at: last_active_at, last_active_at, exceptions: [], last_swipe: null })
    const reader = {
      get: async (key: string) => (key === keys.self ? self : '{"created_at":1000}'),
      hmget: async (_key: string, names: readonly string[]) => names.map((name) => recent[name] ?? null),
      hgetall: async (key: string) => (key === keys.recent ? recent : {}),
      hgetallBuffer: async () => ({ 0: Buffer.of(1) }),
    } as unknown as Parameters<typeof readUser>[0]
    const [user, own] = await Promise.all([readUser(reader, 0, ANN), readOwn(reader, 0, ANN)])
    if (user === undefined || user === NOT_CAUGHT_UP || own === undefined || own === NOT_CAUGHT_UP) throw new Error('no profile')
    expect(lastActiveOf(own)).toBe(lastActiveOf(user))
    return [placeOf(user)?.lat, placeOf(own)?.lat, Object.keys(user.seenPages).length, lastActiveOf(own)]
  }
  expect(await stateWith(LEFT_AT, { left: String(LEFT_AT) })).toEqual([undefined, undefined, 0, 0])
  expect(await stateWith(LEFT_AT + 1, { left: String(LEFT_AT) })).toEqual([1, 1, 1, LEFT_AT + 1])
  expect(await stateWith(LEFT_AT, {})).toEqual([1, 1, 1, LEFT_AT])
  // A feed request notes the activity of its user before the pipeline has processed it.
  expect(await stateWith(LEFT_AT, activeField(LEFT_AT + 2))).toEqual([1, 1, 1, LEFT_AT + 2])
})

/**
 * Creates a Redis client. Between two of its commands, a sink adds a rewind to the user's state and removes the note
 * about it.
 */
function readerDuringRewind() {
  const keys = userKeys(0, ANN)
  let isApplied = false
  const self = (exceptions: readonly string[]) => JSON.stringify({ exceptions })
  return {
    async get(key: string) {
      if (key !== keys.self) return '{}'
      const answer = self(isApplied ? [BOB] : [])
      isApplied = true
      return answer
    },
    async hgetall(key: string) {
      if (key !== keys.recent) return {}
      const answer: Record<string, string> = isApplied ? {} : { [swipeField(BOB)]: '5 id REWIND' }
      isApplied = true
      return answer
    },
    hgetallBuffer: async () => ({}),
  } as unknown as Parameters<typeof readUser>[0]
}

test('a rewind is never missing while the sink moves it from the notes into the view', async () => {
  const state = await readUser(readerDuringRewind(), 0, ANN)
  if (state === undefined || state === NOT_CAUGHT_UP) throw new Error('the profile is missing')
  const isNoted = state.recent.swipes.get(BOB)?.direction === 'REWIND'
  expect(isNoted || state.self?.exceptions.includes(BOB)).toBe(true)
})

test('the pages of blocked users take into account the notes that the view does not include yet', async () => {
  const keys = userKeys(0, ANN)
  const { reader, apply, caughtUp } = fakeRedis()
  const read = async (from: number, limit: number) => await readBlocks(reader, keys, from, limit)
  expect(await read(0, 10)).toBe(NOT_CAUGHT_UP)
  caughtUp(MATCH_USERS_VIEW, 1)
  const block = (member: string, score: number) => apply([{ op: 'zadd', key: keys.blocks, score, member }])
  const note = (otherId: string, value: string) =>
    apply([{ op: 'hset', key: keys.recent, fields: { [severedField(otherId, 'blocks')]: value } }])
  for (const [index, member] of ['a', 'b', 'c', 'd'].entries()) block(member, 10 + index)
  expect([await read(0, 3), await read(3, 3)]).toEqual([
    { total: 4, ids: ['d', 'c', 'b'], firstAt: 13 },
    { total: 4, ids: ['a'], firstAt: 10 },
  ])
  note('e', '20 1')
  note('c', '20 0')
  // This note was stored late: since then, the user has blocked `a` again.
  note('a', '5 0')
  apply([{ op: 'hset', key: keys.recent, fields: { [severedField('f', 'blocked')]: '20 1', [severedField('f', 'ended')]: '20 1' } }])
  expect([await read(0, 2), await read(2, 2), await read(4, 2)]).toEqual([
    { total: 4, ids: ['e', 'd'], firstAt: 20 },
    { total: 4, ids: ['b', 'a'], firstAt: 11 },
    { total: 4, ids: [], firstAt: 0 },
  ])
  // The view includes the new block, but the API has stored its note again.
  block('e', 20)
  expect(await read(0, 10)).toEqual({ total: 4, ids: ['e', 'd', 'b', 'a'], firstAt: 20 })
})

test('an unreadable profile counts as not caught up, an unreadable relation hides the other user, and other unreadable data count as missing', async () => {
  const [ann, bob] = [ANN, BOB].map((id) => ({ id, partition: 0 }))
  const keys = userKeys(0, ANN)
  const { reader, apply, caughtUp } = fakeRedis()
  caughtUp(MATCH_USERS_VIEW, 1)
  const set = (key: string, value: string) => apply([{ op: 'set', key, value }])
  const damaged = '{"user_id":'
  set(keys.profile, damaged)
  set(userKeys(0, BOB).profile, '{"created_at":0}')
  expect([await readUser(reader, 0, ANN), await readOwn(reader, 0, ANN)]).toEqual([NOT_CAUGHT_UP, NOT_CAUGHT_UP])
  expect([await readForSwipe(reader, ann, bob), await readForSwipe(reader, bob, ann)]).toEqual([NOT_CAUGHT_UP, NOT_CAUGHT_UP])
  set(keys.profile, '{"created_at":0}')
  set(keys.self, damaged)
  apply([{ op: 'hset', key: keys.relations, fields: { [BOB]: damaged } }])
  expect(await readOwn(reader, 0, ANN)).toMatchObject({ profile: { created_at: 0 }, self: undefined })
  expect(await readForSwipe(reader, ann, bob)).toMatchObject({ self: undefined, isSevered: true })
  const state = await readUser(reader, 0, ANN)
  const relations = await readRelations(reader, keys, [BOB])
  if (state === undefined || state === NOT_CAUGHT_UP || relations === NOT_CAUGHT_UP) throw new Error('the profile is missing')
  expect(exclusionsOf(state, 0)(BOB, relations.get(BOB))).toBe('ended')
})
