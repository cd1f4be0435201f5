import { mkdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { erasableState } from '../../../pipelines/engine/index.ts'
import { matchUsers } from '../../../pipelines/matches/users/topology.ts'
import { memoryBackend } from '../../../state/stores/memory-backend.ts'
import { withReplaceableState } from '../../../state/stores/replaceable-state.ts'
import { splitBackend } from '../../../state/stores/split-backend.ts'
import type { StateBackend, StateColumn } from '../../../state/stores/store.ts'
import { isOnDisk, newFolder, put } from './harness.ts'

const SECRET = 'a secret that must vanish'
const USERS_POSITION = 'changelog/match-users-users-changelog-0'
const SWIPES_POSITION = 'changelog/match-users-swipes-changelog-0'

const all = (column: StateColumn) => [...column.scan({})].map(([key, value]) => [String(key), String(value)])

/** Opens the state of match-users. Its store `users` is erasable, and its store `swipes` is not. */
async function withState<Result>(
  folder: string,
  use: (backend: StateBackend) => Result | Promise<Result>,
  isSplit = true,
): Promise<Result> {
  const apartOf = isSplit ? erasableState([matchUsers]) : undefined
  return await withReplaceableState(
    { folder, apartOf },
    () => expect.unreachable(),
    async (backend) => await use(backend),
  )
}

function parts(backend: StateBackend) {
  const session = backend.session('match-users')
  return { session, users: session.column('users', 0), swipes: session.column('swipes', 0) }
}

test('only the database of erasable stores is rewritten, and each store is in the same database as its position', async () => {
  const folder = newFolder()
  await withState(folder, async (backend) => {
    await backend.scrub()
    const { session, users, swipes } = parts(backend)
    put(users, 'ann', SECRET)
    put(swipes, 'ann:bob', '1')
    session.putPosition(USERS_POSITION, 5)
    const batch = session.takeBatch()
    batch.putPosition(SWIPES_POSITION, 7)
    batch.write()
    put(users, 'ann', null)
    put(users, 'bob', '2')
    session.write()
    expect(isOnDisk(folder, SECRET)).toBe(true)
    const before = readFileSync(join(folder, 'generation'), 'utf8')
    users.scrub()
    expect(await backend.scrub()).toBe(true)
    expect(isOnDisk(folder, SECRET)).toBe(false)
    expect(readFileSync(join(folder, 'generation'), 'utf8')).toBe(before)
    expect([all(users), all(swipes)]).toEqual([[['bob', '2']], [['ann:bob', '1']]])
  })
  rmSync(join(folder, 'erasable'), { recursive: true })
  await withState(folder, (backend) => {
    const { session, users, swipes } = parts(backend)
    expect([session.position(USERS_POSITION), session.position(SWIPES_POSITION)]).toEqual([undefined, 7])
    expect([all(users), all(swipes)]).toEqual([[], [['ann:bob', '1']]])
  })
})

test('if a folder has only a single database, its erasable stores must be restored into a new one, and vanish from the old one even if the first scrub fails', async () => {
  const folder = newFolder()
  await withState(
    folder,
    (backend) => {
      const { session, users, swipes } = parts(backend)
      put(users, 'ann', SECRET)
      put(swipes, 'ann:bob', '1')
      session.putPosition(USERS_POSITION, 5)
      session.putPosition(SWIPES_POSITION, 7)
      session.write()
    },
    false,
  )
  await withState(folder, async (backend) => {
    const { session, swipes } = parts(backend)
    expect([session.position(USERS_POSITION), session.position(SWIPES_POSITION)]).toEqual([undefined, 7])
    // The store has no position, so a restore clears it first.
    session.clear('users', 0, [USERS_POSITION])
    const obstacle = join(folder, 'erasable', 'generation.draft')
    mkdirSync(obstacle)
    await expect(backend.scrub()).rejects.toThrow('rewriting the state')
    rmdirSync(obstacle)
    await backend.scrub()
    expect(isOnDisk(folder, SECRET)).toBe(false)
    expect(all(swipes)).toEqual([['ann:bob', '1']])
    expect(session.position(SWIPES_POSITION)).toBe(7)
  })
})

test('the first scrub of a new database for erasable stores reports a rewrite, even if the main database was not rewritten', async () => {
  const backendThat = (isRewritten: boolean) => ({ ...memoryBackend(), scrub: async () => isRewritten })
  const backend = splitBackend({ main: backendThat(false), apart: backendThat(true), apartOf: () => undefined, isNew: true })
  expect(await backend.scrub()).toBe(true)
})
