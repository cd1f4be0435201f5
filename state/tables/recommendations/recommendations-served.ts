import type { ServedRecommendations } from '../../../schemas/recommendations/types.ts'
import type { Table } from '../table.ts'
import { isoDay, isoTime } from '../time.ts'

const KEPT_DAYS = 90

/** Every item of every answer, kept for 90 days. Fed by `recommendations-served`. Read it with FINAL. */
export const recommendationsServedTable: Table<bigint, ServedRecommendations> = {
  name: 'recommendations_served',
  columns: [
    'user_id Int64',
    'request_id String',
    'model_version LowCardinality(String)',
    'context LowCardinality(String)',
    'asked_rec_type LowCardinality(String)',
    "served_at DateTime64(3, 'UTC')",
    'degraded Array(LowCardinality(String))',
    'position Int32',
    'item_id Int64',
    'channel LowCardinality(String)',
    'rec_type LowCardinality(String)',
    'score Float64',
    'source_item_id Nullable(Int64)',
    'features Array(Float64)',
  ],
  orderBy: '(user_id, served_at, request_id, position)',
  partitionBy: 'toDate(served_at)',
  ttl: `toDateTime(served_at) + INTERVAL ${KEPT_DAYS} DAY`,
  rowsOf(userId, answer) {
    if (answer === null) return []
    const { request_id, model_version, context, rec_type, degraded } = answer
    const served_at = isoTime(answer.served_at)
    const common = { user_id: String(userId), request_id, model_version, context, asked_rec_type: rec_type, served_at, degraded }
    return answer.items.map((item) => ({
      ...common,
      ...item,
      item_id: String(item.item_id),
      source_item_id: item.source_item_id === null ? null : String(item.source_item_id),
      features: item.features ?? [],
    }))
  },
  partitionOf: (_user, { served_at }) => isoDay(served_at),
}
