import type { Interaction } from '../../../schemas/recommendations/types.ts'
import type { Table } from '../table.ts'
import { isoDay, isoTime } from '../time.ts'

const KEPT_DAYS = 90

/**
 * Every interaction, kept for 90 days. Fed by `interactions`. Read it with FINAL: if an event was repeated, the first
 * occurrence is kept.
 */
export const interactionsTable: Table<bigint, Interaction> = {
  name: 'interactions',
  columns: [
    'user_id Int64',
    'item_id Int64',
    'event_type LowCardinality(String)',
    "timestamp DateTime64(3, 'UTC')",
    'event_id String',
    'withdrawn Bool',
    'page LowCardinality(Nullable(String))',
    'position Nullable(Int32)',
    'rec_request_id Nullable(String)',
    'device LowCardinality(Nullable(String))',
    'session_id Nullable(String)',
    'dwell_time_sec Nullable(Float64)',
    'rating Nullable(Float64)',
    'watch_pct Nullable(Float64)',
    'earliest UInt64 MATERIALIZED toUInt64(9223372036854775807) - kafka_offset',
  ],
  // If a caller repeats an event without a timestamp, the event gets a different time, so the time is not part of the
  // key.
  orderBy: '(user_id, event_id)',
  version: 'earliest',
  partitionBy: 'toDate(timestamp)',
  ttl: `toDateTime(timestamp) + INTERVAL ${KEPT_DAYS} DAY`,
  rowsOf: (userId, event) =>
    event === null ? [] : [{ ...event, user_id: String(userId), item_id: String(event.item_id), timestamp: isoTime(event.timestamp) }],
  partitionOf: (_user, { timestamp }) => isoDay(timestamp),
}
