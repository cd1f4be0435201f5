import { type ClusterOptions, ddlParts, engineOf } from '../table.ts'

/** Seasons can be compared with those of the years before. */
const RETENTION_YEARS = 3
/** Clicks that come later than this after they were made are in `clicks` only. Within the raw clicks' 90 days, so that no day is computed anew from what is left of it. */
const RENEWED_DAYS = 30
/** An insert shows its rows later than it dates them; a request takes a minute at most. */
const OVERLAP_MINUTES = 10

/**
 * Clicks by link, UTC day, country, referrer and device: what analysts ask for most, kept when the raw clicks are gone.
 *
 * A view that counts what is inserted would count a block twice that a crashed sink inserts twice. Instead, every minute the days that
 * rows have come for are counted anew from the table itself (FINAL: each click once), and the aggregates make no difference between once
 * and often: the greatest count so far, and the union of the visitors. So rows that are computed again, by a second replica too, change
 * nothing, and a count is never more than what is true.
 */
export function clickDaysStatements(cluster: ClusterOptions): string[] {
  const { onCluster } = ddlParts(cluster)
  return [
    `CREATE TABLE IF NOT EXISTS click_days${onCluster} (
  short_code String,
  day Date,
  country LowCardinality(String),
  referrer String,
  device LowCardinality(String),
  clicks SimpleAggregateFunction(max, UInt64),
  visitors AggregateFunction(uniqCombined64(12), FixedString(16)),
  computed_at SimpleAggregateFunction(max, DateTime('UTC'))
)
ENGINE = ${engineOf('AggregatingMergeTree', cluster)}
PARTITION BY toYYYYMM(day)
ORDER BY (short_code, day, country, referrer, device)
TTL day + INTERVAL ${RETENTION_YEARS} YEAR`,
    `CREATE MATERIALIZED VIEW IF NOT EXISTS click_days_renewal${onCluster}
REFRESH EVERY 1 MINUTE APPEND TO click_days AS
SELECT
  short_code, toDate(clicked_at) AS day, country, referrer, device,
  count() AS clicks, uniqCombined64State(12)(visitor) AS visitors, now('UTC') AS computed_at
FROM clicks FINAL
WHERE clicked_at >= toStartOfDay(now('UTC')) - INTERVAL ${RENEWED_DAYS} DAY
  AND toDate(clicked_at) IN (
    SELECT DISTINCT toDate(clicked_at) FROM clicks
    WHERE inserted_at + INTERVAL ${OVERLAP_MINUTES} MINUTE >= (
      SELECT max(computed_at) FROM click_days WHERE day >= toDate(now('UTC')) - ${RENEWED_DAYS}
    )
  )
GROUP BY short_code, day, country, referrer, device`,
  ]
}
