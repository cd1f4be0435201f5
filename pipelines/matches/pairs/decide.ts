import type { PairAnswer } from '../../../schemas/matches/flow.ts'
import type { PairCommand, PairRow } from '../../../schemas/matches/types.ts'
import type { CommandFacts, Decided } from '../../engine/index.ts'
import { EMPTY_PAIR, ended, isMatched, sideOf, withBlock, withoutBlock } from './pair-state.ts'

type PairDecision = Decided<PairRow, PairAnswer>

/** Decides a command about two users. A repeated command has no further effect. */
export function decidePair(known: PairRow | undefined, command: PairCommand, { now }: CommandFacts): PairDecision {
  const row = known ?? EMPTY_PAIR
  const side = sideOf(command.actor_id, command.other_id)
  switch (command.action) {
    case 'block':
      return changed(row, withBlock(row, side, after(row, command, now), command.not_before))
    case 'unblock':
      return changed(row, withoutBlock(row, side, after(row, command, now)))
    case 'unmatch':
      return row.match_id === null || row.match_id !== command.match_id ? NOT_FOUND : endedBy(row, now)
    case 'notify':
      return notify(row, command)
  }
}

const NOT_FOUND: PairDecision = { answer: { outcome: 'not_found' } }

/**
 * Returns the time of a block or of its end. This time is always later than `counts_from`, even within the same
 * millisecond. It is also later than the deletion of a former profile of the actor, even if this clock is behind the
 * clock of the worker that decided the deletion.
 */
function after({ counts_from }: PairRow, { not_before }: PairCommand, now: number): number {
  return Math.max(now, counts_from + 1, not_before)
}

function changed(before: PairRow, after: PairRow): PairDecision {
  const { counts_from, ended_at } = after
  const answer: PairAnswer = { outcome: 'done', changed_at: counts_from, ...(ended_at !== null && { ended_at }) }
  return after === before ? { answer } : { answer, state: after }
}

/** Ends a match. The answer to a repeated request contains the time at which the match first ended. */
function endedBy(row: PairRow, now: number): PairDecision {
  const after = ended(row, now)
  const answer: PairAnswer = { outcome: 'done', changed_at: after.ended_at ?? now }
  return after === row ? { answer } : { answer, state: after }
}

/**
 * Handles a match that a detector outside this topology reports. The report never creates a match, because only the
 * pair's row determines whether a match exists. The report only triggers pushes that have not been sent yet.
 */
function notify(row: PairRow, { match_id }: PairCommand): PairDecision {
  if (row.match_id === null || row.match_id !== match_id) return NOT_FOUND
  return isMatched(row) ? { answer: { outcome: 'done' }, state: row } : { answer: { outcome: 'done' } }
}
