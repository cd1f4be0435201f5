import { isPositive, type SwipeDirection } from '../../../schemas/matches/directions.ts'
import type { SwipeEvent, SwipeRow } from '../../../schemas/matches/types.ts'

/** What follows from a swipe of a pair, given the newest one known. */
export interface SwipeEffect {
  readonly row: SwipeRow
  /** False for a rewind that takes nothing back. It only outdates older swipes. */
  readonly counts: boolean
  /** The pair's partition must know: a like, or whatever takes a like back. */
  readonly concernsPair: boolean
  /** The direction by which the target's score changes; undefined if it stays. */
  readonly scores: SwipeDirection | undefined
}

/**
 * Number of earlier swipes of a pair whose ids are kept. A client repeats a request within seconds or minutes, and a
 * user does not swipe the same target so often in that time. The row stays below 1 KB.
 */
const MAX_EARLIER_IDS = 20

/**
 * Applies a swipe or a rewind; undefined if it changes nothing: it was counted before, or a newer one was. The newest
 * time counts, in any order of arrival, because a swipe may wait in a spool while later ones pass. A repeated request
 * has the id of the first one and a later time, so that the time does not show that it was counted.
 */
export function applySwipe(known: SwipeRow | undefined, { swipe_id, direction, ts }: SwipeEvent): SwipeEffect | undefined {
  if (known !== undefined && (ts < known.ts || (ts === known.ts && swipe_id <= known.swipe_id))) return undefined
  if (known?.swipe_id === swipe_id || known?.earlier_ids.includes(swipe_id)) return undefined
  const earlier_ids = known === undefined ? [] : [...known.earlier_ids, known.swipe_id].slice(-MAX_EARLIER_IDS)
  const wasLike = known !== undefined && isPositive(known.direction)
  if (direction === 'REWIND') {
    // The score stays, and so does the memory of what scored: a repeated swipe must not score again.
    const row = { swipe_id, direction, ts, scored_direction: known?.scored_direction ?? null, earlier_ids }
    // The rewound swipe may still wait in the spool of another API.
    const counts = known !== undefined && known.direction !== 'REWIND'
    return { row, counts, concernsPair: wasLike, scores: undefined }
  }
  const scores = known?.scored_direction === direction ? undefined : direction
  const row = { swipe_id, direction, ts, scored_direction: direction, earlier_ids }
  return { row, counts: true, concernsPair: wasLike || isPositive(direction), scores }
}
