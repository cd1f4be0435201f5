import type { MatchIndexEntry } from '../../../schemas/matches/types.ts'
import { ROLL_KEY } from '../../stores/keyed-store.ts'
import { type View, viewTag } from '../view.ts'
import { indexCellOf } from './candidates/index-member.ts'

/**
 * The candidate index. It contains the records of `match-index`, which is partitioned by cell.
 *
 * | key | value |
 * |---|---|
 * | `{match-index:<p>}:cell:<geohash4>` | sorted set of the members in a cell, all with the same score, so that they are ordered by geohash |
 */
export const MATCH_INDEX_VIEW = 'match-index'

export const matchIndexView: View<string, MatchIndexEntry> = {
  name: MATCH_INDEX_VIEW,
  operationsFor(partition, member, entry) {
    if (member === ROLL_KEY) return []
    const key = cellKey(partition, indexCellOf(member))
    return [entry === null ? { op: 'zrem', key, member } : { op: 'zadd', key, score: 0, member }]
  },
}

export function cellKey(partition: number, geohash4: string): string {
  return `${viewTag(MATCH_INDEX_VIEW, partition)}:cell:${geohash4}`
}
