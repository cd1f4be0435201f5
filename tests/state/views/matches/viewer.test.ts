import { expect, test } from 'vitest'
import { severedField } from '../../../../state/views/matches/recent.ts'
import { userKeys } from '../../../../state/views/matches/users.ts'
import { exclusionsOf, readForSwipe, readPair, readRelations, readUser } from '../../../../state/views/matches/viewer.ts'
import { NOT_CAUGHT_UP } from '../../../../state/views/view.ts'
import { ANN, BOB } from '../../../pipelines/matches/swipes.ts'

/**
 * A Redis client. Between two of its commands, a sink adds a block to the relations and removes the note about that
 * block.
 */
function readerDuringApply() {
  const keys = userKeys(0, ANN)
  let isApplied = false
  const hashes = (key: string): Record<string, string> => {
    if (key === keys.recent) return isApplied ? {} : { [severedField(BOB, 'blocks')]: '5 1' }
    if (key === keys.relations && isApplied) return { [BOB]: '{"b":1}' }
    return key === keys.likes && !isApplied ? { [BOB]: '2000' } : {}
  }
  /** Returns what a command reads. After the first command on one of the two hashes, the sink applies the block. */
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
  // The block replaces a like. It must be found under at least one of the two keys.
  expect(await readRelations(readerDuringApply(), userKeys(0, ANN), [BOB])).toEqual(
    new Map([[BOB, { likedAt: 1_000, isSuperLike: false, matchedAt: undefined, hasEnded: false, blocks: true, isBlocked: false }]]),
  )
})
