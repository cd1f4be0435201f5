import { expect, test } from 'vitest'
import { stacks } from '../../../api/matches/stacks.ts'
import type { MatchProfile } from '../../../schemas/matches/types.ts'
import { formatMember } from '../../../state/views/matches/candidates/index-member.ts'
import { MATCH_INDEX_VIEW } from '../../../state/views/matches/index-cells.ts'
import { parseRecent } from '../../../state/views/matches/recent.ts'
import { basisOf, STORE_STACK } from '../../../state/views/matches/stack.ts'
import { MATCH_USERS_VIEW, userKeys } from '../../../state/views/matches/users.ts'
import { type OwnState, type UserState, viewerAt } from '../../../state/views/matches/viewer.ts'
import { caughtUpKey } from '../../../state/views/view.ts'
import { BOB } from '../../pipelines/matches/swipes.ts'
import { fakeRedis } from '../../state/views/fake-redis.ts'

const NOW = Date.UTC(2026, 0, 1)
const PLACE = { lat: 1, lon: 1 }
const profile = {
  birth_date: '1990-05-01',
  seeking_gender: [],
  gender: null,
  min_age_pref: 18,
  max_age_pref: 99,
  max_dist_km: 50,
} as Partial<MatchProfile> as MatchProfile

const NOTHING_RECENT = parseRecent({})

function stateOf(stack: UserState['stack']): UserState {
  return { profile, self: undefined, recent: NOTHING_RECENT, seenPages: {}, stack }
}

/**
 * Creates feeds on a Redis without candidates, unless the test adds some. `scripts` returns Redis' reply to the script
 * with the given name and arguments.
 */
function world(scripts: (name: string, args: readonly unknown[]) => Promise<unknown>) {
  const clock = { now: NOW }
  const stored = {
    stack: undefined as UserState['stack'],
    last: undefined as UserState['recent']['last'],
    people: new Map<string, OwnState>(),
    members: [] as string[],
    searches: 0,
    gate: Promise.resolve(),
  }
  const { reader, caughtUp, apply } = fakeRedis()
  for (const view of [MATCH_USERS_VIEW, MATCH_INDEX_VIEW]) caughtUp(view, 1)
  const deps = {
    reader: {
      ...reader,
      async zrangebylex() {
        stored.searches++
        await stored.gate
        return stored.members.splice(0)
      },
    },
    scripts: { run: ({ name }: { name: string }, _keys: readonly string[], args: readonly unknown[]) => scripts(name, args) },
    partitionOfCell: () => 0,
    now: () => clock.now,
  }
  const people = {
    own: async () => ({ ...stateOf(stored.stack), recent: { ...NOTHING_RECENT, last: stored.last } }),
    stateOf: async (userId: string) => stored.people.get(userId),
    keysOf: (userId: string) => userKeys(0, userId),
  }
  const stackFor = stacks(people, deps)
  const loseIndex = () => apply([{ op: 'del', key: caughtUpKey(MATCH_INDEX_VIEW, 0) }])
  return { clock, stored, loseIndex, caughtUp, feed: (userId: string) => stackFor(userId, stateOf(undefined), PLACE) }
}

test('a feed searches even if Redis does not run scripts', async () => {
  const { feed, stored } = world(async () => {
    throw new Error('the circuit is open')
  })
  expect((await feed('a')).left).toEqual([])
  expect(stored.searches).toBeGreaterThan(0)
})

test('while the candidate index is being built, a feed fails instead of being empty, and stores no candidates', async () => {
  const scripts: string[] = []
  const { feed, loseIndex, caughtUp } = world(async (name) => {
    scripts.push(name)
    return name === STORE_STACK.name ? [] : 1
  })
  loseIndex()
  await expect(feed('a')).rejects.toMatchObject({ definition: { status: 503, code: 'not_ready' } })
  expect(scripts).toEqual(['lock-build', 'unlock-build'])
  caughtUp(MATCH_INDEX_VIEW, 1)
  expect((await feed('a')).left).toEqual([])
})

test('a feed waits for a search that is already running, and serves its result', async () => {
  let looks = 0
  const { feed, stored } = world(async (name) => {
    if (name === STORE_STACK.name) throw new Error('only the other search stores')
    if (++looks < 3) return 0
    const basis = basisOf(viewerAt({ profile, self: undefined }, PLACE))
    stored.stack = { builtAt: NOW, basis, candidates: [{ userId: BOB, place: PLACE, score: 1 }] }
    return 0
  })
  expect((await feed('a')).left).toMatchObject([{ userId: BOB }])
  expect(stored.searches).toBe(0)
})

test('a search that fails releases its lock, so that the next feed does not wait', async () => {
  const held = new Set<unknown>()
  const { feed, stored, clock } = world(async (name, [token]) => {
    if (name === 'unlock-build') return void held.delete(token)
    if (name === STORE_STACK.name) return []
    if (held.size > 0) {
      clock.now += 1_000
      return 0
    }
    held.add(token)
    return 1
  })
  stored.gate = Promise.reject(new Error('Redis does not respond'))
  await expect(feed('a')).rejects.toThrow('Redis does not respond')
  expect(held.size).toBe(0)
  stored.gate = Promise.resolve()
  expect((await feed('a')).left).toEqual([])
  expect(clock.now).toBe(NOW)
})

test('a feed runs its own search if a search that is already running does not end', async () => {
  const { feed, stored, clock } = world(async (name) => {
    clock.now += 1_000
    return name === STORE_STACK.name ? [] : 0
  })
  expect((await feed('a')).left).toEqual([])
  expect(stored.searches).toBeGreaterThan(0)
})

test('a process runs at most 32 searches at once, and refuses further searches', async () => {
  const { feed, stored } = world(async (name) => (name === STORE_STACK.name ? [] : 1))
  const { promise, resolve } = Promise.withResolvers<void>()
  stored.gate = promise
  const running = Array.from({ length: 32 }, (_, index) => feed(`${index}`))
  await expect.poll(() => stored.searches).toBe(32 * 9)
  await expect(feed('late')).rejects.toMatchObject({ definition: { code: 'unavailable' } })
  resolve()
  expect(await Promise.all(running)).toHaveLength(32)
  expect((await feed('late')).left).toEqual([])
})

test('requests that arrive together do not exceed the limit on searches, and refused requests do not count towards this limit', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const { feed } = world(async (name) => {
    if (name === STORE_STACK.name) return []
    await promise
    return 1
  })
  const asked = Array.from({ length: 50 }, (_, index) => feed(`${index}`))
  resolve()
  const answers = await Promise.allSettled(asked)
  expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(32)
  expect(await Promise.all(Array.from({ length: 32 }, (_, index) => feed(`${index}`)))).toHaveLength(32)
})

test('a search omits a user whom the viewer swiped or blocked during the search, even from its own response', async () => {
  const described = { birthDate: '1990-05-01', gender: undefined, seekingGender: [], minAge: 18, maxAge: 99, elo: 1_500 }
  const member = formatMember({ userId: BOB, place: PLACE, ...described, lastActiveAt: NOW, completeness: 0, version: NOW })
  for (const leftOut of [[], [BOB]]) {
    const { feed, stored } = world(async (name) => (name === STORE_STACK.name ? leftOut : 1))
    stored.members = [member]
    expect((await feed('a')).left.map(({ userId }) => userId)).toEqual(leftOut.length === 0 ? [BOB] : [])
  }
})

test('a rewound profile comes first, even if the search does not reach it', async () => {
  const { feed, stored } = world(async (name) => (name === STORE_STACK.name ? [] : 1))
  const place = { ...PLACE, at: NOW }
  const other = { ...profile, user_id: BOB, is_active: true, bio: null, photo_urls: [], updated_at: NOW }
  const state = (more: Partial<MatchProfile>) => ({
    profile: { ...other, ...more },
    self: undefined,
    recent: { place, last: undefined, activeAt: undefined },
  })
  const shown = async () => (await feed('a')).left.map(({ userId }) => userId)
  stored.people.set(BOB, state({}))
  expect(await shown()).toEqual([])
  stored.last = { swipeId: 's', targetId: BOB, direction: 'REWIND', at: NOW, undone: 'LEFT' }
  expect(await shown()).toEqual([BOB])
  // The filters also apply to this candidate.
  for (const unsuitable of [{ is_active: false }, { birth_date: '1890-05-01' }, { seeking_gender: ['m'] }]) {
    stored.people.set(BOB, state(unsuitable))
    expect([unsuitable, await shown()]).toEqual([unsuitable, []])
  }
  stored.people.delete(BOB)
  expect(await shown()).toEqual([])
})
