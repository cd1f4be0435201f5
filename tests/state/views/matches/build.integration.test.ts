import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import type { MatchProfile } from '../../../../schemas/matches/types.ts'
import { boundedScripts } from '../../../../state/redis/bounded-scripts.ts'
import { runScript } from '../../../../state/redis/run-script.ts'
import { type BuildDeps, type Built, buildStack, lockBuild } from '../../../../state/views/matches/build.ts'
import { formatMember } from '../../../../state/views/matches/candidates/index-member.ts'
import { cellKey, MATCH_INDEX_VIEW } from '../../../../state/views/matches/index-cells.ts'
import { type RecentSwipe, severedField } from '../../../../state/views/matches/recent.ts'
import { refillStack } from '../../../../state/views/matches/refill.ts'
import { parseStack, type Stack } from '../../../../state/views/matches/stack.ts'
import {
  noteSwipeArguments,
  TAKE_REWIND,
  TAKE_SWIPE,
  takenSwipe,
  takeRewindKeys,
  takeSwipeArguments,
  takeSwipeKeys,
} from '../../../../state/views/matches/take-swipe.ts'
import { MATCH_USERS_VIEW, userKeys } from '../../../../state/views/matches/users.ts'
import { readUser, type UserState } from '../../../../state/views/matches/viewer.ts'
import { viewReader } from '../../../../state/views/reader.ts'
import { caughtUpKey, NOT_CAUGHT_UP } from '../../../../state/views/view.ts'
import { privateRedis } from '../../../stack/index.ts'

const PARTITION = 0
const PLACE = { lat: 52.52, lon: 13.405 }
const ANN = '0a000000-0000-4000-8000-000000000000'

/** Starts a Redis with Ann and `count` users around her. One in `everyth` of these users passes her filters. */
async function world(count: number, everyth = 1) {
  const redis = new Redis((await privateRedis()).address)
  onTestFinished(() => redis.disconnect())
  const now = Date.now()
  const keys = userKeys(PARTITION, ANN)
  const profile: MatchProfile = {
    user_id: ANN,
    display_name: 'Ann',
    birth_date: '1990-05-01',
    gender: 'f',
    seeking_gender: ['m'],
    bio: null,
    min_age_pref: 18,
    max_age_pref: 99,
    max_dist_km: 50,
    is_active: true,
    photo_urls: [],
    created_at: now,
    updated_at: now,
    deleted_at: null,
  }
  await redis.set(keys.profile, JSON.stringify(profile))
  await redis.hset(keys.recent, { place: `${PLACE.lat} ${PLACE.lon} ${now}` })
  for (const view of [MATCH_USERS_VIEW, MATCH_INDEX_VIEW]) await redis.set(caughtUpKey(view, PARTITION), '1')
  const suitable = new Set<string>()
  for (let index = 0; index < count; index++) {
    const userId = randomUUID()
    const suits = index % everyth === 0
    if (suits) suitable.add(userId)
    const described = { birthDate: '1990-05-01', gender: suits ? 'm' : 'f', seekingGender: [], minAge: 18, maxAge: 99, elo: 1_500 }
    const place = { lat: PLACE.lat + (index % 3) / 1_000, lon: PLACE.lon }
    const member = formatMember({ userId, place, ...described, lastActiveAt: now, completeness: 0, version: now })
    await redis.zadd(cellKey(0, member.slice(0, 4)), 0, member)
  }
  const deps: BuildDeps = {
    reader: viewReader(redis),
    scripts: boundedScripts({ redis, timeoutMs: 10_000, monotonic: () => performance.now() }),
    partitionOfCell: () => 0,
    now: Date.now,
  }
  const state = async () => (await readUser(deps.reader, PARTITION, ANN)) as UserState
  const stack = async () => parseStack(await redis.hgetall(keys.stack))
  const note = (swipe: RecentSwipe) =>
    swipe.direction === 'REWIND'
      ? runScript(redis, TAKE_REWIND, takeRewindKeys(keys), noteSwipeArguments(swipe))
      : runScript(redis, TAKE_SWIPE, takeSwipeKeys(keys), takeSwipeArguments(swipe, 'queued')).then(takenSwipe)
  // As in the API, each swipe of a user has a later time than the previous one.
  let at = now
  const swipe = (targetId: string, direction = 'LEFT') => note({ swipeId: randomUUID(), targetId, direction, at: at++ })
  async function built(token: string, from: UserState, reader = deps.reader): Promise<Built> {
    const result = await buildStack({ ...deps, reader }, keys, token, from, PLACE)
    if (result === NOT_CAUGHT_UP) throw new Error('the view is being built')
    return result
  }
  async function build(): Promise<Stack> {
    const token = randomUUID()
    expect(await lockBuild(deps, keys, token)).toBe(true)
    const { stack, stored } = await built(token, await state())
    await stored
    return stack
  }
  return { redis, keys, deps, suitable, state, stack, swipe, built, build }
}

const idsOf = (stack: Stack | undefined) => stack?.candidates.map(({ userId }) => userId) ?? []

test('in a densely populated area, the searches of a user who swipes all candidates eventually find all suitable users', async () => {
  const { suitable, build, swipe, redis, keys } = await world(12_000, 100)
  const shown = new Set<string>()
  for (let round = 0; round < 6; round++) {
    for (const userId of idsOf(await build())) {
      expect(shown.has(userId)).toBe(false)
      shown.add(userId)
      await swipe(userId)
    }
  }
  expect(shown).toEqual(suitable)
  // The position contains ids and cells of other users. After the deletion of such a user, Redis rewrites its log files
  // four times within 45 minutes. The position must expire before the last rewrite.
  expect(await redis.pttl(keys.resume)).toBeLessThanOrEqual(1_800_000)
})

test('while most candidates of the last search are left, a new search starts over; otherwise it continues where that search stopped, and keeps the remaining candidates', async () => {
  const { build, swipe } = await world(12_000, 300)
  const first = idsOf(await build())
  expect(first.length).toBeGreaterThan(10)
  expect(new Set(idsOf(await build()))).toEqual(new Set(first))
  for (const userId of first.slice(3)) await swipe(userId)
  const next = idsOf(await build())
  expect(next).toEqual(expect.arrayContaining(first.slice(0, 3)))
  expect(next.length).toBeGreaterThan(3)
})

test('a stack leaves out users who were swiped or blocked during its search, and is not stored after a rewind during the search', async () => {
  const { deps, keys, state, stack, swipe, built, redis } = await world(5)
  const token = randomUUID()
  await lockBuild(deps, keys, token)
  const before = await state()
  const [one, other, third, fourth, last] = await membersOf(redis)
  await swipe(one)
  await swipe(other)
  await swipe(other, 'REWIND')
  await redis.hset(keys.recent, severedField(third, 'blocked'), '1')
  // The view includes this block only after the search has read the relations, and then no note about the block is
  // left.
  async function hmget(key: string, fields: readonly string[]) {
    if (key === keys.relations) await redis.hdel(keys.relations, fourth)
    const found = await deps.reader.hmget(key, fields)
    if (key === keys.relations) await redis.hset(keys.relations, fourth, '{"b":1}')
    return found
  }
  const reader = { ...deps.reader, hmget }
  // The rewind has removed the lock of this search, because the search may have skipped the target of the rewind.
  const leftOut = new Set([one, third, fourth])
  expect(await (await built(token, before, reader)).stored).toEqual(leftOut)
  expect(await stack()).toBeUndefined()
  await lockBuild(deps, keys, token)
  expect(await (await built(token, before, reader)).stored).toEqual(leftOut)
  expect(new Set(idsOf(await stack()))).toEqual(new Set([other, last]))
  expect(await redis.exists(keys.building)).toBe(0)
})

/** Returns the users in the only cell. */
async function membersOf(redis: Redis): Promise<string[]> {
  const [key] = await redis.keys('*:cell:*')
  return (await redis.zrange(key, '0', '-1')).map((member) => member.split('|')[1])
}

test('a rewind removes the stored candidates once, however often its note is stored again', async () => {
  const { build, redis, keys, stack } = await world(3)
  const [target] = idsOf(await build())
  const at = Date.now() + 1_000
  const note = (swipeId: string, time: number) =>
    runScript(redis, TAKE_REWIND, takeRewindKeys(keys), noteSwipeArguments({ swipeId, targetId: target, direction: 'REWIND', at: time }))
  await note('rewind', at)
  expect(await stack()).toBeUndefined()
  await build()
  await note('rewind', at)
  await note('earlier', at - 1)
  // Storing the note again has no effect even after the sink has removed the note, because the view includes the
  // rewind.
  await redis.hdel(keys.recent, `s:${target}`)
  await note('rewind', at)
  expect(idsOf(await stack())).toHaveLength(3)
  await note('later', at + 1)
  expect(await stack()).toBeUndefined()
})

test('only one search for a user runs at a time', async () => {
  const { deps, keys, stack, build } = await world(3)
  await lockBuild(deps, keys, 'one')
  expect(await lockBuild(deps, keys, 'other')).toBe(false)
  expect(await refillStack(deps, PARTITION, ANN, 'other')).toBe('skipped')
  // The lock expires, because the process of the first search may have ended.
  await expect.poll(() => refillStack(deps, PARTITION, ANN, 'other'), { timeout: 30_000 }).toBe('built')
  expect(idsOf(await stack())).toHaveLength(3)
  expect(idsOf(await build())).toHaveLength(3)
})

test('a refill that fails releases its lock, so that the next feed request need not wait until the lock expires', async () => {
  const { deps, keys, redis } = await world(3)
  const zrangebylex = () => Promise.reject(new Error('the cell cannot be read'))
  await expect(refillStack({ ...deps, reader: { ...deps.reader, zrangebylex } }, PARTITION, ANN, 'one')).rejects.toThrow('the cell')
  expect(await redis.exists(keys.building)).toBe(0)
})

test('the swipe that leaves only four candidates claims a refill, and the swipes after it do not', async () => {
  const { build, swipe, stack } = await world(8)
  const ids = idsOf(await build())
  const claims: boolean[] = []
  for (const userId of ids) claims.push(((await swipe(userId)) as { isRefillClaimed: boolean }).isRefillClaimed)
  // Four candidates are left after the fourth swipe.
  expect(claims).toEqual([false, false, false, true, false, false, false, false])
  expect(idsOf(await stack())).toEqual([])
})

test('a refill is skipped for a user without a place or a profile', async () => {
  const { deps, keys, redis } = await world(3)
  await redis.hdel(keys.recent, 'place')
  expect(await refillStack(deps, PARTITION, ANN, 'one')).toBe('skipped')
  expect(await redis.exists(keys.building)).toBe(0)
  expect(await refillStack(deps, PARTITION, randomUUID(), 'one')).toBe('skipped')
})
