import { locationUpdates } from '../../schemas/matches/topics.ts'
import type { Place } from '../../state/views/matches/candidates/cells.ts'
import { shownDistanceKm } from '../../state/views/matches/candidates/distance.ts'
import { activeField, placeField } from '../../state/views/matches/recent.ts'
import { nextRefillAt, STACK_TTL_MS, type StackedCandidate } from '../../state/views/matches/stack.ts'
import { lastActiveOf, placeOf, type UserState } from '../../state/views/matches/viewer.ts'
import { jsonAnswer } from '../kit/answer.ts'
import { ApiError, invalidRequest } from '../kit/errors.ts'
import type { Facts } from '../kit/facts.ts'
import { PRIVATE } from '../kit/headers.ts'
import { bind } from '../kit/route.ts'
import { matchesErrors } from './errors.ts'
import { type People, personJson, placeTimeOf, userOf } from './people.ts'
import { feedRoute } from './routes.ts'
import type { StackFor } from './stacks.ts'

const MS_PER_SECOND = 1_000
/**
 * Scores are shown with two decimals, because more decimals would reveal parts of the score, such as the desirability.
 */
const SHOWN_SCORES = 100
/**
 * Minimum interval between reports of a user's activity. More frequent reports would be useless, because users count as
 * active for a week.
 */
const ACTIVITY_EVERY_MS = 600_000

export interface FeedDeps {
  readonly facts: Facts
  readonly people: People
  readonly stackFor: StackFor
  /** Called when Kafka does not accept the location that a feed request contains. */
  onPlaceDropped(): void
  /** Epoch ms. */
  now(): number
}

/** Creates the route that shows candidates. The route depends only on Redis, because it does not wait for Kafka. */
export function feedRoutes({ facts, people, stackFor, onPlaceDropped, now }: FeedDeps) {
  /**
   * Returns the location around which to search. A location in the request also updates the user's location; if Kafka
   * does not accept the update, `onPlaceDropped` is called. A request without a location reports that the user is
   * active.
   */
  async function placeFor(
    userId: string,
    state: UserState,
    given: { lat?: number; lon?: number },
  ): Promise<Place & { readonly at: number }> {
    const { lat, lon } = given
    if ((lat === undefined) !== (lon === undefined))
      throw lat === undefined ? invalidRequest('query.lat', 'is required with lon') : invalidRequest('query.lon', 'is required with lat')
    if (lat !== undefined && lon !== undefined) {
      const at = placeTimeOf(state, now())
      await people.checkJump(userId, state, { lat, lon })
      void facts.publish(locationUpdates, userId, { user_id: userId, lat, lon, accuracy_m: null, ts: at }).catch(onPlaceDropped)
      await people.tryToNote(userId, placeField({ lat, lon }, at))
      return { lat, lon, at }
    }
    reportActivity(userId, state)
    const known = placeOf(state)
    if (known === undefined) throw new ApiError(matchesErrors.location_required)
    return known
  }

  /**
   * Reports that a user is active, unless recent activity of the user is already known. If Kafka does not accept the
   * report, the report is dropped; a later feed request sends a new one.
   */
  function reportActivity(userId: string, state: UserState): void {
    const at = Math.max(now(), state.profile.created_at + 1)
    if (at - lastActiveOf(state) < ACTIVITY_EVERY_MS) return
    void people.tryToNote(userId, activeField(at))
    facts.publish(locationUpdates, userId, { user_id: userId, lat: null, lon: null, accuracy_m: null, ts: at }).catch(() => undefined)
  }

  /**
   * Returns the first `limit` candidates as the answer shows them. Skips candidates whose profiles are deleted or
   * switched off. Reads no more profiles than necessary.
   */
  async function shown(left: readonly StackedCandidate[], place: Place, limit: number) {
    const candidates = []
    let read = 0
    while (candidates.length < limit && read < left.length) {
      const next = left.slice(read, read + limit - candidates.length)
      read += next.length
      const profiles = await people.shown(next.map(({ userId }) => userId))
      for (const { userId, place: where, score } of next) {
        const profile = profiles.get(userId)
        if (profile === undefined) continue
        const shownScore = Math.round(score * SHOWN_SCORES) / SHOWN_SCORES
        const distance_km = shownDistanceKm(place, where)
        candidates.push({ ...personJson(profile, now()), bio: profile.bio ?? '', distance_km, score: shownScore })
      }
    }
    return candidates
  }

  return [
    bind(feedRoute, async (input) => {
      const { query } = input
      const userId = userOf(input)
      const state = await people.active(userId)
      const place = await placeFor(userId, state, query)
      const { stack, left } = await stackFor(userId, state, place)
      const candidates = await shown(left, place, query.limit)
      const body = {
        candidates,
        stack_ttl_s: STACK_TTL_MS / MS_PER_SECOND,
        // Candidates whose profiles are gone are left out of the answer, but they stay in the stack. The time of the
        // next refill depends on all candidates that are left in the stack, so these candidates count as well.
        next_refill_hint: new Date(nextRefillAt(stack, left.length)).toISOString(),
        location_age_s: Math.max(0, Math.round((now() - place.at) / MS_PER_SECOND)),
      }
      return jsonAnswer(200, body, PRIVATE)
    }),
  ]
}
