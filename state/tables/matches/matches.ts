import type { MatchEvent } from '../../../schemas/matches/types.ts'
import type { Table } from '../table.ts'
import { isoMonth, isoTime } from '../time.ts'

/** Every match. Matches are kept without a time limit. Fed by `match-events`. Read it with FINAL. */
export const matchesTable: Table<string, MatchEvent> = {
  name: 'matches',
  columns: ['match_id UUID', 'user_a UUID', 'user_b UUID', 'conversation_id Nullable(UUID)', "matched_at DateTime64(3, 'UTC')"],
  orderBy: 'match_id',
  partitionBy: 'toYYYYMM(matched_at)',
  rowsOf: (_id, match) => (match === null ? [] : [{ ...match, matched_at: isoTime(match.matched_at) }]),
  partitionOf: (_id, { matched_at }) => isoMonth(matched_at),
}
