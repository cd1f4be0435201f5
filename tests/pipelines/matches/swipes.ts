import { randomUUID } from 'node:crypto'
import type { MatchProfileCommand, PairSwipe, SwipeEvent } from '../../../schemas/matches/types.ts'

/** User ids. Their order is the alphabetical order of the names. */
export const ANN = '0a000000-0000-4000-8000-000000000000'
export const BOB = '0b000000-0000-4000-8000-000000000000'
export const CAT = '0c000000-0000-4000-8000-000000000000'

export function swipe(
  swiper_id: string,
  target_id: string,
  direction: SwipeEvent['direction'],
  ts: number,
  swipe_id: string = randomUUID(),
): SwipeEvent {
  return { swipe_id, swiper_id, target_id, direction, ts, duration_ms: null, position: null }
}

export function pairSwipe(
  swiper_id: string,
  target_id: string,
  direction: PairSwipe['direction'],
  ts: number,
  swipe_id: string = randomUUID(),
): PairSwipe {
  return { swipe_id, swiper_id, target_id, direction, ts }
}

export function profileCommand(action: MatchProfileCommand['action'], given: Partial<MatchProfileCommand> = {}): MatchProfileCommand {
  return {
    action,
    sets: Object.keys(given),
    display_name: null,
    birth_date: null,
    gender: null,
    seeking_gender: [],
    bio: null,
    min_age_pref: null,
    max_age_pref: null,
    max_dist_km: null,
    is_active: null,
    photo_urls: [],
    not_before: 0,
    ...given,
  }
}
