import { randomUUID } from 'node:crypto'
import { isPositive } from '../../schemas/matches/directions.ts'
import { conversationIdOf, matchIdOf, swipeIdOf } from '../../schemas/matches/pair.ts'
import { swipeEvents } from '../../schemas/matches/topics.ts'
import { matchedField, swipeField } from '../../state/views/matches/recent.ts'
import { isSevered } from '../../state/views/matches/users.ts'
import { lastSwipeOf } from '../../state/views/matches/viewer.ts'
import { type Answer, jsonAnswer } from '../kit/answer.ts'
import { ApiError } from '../kit/errors.ts'
import type { Facts } from '../kit/facts.ts'
import { PRIVATE } from '../kit/headers.ts'
import { bind } from '../kit/route.ts'
import type { SpoolingFacts } from '../kit/spool/spooling-publisher.ts'
import { matchesErrors } from './errors.ts'
import type { Swipe } from './model.ts'
import type { People } from './people.ts'
import { userOf } from './profile.ts'
import { rewindRoute, swipeRoute } from './routes.ts'

/** How long an answered match counts before the view must have it. The answer is a forecast, so not for longer. */
const FORECAST_MS = 60_000

/** A stack that is not valid for any feed. */
const NO_STACK = { builtAt: 0, basis: '', candidates: [] }

export interface SwipeDeps {
  readonly facts: Facts & SpoolingFacts
  readonly people: People
  /** How long after its arrival a swipe waits for Kafka. */
  readonly swipeWaitMs: number
  /** Epoch ms. */
  now(): number
}

/** Creates the routes that record swipes and take them back. */
export function swipeRoutes({ facts, people, swipeWaitMs, now }: SwipeDeps) {
  async function swipe(userId: string, body: Swipe, swipeId: string, elapsedMs: () => number): Promise<Answer> {
    const { target_user_id: targetId, direction } = body
    if (targetId === userId) throw new ApiError(matchesErrors.invalid_target)
    const [state, profiles] = await Promise.all([people.active(userId), people.shown([targetId])])
    const relation = state.relations.get(targetId)
    const isHidden = state.recent.severed.has(targetId) || (relation !== undefined && isSevered(relation))
    if (!profiles.has(targetId) || isHidden) throw new ApiError(matchesErrors.profile_not_found)
    const at = now()
    const details = { duration_ms: body.swipe_duration_ms ?? null, position: body.feed_position ?? null }
    const event = { swipe_id: swipeId, swiper_id: userId, target_id: targetId, direction, ts: at, ...details }
    const withinMs = Math.max(0, swipeWaitMs - elapsedMs())
    const published = await facts.publishOrSpool(swipeEvents, userId, event, { withinMs, isDurable: true })
    await people.tryToNote(userId, swipeField({ swipeId, targetId, direction, at }))
    if (published === 'spooled') return jsonAnswer(202, { swipe_id: swipeId, match: null, queued: true }, PRIVATE)
    const isMutual = isPositive(direction) && (relation?.likedAt !== undefined || relation?.match !== undefined)
    // Neither side may take the like back before the view has the match.
    if (isMutual)
      await Promise.all([people.tryToNote(userId, matchedField(targetId, at)), people.tryToNote(targetId, matchedField(userId, at))])
    const match = isMutual
      ? { matched: true, match_id: matchIdOf(userId, targetId), conversation_id: conversationIdOf(userId, targetId) }
      : null
    return jsonAnswer(200, { swipe_id: swipeId, match }, PRIVATE)
  }

  async function rewind(userId: string, swipeId: string) {
    const state = await people.own(userId)
    const last = lastSwipeOf(state)
    if (last === undefined || last.direction === 'REWIND') throw new ApiError(matchesErrors.nothing_to_rewind)
    const { targetId, direction } = last
    const answeredAt = state.recent.matched.get(targetId) ?? Number.NEGATIVE_INFINITY
    if (state.relations.get(targetId)?.match !== undefined || now() - answeredAt < FORECAST_MS)
      throw new ApiError(matchesErrors.already_matched)
    // The clocks of two APIs differ, and the rewind must come after the swipe.
    const at = Math.max(now(), last.at + 1)
    const details = { duration_ms: null, position: null }
    await facts.publish(swipeEvents, userId, {
      swipe_id: swipeId,
      swiper_id: userId,
      target_id: targetId,
      direction: 'REWIND',
      ts: at,
      ...details,
    })
    await people.tryToNote(userId, swipeField({ swipeId, targetId, direction: 'REWIND', at }))
    // The kept candidates may have been found without the target, so the next feed searches again.
    await people.keepStack(userId, NO_STACK)
    return { swipe_id: swipeId, target_user_id: targetId, direction }
  }

  /** Returns the id of a swipe, which is the same for a repeated request. */
  function idOf(userId: string, idempotencyKey: string | undefined): string {
    return idempotencyKey === undefined ? randomUUID() : swipeIdOf(userId, idempotencyKey)
  }

  return [
    bind(swipeRoute, (input) => {
      const userId = userOf(input)
      return swipe(userId, input.body, idOf(userId, input.idempotencyKey), input.elapsedMs)
    }),
    bind(rewindRoute, async (input) => {
      const userId = userOf(input)
      return jsonAnswer(200, await rewind(userId, idOf(userId, input.idempotencyKey)), PRIVATE)
    }),
  ]
}
