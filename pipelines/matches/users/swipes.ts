import { isPositive, type SwipeDirection } from '../../../schemas/matches/directions.ts'
import type { SwipeEvent, SwipeRow } from '../../../schemas/matches/types.ts'

/** What follows from a swipe of a pair, given the newest one known. */
export interface SwipeEffect {
  readonly row: SwipeRow
  /** The pair's partition must know: a like, or whatever takes a like back. */
  readonly concernsPair: boolean
  /** The direction by which the target's score changes; undefined if it stays. */
  readonly scores: SwipeDirection | undefined
}

/**
 * Applies a swipe or a rewind; undefined if it changes nothing: it was counted before, or a newer one was. The newest
 * time counts, in any order of arrival, because a swipe may wait in a spool while later ones pass. A repeated request
 * has the id of the first one and a later time.
 */
export function applySwipe(known: SwipeRow | undefined, { swipe_id, direction, ts }: SwipeEvent): SwipeEffect | undefined {
  if (known !== undefined && (ts < known.ts || (ts === known.ts && swipe_id <= known.swipe_id))) return undefined
  if (known?.swipe_id === swipe_id || known?.rewound_id === swipe_id) return undefined
  const wasLike = known !== undefined && isPositive(known.direction)
  if (direction === 'REWIND') {
    // The score stays, and so does the memory of what scored: a repeated swipe must not score again.
    if (known === undefined || known.direction === 'REWIND') return undefined
    return { row: { ...known, swipe_id, direction, ts, rewound_id: known.swipe_id }, concernsPair: wasLike, scores: undefined }
  }
  const scores = known?.scored_direction === direction ? undefined : direction
  const row = { swipe_id, direction, ts, scored_direction: direction, rewound_id: null }
  return { row, concernsPair: wasLike || isPositive(direction), scores }
}
