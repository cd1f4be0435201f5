import { SWIPE_KEPT_DAYS } from '../../../schemas/matches/retention.ts'
import type { AcceptedSwipe } from '../../../schemas/matches/types.ts'
import type { Table } from '../table.ts'
import { isoDay, isoTime } from '../time.ts'

/**
 * Every swipe that had an effect, and every rewind that took a swipe back, kept for 90 days. Fed by `match-swipes`.
 * Read it with FINAL.
 */
export const matchSwipesTable: Table<string, AcceptedSwipe> = {
  name: 'match_swipes',
  columns: [
    'swipe_id UUID',
    'swiper_id UUID',
    'target_id UUID',
    'direction LowCardinality(String)',
    "ts DateTime64(3, 'UTC')",
    'duration_ms Nullable(UInt32)',
    'position Nullable(UInt32)',
  ],
  orderBy: '(swiper_id, ts, swipe_id)',
  partitionBy: 'toDate(ts)',
  ttl: `toDateTime(ts) + INTERVAL ${SWIPE_KEPT_DAYS} DAY`,
  rowsOf: (_user, swipe) => (swipe === null ? [] : [{ ...swipe, ts: isoTime(swipe.ts) }]),
  partitionOf: (_user, { ts }) => isoDay(ts),
}
