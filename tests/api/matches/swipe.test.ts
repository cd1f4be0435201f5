import { expect, test } from 'vitest'
import { ApiError, errors } from '../../../api/kit/errors.ts'
import { swipeRoutes } from '../../../api/matches/swipe.ts'
import { swipeIdOf } from '../../../schemas/matches/pair.ts'
import type { SwipeEvent } from '../../../schemas/matches/types.ts'
import type { RecentSwipe } from '../../../state/views/matches/recent.ts'
import { ANN, BOB, CAT } from '../../pipelines/matches/swipes.ts'

const NOW = Date.UTC(2026, 0, 1)
const KEY = 'k1'

/** Lets Ann, whose last swipe is given, swipe with an Idempotency-Key. Returns the published swipe. */
async function swiped(last: RecentSwipe | undefined, target_user_id: string, direction: string): Promise<SwipeEvent> {
  const published: SwipeEvent[] = []
  const deps = {
    facts: { publishOrSpool: async (_topic: unknown, _key: string, event: SwipeEvent) => void published.push(event) },
    people: { swiper: async () => ({ self: undefined, recent: { last } }) },
    notes: { swiped: async () => ({ isRefillClaimed: false, isLiked: false }) },
    swipeWaitMs: 25,
    swipeCheckMs: 1_000,
    now: () => NOW,
  } as unknown as Parameters<typeof swipeRoutes>[0]
  const [{ handler }] = swipeRoutes(deps)
  const input = { caller: { subject: ANN }, body: { target_user_id, direction }, idempotencyKey: KEY, elapsedMs: () => 0 }
  await handler(input as unknown as Parameters<typeof handler>[0])
  return published[0]
}

test('a repeated swipe keeps its id, and its key cannot be used for another swipe', async () => {
  const first = await swiped(undefined, BOB, 'RIGHT')
  expect(first).toMatchObject({ swipe_id: swipeIdOf(ANN, KEY), swiper_id: ANN, target_id: BOB, direction: 'RIGHT', ts: NOW })
  const last = { swipeId: first.swipe_id, targetId: BOB, direction: 'RIGHT', at: NOW }
  expect(await swiped(last, BOB, 'RIGHT')).toMatchObject({ swipe_id: first.swipe_id })
  for (const [target, direction] of [
    [CAT, 'RIGHT'],
    [BOB, 'LEFT'],
  ])
    await expect(swiped(last, target, direction)).rejects.toEqual(new ApiError(errors.idempotency_conflict))
})

test('a swipe is later than the last one of the user, even if the clock of another API is ahead', async () => {
  const last = { swipeId: 'other', targetId: CAT, direction: 'LEFT', at: NOW + 50 }
  expect(await swiped(last, BOB, 'LEFT')).toMatchObject({ ts: NOW + 51 })
})
