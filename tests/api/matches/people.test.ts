import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { ApiError, errors } from '../../../api/kit/errors.ts'
import { createLogger } from '../../../api/kit/logging.ts'
import { people } from '../../../api/matches/people.ts'
import { MATCH_USERS_VIEW } from '../../../state/views/matches/users.ts'
import { caughtUpKey } from '../../../state/views/view.ts'

test('before the partition counts are known, reads reject and never throw, because callers combine them', async () => {
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
  for (const read of [known.pair(user, other), known.shown([other]), known.sever(user, 'x', 0, true)])
    await expect(read).rejects.toMatchObject({ definition: errors.not_ready })
})

test('a profile that is missing while its part of the view is being built is not ready, although the rest of the view is', async () => {
  const [swiper, target]: readonly string[] = [randomUUID(), randomUUID()]
  const values = new Map([[caughtUpKey(MATCH_USERS_VIEW, 0), '1']])
  const partitions = new Map([
    [swiper, 0],
    [target, 1],
  ])
  const known = people({
    views: { get: async (key: string) => values.get(key) ?? null } as Parameters<typeof people>[0]['views'],
    scripts: { run: async () => 1 },
    facts: { partitionOf: (_topic, id) => partitions.get(id as string) as number },
    notes: { pendingOf: () => [] },
    log: createLogger('silent'),
    now: Date.now,
  })
  await expect(known.activeProfile(target)).rejects.toMatchObject({ definition: errors.not_ready })
  expect(await known.activeProfile(swiper)).toBeUndefined()
  values.set(caughtUpKey(MATCH_USERS_VIEW, 1), '1')
  expect(await known.activeProfile(target)).toBeUndefined()
  values.set(known.keysOf(target).profile, JSON.stringify({ user_id: target, is_active: true }))
  expect(await known.activeProfile(target)).toMatchObject({ user_id: target })
})
