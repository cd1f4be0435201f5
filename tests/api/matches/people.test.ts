import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { ApiError, errors } from '../../../api/kit/errors.ts'
import { createLogger } from '../../../api/kit/logging.ts'
import { matchesErrors } from '../../../api/matches/errors.ts'
import { people } from '../../../api/matches/people.ts'
import { severedField } from '../../../state/views/matches/recent.ts'
import { MATCH_USERS_VIEW } from '../../../state/views/matches/users.ts'
import { caughtUpKey } from '../../../state/views/view.ts'

test('before the partition counts are known, calls return rejected promises and never throw, because callers combine the promises', async () => {
  const unknown = () => {
    throw new ApiError(errors.not_ready)
  }
  const known = people({
    views: {} as Parameters<typeof people>[0]['views'],
    scripts: { run: async () => 1 },
    facts: { partitionOf: unknown },
    notes: { pendingOf: () => [] },
    log: createLogger('silent'),
    now: Date.now,
  })
  const [user, other] = [randomUUID(), randomUUID()]
  const reads = { own: known.own, stateOf: known.stateOf, active: known.active, self: known.self }
  for (const [name, read] of Object.entries(reads)) await expect(read(user), name).rejects.toMatchObject({ definition: errors.not_ready })
  for (const read of [known.pair(user, other), known.shown([other]), known.listed([other]), known.sever(user, 'x', 0, true)])
    await expect(read).rejects.toMatchObject({ definition: errors.not_ready })
})

test('a profile that cannot be read is left out and does not hide the other profiles', async () => {
  const [one, other]: readonly string[] = [randomUUID(), randomUUID()]
  const values = new Map<string, string>()
  const known = people({
    views: { get: async (key: string) => values.get(key) ?? null } as unknown as Parameters<typeof people>[0]['views'],
    scripts: { run: async () => 1 },
    facts: { partitionOf: () => 0 },
    notes: { pendingOf: () => [] },
    log: createLogger('silent'),
    now: Date.now,
  })
  values.set(known.keysOf(one).profile, '{"user_id":')
  values.set(known.keysOf(other).profile, JSON.stringify({ user_id: other, is_active: true }))
  expect([...(await known.shown([one, other])).keys()]).toEqual([other])
})

test('a profile that is missing while its partition of the view is being built leads to not_ready, even if the other partitions are ready', async () => {
  const [swiper, target]: readonly string[] = [randomUUID(), randomUUID()]
  const values = new Map([[caughtUpKey(MATCH_USERS_VIEW, 0), '1']])
  const partitions = new Map([
    [swiper, 0],
    [target, 1],
  ])
  const views = {
    hget: async () => null,
    hmget: async (_key: string, fields: readonly string[]) => fields.map(() => null),
    mget: async (keys: readonly string[]) => keys.map((key) => values.get(key) ?? null),
  }
  const known = people({
    views: views as unknown as Parameters<typeof people>[0]['views'],
    scripts: { run: async () => 1 },
    facts: { partitionOf: (_topic, id) => partitions.get(id as string) as number },
    notes: { pendingOf: () => [] },
    log: createLogger('silent'),
    now: Date.now,
  })
  const create = (userId: string, is_active = true) =>
    values.set(known.keysOf(userId).profile, JSON.stringify({ user_id: userId, is_active }))
  create(swiper)
  await expect(known.swiper(swiper, target)).rejects.toMatchObject({ definition: errors.not_ready })
  values.set(caughtUpKey(MATCH_USERS_VIEW, 1), '1')
  await expect(known.swiper(swiper, target)).rejects.toMatchObject({ definition: matchesErrors.profile_not_found })
  create(target, false)
  await expect(known.swiper(swiper, target)).rejects.toMatchObject({ definition: matchesErrors.profile_not_found })
  create(target)
  expect(await known.swiper(swiper, target)).toMatchObject({ recent: { last: undefined } })
  create(swiper, false)
  await expect(known.swiper(swiper, target)).rejects.toMatchObject({ definition: matchesErrors.profile_inactive })
  values.delete(known.keysOf(swiper).profile)
  await expect(known.swiper(swiper, target)).rejects.toMatchObject({ definition: matchesErrors.profile_not_found })
})

test('a swipe counts only after both profiles were created and the last block was lifted', async () => {
  const [swiper, target]: readonly string[] = [randomUUID(), randomUUID()]
  const notes = new Map<string, string>()
  const known = people({
    views: {
      hget: async () => null,
      hmget: async (_key: string, fields: readonly string[]) => fields.map((field) => notes.get(field) ?? null),
      mget: async (keys: readonly string[]) => keys.map((key) => values.get(key) ?? null),
    } as unknown as Parameters<typeof people>[0]['views'],
    scripts: { run: async () => 1 },
    facts: { partitionOf: () => 0 },
    notes: { pendingOf: () => [] },
    log: createLogger('silent'),
    now: Date.now,
  })
  const values = new Map([[caughtUpKey(MATCH_USERS_VIEW, 0), '1']])
  const create = (userId: string, created_at: number) =>
    values.set(known.keysOf(userId).profile, JSON.stringify({ user_id: userId, is_active: true, created_at }))
  create(swiper, 1_000)
  create(target, 900)
  expect((await known.swiper(swiper, target)).countsFrom).toBe(1_001)
  create(target, 2_000)
  expect((await known.swiper(swiper, target)).countsFrom).toBe(2_001)
  notes.set(severedField(target, 'blocked'), '3000 0')
  notes.set(severedField(target, 'blocks'), '2500 0')
  expect((await known.swiper(swiper, target)).countsFrom).toBe(3_000)
})

test('a list of users leads to not_ready if a user is missing while their partition of the view is being built', async () => {
  const [ann, bob, cat]: readonly string[] = [randomUUID(), randomUUID(), randomUUID()]
  const values = new Map([[caughtUpKey(MATCH_USERS_VIEW, 0), '1']])
  const known = people({
    views: { get: async (key: string) => values.get(key) ?? null } as unknown as Parameters<typeof people>[0]['views'],
    scripts: { run: async () => 1 },
    facts: { partitionOf: (_topic, id) => (id === cat ? 1 : 0) },
    notes: { pendingOf: () => [] },
    log: createLogger('silent'),
    now: Date.now,
  })
  const create = (user_id: string, is_active = true) => values.set(known.keysOf(user_id).profile, JSON.stringify({ user_id, is_active }))
  create(ann)
  create(bob, false)
  expect([...(await known.listed([ann, bob])).keys()]).toEqual([ann])
  await expect(known.listed([ann, cat])).rejects.toMatchObject({ definition: errors.not_ready })
  // A feed shows the users who are found and leaves out the others.
  expect([...(await known.shown([ann, cat])).keys()]).toEqual([ann])
  create(cat)
  expect([...(await known.listed([ann, cat])).keys()]).toEqual([ann, cat])
})

test('the error for a refused move has the same fields as every 429', async () => {
  const known = people({
    views: {} as Parameters<typeof people>[0]['views'],
    scripts: { run: async () => 1_001 },
    facts: { partitionOf: () => 0 },
    notes: { pendingOf: () => [] },
    log: createLogger('silent'),
    now: Date.now,
  })
  const refused = known.checkJump(randomUUID(), { self: undefined, recent: { place: { lat: 0, lon: 0, at: 0 } } }, { lat: 1, lon: 1 })
  const fields = { limit: 20, window: '3600s', retry_after: 2 }
  await expect(refused).rejects.toMatchObject({ definition: errors.rate_limit_exceeded, options: { retryAfter: 2, fields } })
})
