import { randomUUID } from 'node:crypto'
import { isPositive } from '../../schemas/matches/directions.ts'
import { conversationIdOf, matchIdOf, rewindIdOf, swipeIdOf } from '../../schemas/matches/pair.ts'
import { stackRefillRequests, swipeEvents } from '../../schemas/matches/topics.ts'
import type { SwipeEvent } from '../../schemas/matches/types.ts'
import { matchedField, type RecentSwipe } from '../../state/views/matches/recent.ts'
import { lastSwipeOf, type SwipeState } from '../../state/views/matches/viewer.ts'
import { type Answer, jsonAnswer } from '../kit/answer.ts'
import { idempotencyConflict } from '../kit/commands/idempotency.ts'
import { ApiError, errors } from '../kit/errors.ts'
import type { Facts } from '../kit/facts.ts'
import { PRIVATE } from '../kit/headers.ts'
import { bind } from '../kit/route.ts'
import type { Published, SpoolingFacts } from '../kit/spool/spooling-publisher.ts'
import { matchesErrors } from './errors.ts'
import { inTime } from './in-time.ts'
import type { Swipe } from './model.ts'
import { type People, userOf } from './people.ts'
import { rewindRoute, swipeRoute } from './routes.ts'
import type { MatchesSettings } from './settings.ts'
import type { SwipeNotes } from './swipe-notes.ts'

/**
 * How long an expected match prevents a rewind. After this time, a rewind is prevented only if the view contains the
 * match.
 */
const FORECAST_MS = 60_000

export interface SwipeDeps extends MatchesSettings {
  readonly facts: Facts & SpoolingFacts
  readonly people: People
  readonly notes: SwipeNotes
  /** Epoch ms. */
  now(): number
}

interface Checked extends Pick<SwipeState, 'countsFrom'> {
  readonly last: RecentSwipe | undefined
}

/** Creates the routes that record swipes and take them back. */
export function swipeRoutes({ facts, people, notes, swipeWaitMs, swipeCheckMs, now }: SwipeDeps) {
  /**
   * Checks whether a user may swipe a target. If the view is unavailable, late or still being built, the swipe is
   * accepted without a check, and the pipeline discards it if it is invalid.
   * @returns the user's last swipe and the earliest time at which a swipe takes effect. Without a check, the last swipe
   * is undefined and the time is 0.
   */
  async function checked(userId: string, targetId: string): Promise<Checked> {
    try {
      const state = await inTime(people.swiper(userId, targetId), swipeCheckMs)
      return { last: lastSwipeOf(state), countsFrom: state.countsFrom }
    } catch (error) {
      const code = error instanceof ApiError ? error.definition.code : undefined
      if (code !== errors.unavailable.code && code !== errors.not_ready.code) throw error
      return { last: undefined, countsFrom: 0 }
    }
  }

  async function swipe(userId: string, body: Swipe, swipeId: string, elapsedMs: () => number): Promise<Answer> {
    const { target_user_id: targetId, direction } = body
    if (targetId === userId) throw new ApiError(matchesErrors.invalid_target)
    const { last, countsFrom } = await checked(userId, targetId)
    if (last?.swipeId === swipeId && (last.targetId !== targetId || last.direction !== direction)) throw idempotencyConflict()
    const made = { swipeId, targetId, direction, at: Math.max(timeAfter(last), countsFrom) }
    const details = { duration_ms: body.swipe_duration_ms ?? null, position: body.feed_position ?? null }
    const published = await publish(userId, { ...eventOf(userId, made), ...details }, elapsedMs)
    const isQueued = published === 'spooled'
    const { isRefillClaimed, isLiked } = await notes.swiped(userId, made, isQueued || !isPositive(direction) ? 'queued' : 'match')
    if (isRefillClaimed) void facts.publish(stackRefillRequests, userId, { user_id: userId, ts: now() }).catch(() => undefined)
    if (isQueued) return jsonAnswer(202, { swipe_id: swipeId, match: null, queued: true }, PRIVATE)
    if (!isLiked || !isPositive(direction)) return jsonAnswer(200, { swipe_id: swipeId, match: null }, PRIVATE)
    // This note prevents the other user from rewinding the like before the view includes the match.
    await people.tryToNote(targetId, matchedField(userId, made.at))
    const match = { matched: true, match_id: matchIdOf(userId, targetId), conversation_id: conversationIdOf(userId, targetId) }
    return jsonAnswer(200, { swipe_id: swipeId, match }, PRIVATE)
  }

  async function rewind(userId: string, swipeId: string, elapsedMs: () => number): Promise<Answer> {
    const last = lastSwipeOf(await people.self(userId))
    if (last === undefined) throw new ApiError(matchesErrors.nothing_to_rewind)
    if (last.direction === 'REWIND') {
      const { undone } = last
      if (undone !== undefined && last.swipeId === swipeId) return publishRewind(userId, { ...last, undone }, elapsedMs)
      throw new ApiError(matchesErrors.nothing_to_rewind)
    }
    const { targetId, direction } = last
    const { relation, matchedAt } = await people.pair(userId, targetId)
    if (relation?.matchedAt !== undefined || (matchedAt !== undefined && now() - matchedAt < FORECAST_MS))
      throw new ApiError(matchesErrors.already_matched)
    const made = { swipeId, targetId, at: timeAfter(last), undone: direction }
    return publishRewind(userId, made, elapsedMs)
  }

  /**
   * Publishes a rewind. A repeated request publishes the rewind again, in case the first record was lost. The pipeline
   * applies the rewind only once.
   */
  async function publishRewind(
    userId: string,
    { swipeId, targetId, at, undone }: Omit<RecentSwipe, 'direction'> & { readonly undone: string },
    elapsedMs: () => number,
  ): Promise<Answer> {
    const made = { swipeId, targetId, at, undone, direction: 'REWIND' as const }
    const published = await publish(userId, eventOf(userId, made), elapsedMs)
    await notes.rewound(userId, made)
    const body = { swipe_id: swipeId, target_user_id: targetId, direction: undone }
    return published === 'spooled' ? jsonAnswer(202, { ...body, queued: true }, PRIVATE) : jsonAnswer(200, body, PRIVATE)
  }

  function publish(userId: string, event: SwipeEvent, elapsedMs: () => number): Promise<Published> {
    return facts.publishOrSpool(swipeEvents, userId, event, { withinMs: Math.max(0, swipeWaitMs - elapsedMs()), isDurable: true })
  }

  /**
   * Returns the time for a new swipe. The new time is always later than the time of the last swipe, because a swipe has
   * no effect if an earlier swipe of the same target has a later time. The clock of the API process that received the
   * earlier swipe may be ahead.
   */
  function timeAfter(last: RecentSwipe | undefined): number {
    return Math.max(now(), (last?.at ?? 0) + 1)
  }

  /** Returns the id of a swipe or rewind. A request that is repeated with its Idempotency-Key gets the same id. */
  function idOf(userId: string, idempotencyKey: string | undefined, idOfKey: typeof swipeIdOf): string {
    return idempotencyKey === undefined ? randomUUID() : idOfKey(userId, idempotencyKey)
  }

  return [
    bind(swipeRoute, (input) => {
      const userId = userOf(input)
      return swipe(userId, input.body, idOf(userId, input.idempotencyKey, swipeIdOf), input.elapsedMs)
    }),
    bind(rewindRoute, (input) => {
      const userId = userOf(input)
      return rewind(userId, idOf(userId, input.idempotencyKey, rewindIdOf), input.elapsedMs)
    }),
  ]
}

function eventOf(
  userId: string,
  { swipeId, targetId, direction, at }: RecentSwipe & { readonly direction: SwipeEvent['direction'] },
): SwipeEvent {
  return { swipe_id: swipeId, swiper_id: userId, target_id: targetId, direction, ts: at, duration_ms: null, position: null }
}
