import { expect, test } from 'vitest'
import { severedField } from '../../../../state/views/matches/recent.ts'
import { userKeys } from '../../../../state/views/matches/users.ts'
import { exclusionsOf, readForSwipe, readPair, readUser } from '../../../../state/views/matches/viewer.ts'
import { NOT_CAUGHT_UP } from '../../../../state/views/view.ts'
import { ANN, BOB } from '../../../pipelines/matches/swipes.ts'

/** A reader between whose commands a sink adds a block to the relations, and removes the note about it. */
function readerDuringApply() {
  const keys = userKeys(0, ANN)
  let isApplied = false
  const hashes = (key: string): Record<string, string> => {
    if (key === keys.recent) return isApplied ? {} : { [severedField(BOB, 'blocks')]: '5 1' }
    return key === keys.relations && isApplied ? { [BOB]: '{"b":1}' } : {}
  }
  /** Returns what a command reads. The sink applies the block after the first command on one of the two hashes. */
  function read<T>(key: string, of: (fields: Record<string, string>) => T): Promise<T> {
    const answer = of(hashes(key))
    isApplied ||= key === keys.recent || key === keys.relations
    return Promise.resolve(answer)
  }
  return {
    get: async () => '{}',
    mget: async (names: readonly string[]) => names.map(() => '{"created_at":0}'),
    hget: (key: string, field: string) => read(key, (fields) => fields[field] ?? null),
    hmget: (key: string, names: readonly string[]) => read(key, (fields) => names.map((name) => fields[name] ?? null)),
    hgetall: (key: string) => read(key, (fields) => fields),
    hgetallBuffer: async () => ({}),
  } as unknown as Parameters<typeof readUser>[0]
}

test('a block is never missing while the sink moves it from the notes into the view', async () => {
  const [ann, bob] = [ANN, BOB].map((id) => ({ id, partition: 0 }))
  expect(await readPair(readerDuringApply(), 0, ANN, BOB)).toMatchObject({ isSevered: true })
  expect(await readForSwipe(readerDuringApply(), ann, bob)).toMatchObject({ isSevered: true })
  const state = await readUser(readerDuringApply(), 0, ANN)
  if (state === undefined || state === NOT_CAUGHT_UP) throw new Error('the profile is missing')
  expect(exclusionsOf(state, 0)(BOB)).toBe('blocks')
})
