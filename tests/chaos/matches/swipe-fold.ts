import type { PairSwipe, SwipeEvent } from '../../../schemas/matches/types.ts'

/** Results computed from the swipes in the log. */
export interface SwipeFold {
  /** The swipes and rewinds that have an effect, in log order. */
  readonly counted: readonly SwipeEvent[]
  /** Likes, and the swipes and rewinds that take back likes, in log order. */
  readonly ofPairs: readonly PairSwipe[]
  /** The swipes that change the score of their target, in log order. */
  readonly scoring: readonly SwipeEvent[]
  /** The newest swipe or rewind, by `<swiper>:<target>`. */
  readonly newest: ReadonlyMap<string, SwipeEvent>
}

interface Row {
  newest: SwipeEvent | undefined
  scored: string | undefined
  readonly ids: Set<string>
}

/**
 * Computes offline which swipes of a log take effect. A swipe or rewind takes effect only if it is newer than all
 * earlier ones by the same user on the same target. Each swipe_id takes effect only once. The function shares no code
 * with the pipeline.
 */
export function foldSwipes(events: readonly SwipeEvent[]): SwipeFold {
  const rows = new Map<string, Row>()
  const counted: SwipeEvent[] = []
  const ofPairs: PairSwipe[] = []
  const scoring: SwipeEvent[] = []
  for (const event of events) {
    const { swipe_id, swiper_id, target_id, direction, ts } = event
    const key = swipeKey(swiper_id, target_id)
    const row: Row = rows.get(key) ?? { newest: undefined, scored: undefined, ids: new Set() }
    rows.set(key, row)
    const before = row.newest
    if (row.ids.has(swipe_id) || (before !== undefined && !isNewer(event, before))) continue
    row.newest = event
    row.ids.add(swipe_id)
    const isSwiped = before !== undefined && before.direction !== 'REWIND'
    // This rewind takes nothing back. The loop has stored it anyway, so that older swipes that arrive later have no
    // effect.
    if (direction === 'REWIND' && !isSwiped) continue
    counted.push(event)
    if (isLike(direction) || (before !== undefined && isLike(before.direction)))
      ofPairs.push({ swipe_id, swiper_id, target_id, direction, ts })
    if (direction !== 'REWIND' && row.scored !== direction) {
      row.scored = direction
      scoring.push(event)
    }
  }
  const newest = new Map([...rows].flatMap(([key, row]) => (row.newest === undefined ? [] : [[key, row.newest] as const])))
  return { counted, ofPairs, scoring, newest }
}

export function swipeKey(swiper: string, target: string): string {
  return `${swiper}:${target}`
}

export function isLike(direction: string | null): boolean {
  return direction === 'RIGHT' || direction === 'SUPER_LIKE'
}

export function isNewer(one: { ts: number; swipe_id: string }, other: { ts: number; swipe_id: string }): boolean {
  return one.ts > other.ts || (one.ts === other.ts && one.swipe_id > other.swipe_id)
}

const FIRST_SCORE = 1_500
const [LEAST_SCORE, GREATEST_SCORE] = [100, 3_000]
const STEP = 32
const SCALE = 400

/**
 * Returns a user's score before the first swipe on the user, and after each swipe.
 * @param first the score before the first swipe, by default a new user's score
 */
export function foldScores(swipes: readonly { readonly swiper_elo: number; readonly direction: string }[], first = FIRST_SCORE): number[] {
  const scores = [first]
  for (const { swiper_elo, direction } of swipes) {
    const score = scores[scores.length - 1]
    const expected = 1 / (1 + 10 ** ((swiper_elo - score) / SCALE))
    const actual = direction === 'SUPER_LIKE' ? 1.2 : direction === 'RIGHT' ? 1 : 0
    scores.push(Math.min(GREATEST_SCORE, Math.max(LEAST_SCORE, score + STEP * (actual - expected))))
  }
  return scores
}
