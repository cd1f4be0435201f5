import { isPositive, type SwipeDirection } from '../../../schemas/matches/directions.ts'
import type { SwipeEvent, SwipeRow } from '../../../schemas/matches/types.ts'

/** The effect of a swipe on a target that the user may have swiped before. */
export interface SwipeEffect {
  readonly row: SwipeRow
  /** False for a rewind that takes nothing back. Such a rewind only makes older swipes obsolete. */
  readonly counts: boolean
  /** True if the pair's partition must get the swipe, because it is a like or takes a like back. */
  readonly concernsPair: boolean
  /** The direction of the swipe if it changes the target's score; undefined if the score stays the same. */
  readonly scores: SwipeDirection | undefined
}

/**
 * Maximum number of earlier swipe ids that a row contains, to recognise repeated requests. A client repeats a request
 * within minutes, and a user does not swipe the same target this often in that time. The row stays below 1 KB.
 */
const MAX_EARLIER_IDS = 20

/**
 * Applies a swipe or a rewind. Returns undefined if the swipe has no effect, because the same swipe or a newer swipe
 * has already been applied. The swipe with the newest time takes effect, regardless of the order of arrival, because a
 * swipe may wait in a spool while later swipes arrive before it. A repeated request has the same id but a later time,
 * so only the id shows that the swipe was applied.
 */
export function applySwipe(known: SwipeRow | undefined, { swipe_id, direction, ts }: SwipeEvent): SwipeEffect | undefined {
  if (known !== undefined && (ts < known.ts || (ts === known.ts && swipe_id <= known.swipe_id))) return undefined
  if (known?.swipe_id === swipe_id || known?.earlier_ids.includes(swipe_id)) return undefined
  const earlier_ids = known === undefined ? [] : [...known.earlier_ids, known.swipe_id].slice(-MAX_EARLIER_IDS)
  const wasLike = known !== undefined && isPositive(known.direction)
  if (direction === 'REWIND') {
    // A rewind leaves the score and `scored_direction` unchanged. A later swipe in the same direction therefore does
    // not change the score again.
    const row = { swipe_id, direction, ts, scored_direction: known?.scored_direction ?? null, earlier_ids }
    // If no swipe is known, the rewound swipe may still wait in the spool of another API process.
    const counts = known !== undefined && known.direction !== 'REWIND'
    return { row, counts, concernsPair: wasLike, scores: undefined }
  }
  const scores = known?.scored_direction === direction ? undefined : direction
  const row = { swipe_id, direction, ts, scored_direction: direction, earlier_ids }
  return { row, counts: true, concernsPair: wasLike || isPositive(direction), scores }
}
