import type { SwipeDirection } from '../../../../schemas/matches/directions.ts'

/** Score of a new user; see docs/services/matches.md#desirability. */
export const FIRST_ELO = 1_500
const MIN_ELO = 100
const MAX_ELO = 3_000

const STEP = 32
/** Difference in scores at which the higher-scored user is expected to win ten times out of eleven. */
export const ELO_SCALE = 400
const ACTUAL: Readonly<Record<SwipeDirection, number>> = { LEFT: 0, RIGHT: 1, SUPER_LIKE: 1.2 }

/**
 * Returns the target's score after a swipe. This is Elo's update, in which a super-like has more weight than a win:
 * target + 32 × (actual − expected), expected = 1 / (1 + 10^((swiper − target) / 400)), clamped to 100…3000.
 */
export function eloAfter(target: number, swiper: number, direction: SwipeDirection): number {
  const expected = 1 / (1 + 10 ** ((swiper - target) / ELO_SCALE))
  return Math.min(MAX_ELO, Math.max(MIN_ELO, target + STEP * (ACTUAL[direction] - expected)))
}
