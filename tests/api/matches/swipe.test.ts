import { expect, test } from 'vitest'
import { ApiError, errors } from '../../../api/kit/errors.ts'
import { matchesErrors } from '../../../api/matches/errors.ts'
import { SwipeBody } from '../../../api/matches/model.ts'
import { swipeRoutes } from '../../../api/matches/swipe.ts'
import { conversationIdOf, matchIdOf, swipeIdOf } from '../../../schemas/matches/pair.ts'
import type { SwipeEvent } from '../../../schemas/matches/types.ts'
import type { RecentSwipe } from '../../../state/views/matches/recent.ts'
import { ANN, BOB, CAT } from '../../pipelines/matches/swipes.ts'

const NOW = Date.UTC(2026, 0, 1)
const KEY = 'k1'

interface World {
  /** Ann's last swipe. */
  readonly last?: RecentSwipe
  /** Swipes between the two users count only from this time on, epoch ms. */
  readonly countsFrom?: number
  /** The error that the check of the target throws. */
  readonly refusal?: Error
  readonly isLiked?: boolean
  readonly isKafkaAway?: boolean
}

/** Sends a swipe by Ann with an Idempotency-Key. */
async function swipes(
  target_user_id: string,
  direction: string,
  { last, countsFrom = 0, refusal, isLiked = false, isKafkaAway = false }: World = {},
) {
  const published: SwipeEvent[] = []
  const answers: string[] = []
  const noted: unknown[] = []
  const deps = {
    facts: {
      async publishOrSpool(_topic: unknown, _key: string, event: SwipeEvent) {
        published.push(event)
        return isKafkaAway ? 'spooled' : 'acknowledged'
      },
    },
    people: {
      async swiper() {
        if (refusal !== undefined) throw refusal
        return { self: undefined, recent: { last }, countsFrom }
      },
      tryToNote: async (userId: string) => void noted.push(userId),
    },
    notes: {
      async swiped(_userId: string, _swipe: unknown, answer: string) {
        answers.push(answer)
        return { isRefillClaimed: false, isLiked }
      },
    },
    swipeWaitMs: 25,
    swipeCheckMs: 1_000,
    now: () => NOW,
  } as unknown as Parameters<typeof swipeRoutes>[0]
  const [{ handler }] = swipeRoutes(deps)
  const input = { caller: { subject: ANN }, body: { target_user_id, direction }, idempotencyKey: KEY, elapsedMs: () => 0 }
  const { status, body } = await handler(input as unknown as Parameters<typeof handler>[0])
  return { status, body: JSON.parse(body as string), published, answers, noted }
}

async function swiped(last: RecentSwipe | undefined, target: string, direction: string): Promise<SwipeEvent> {
  return (await swipes(target, direction, { last })).published[0]
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

test("a swipe gets a later time than the user's previous swipe, even if the clock of another API is ahead", async () => {
  const last = { swipeId: 'other', targetId: CAT, direction: 'LEFT', at: NOW + 50 }
  expect(await swiped(last, BOB, 'LEFT')).toMatchObject({ ts: NOW + 51 })
})

test('a swipe counts even if the clock of the worker that created a profile or lifted a block is ahead', async () => {
  const last = { swipeId: 'other', targetId: CAT, direction: 'LEFT', at: NOW + 50 }
  for (const [countsFrom, ts] of [
    [NOW + 100, NOW + 100],
    [NOW + 20, NOW + 51],
  ])
    expect((await swipes(BOB, 'RIGHT', { last, countsFrom })).published).toMatchObject([{ ts }])
})

test('a like of a user who likes the caller is a match, a pass is not, and the response to a queued swipe never shows a match', async () => {
  const swipe_id = swipeIdOf(ANN, KEY)
  const match = { matched: true, match_id: matchIdOf(ANN, BOB), conversation_id: conversationIdOf(ANN, BOB) }
  for (const direction of ['RIGHT', 'SUPER_LIKE']) {
    const liked = { status: 200, body: { swipe_id, match }, answers: ['match'], noted: [BOB] }
    expect(await swipes(BOB, direction, { isLiked: true })).toMatchObject(liked)
    expect(await swipes(BOB, direction)).toMatchObject({ status: 200, body: { swipe_id, match: null }, noted: [] })
    const queued = { status: 202, body: { swipe_id, match: null, queued: true }, answers: ['queued'], noted: [] }
    expect(await swipes(BOB, direction, { isLiked: true, isKafkaAway: true })).toMatchObject(queued)
  }
  const passed = { status: 200, body: { swipe_id, match: null }, answers: ['queued'], noted: [] }
  expect(await swipes(BOB, 'LEFT', { isLiked: true })).toMatchObject(passed)
})

test('a swipe is accepted unchecked while the view is unavailable, and refused if the view shows that the swipe is not allowed', async () => {
  for (const definition of [errors.unavailable, errors.not_ready])
    expect(await swipes(BOB, 'RIGHT', { refusal: new ApiError(definition) })).toMatchObject({ status: 200, body: { match: null } })
  for (const definition of [matchesErrors.profile_not_found, matchesErrors.profile_inactive]) {
    const refusal = new ApiError(definition)
    await expect(swipes(BOB, 'RIGHT', { refusal })).rejects.toBe(refusal)
  }
  await expect(swipes(ANN, 'RIGHT')).rejects.toMatchObject({ definition: matchesErrors.invalid_target })
})

test.each(['swipe_duration_ms', 'feed_position'])('%s is a whole number from 0 to 2^31 - 1, or left out', (field) => {
  const body = { target_user_id: BOB.toUpperCase(), direction: 'LEFT' }
  expect(SwipeBody.parse(body)).toEqual({ target_user_id: BOB, direction: 'LEFT' })
  for (const right of [0, 2 ** 31 - 1]) expect(SwipeBody.parse({ ...body, [field]: right })).toMatchObject({ [field]: right })
  for (const wrong of [-1, 1.5, '1', null, 2 ** 31])
    expect([wrong, SwipeBody.safeParse({ ...body, [field]: wrong }).success]).toEqual([wrong, false])
})
