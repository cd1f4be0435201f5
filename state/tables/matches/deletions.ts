import type { Decision } from '../../../schemas/commands/topics.ts'
import type { MatchProfile } from '../../../schemas/matches/types.ts'
import type { Table } from '../table.ts'
import { isoTime } from '../time.ts'

/**
 * Retention in days. It must be longer than the retention of the topics. Otherwise, when a table is filled again,
 * events in the topics could bring back rows of a deleted user.
 */
const RETENTION_DAYS = 30

/** The last deletion of each user. It invalidates the user's older rows in other tables. Fed by `match-profiles`. */
export const matchDeletionsTable: Table<string, Decision<MatchProfile>> = {
  name: 'match_deletions',
  columns: ['user_id UUID', "deleted_at DateTime64(3, 'UTC')"],
  orderBy: 'user_id',
  partitionBy: 'tuple()',
  ttl: `toDateTime(deleted_at) + INTERVAL ${RETENTION_DAYS} DAY`,
  rowsOf(user_id, decision) {
    const deletedAt = decision?.view?.deleted_at ?? null
    return deletedAt === null ? [] : [{ user_id, deleted_at: isoTime(deletedAt) }]
  },
  partitionOf: () => 'all',
}
