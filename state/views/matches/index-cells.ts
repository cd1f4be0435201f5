import type { MatchIndexEntry } from '../../../schemas/matches/types.ts'
import { type View, viewTag } from '../view.ts'
import { indexCellOf } from './candidates/index-member.ts'

/**
 * The candidate index. Fed by `match-index`, partitioned by cell.
 *
 * | key | value |
 * |---|---|
 * | `{match-index:<p>}:cell:<geohash4>` | sorted set of members with equal scores: a lexical index of geohashes |
 */
export const MATCH_INDEX_VIEW = 'match-index'

export const matchIndexView: View<string, MatchIndexEntry> = {
  name: MATCH_INDEX_VIEW,
  operationsFor(partition, member, entry) {
    const key = cellKey(partition, indexCellOf(member))
    return [entry === null ? { op: 'zrem', key, member } : { op: 'zadd', key, score: 0, member }]
  },
}

export function cellKey(partition: number, geohash4: string): string {
  return `${viewTag(MATCH_INDEX_VIEW, partition)}:cell:${geohash4}`
}
