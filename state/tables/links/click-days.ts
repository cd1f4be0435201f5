import { type ClusterOptions, ddlParts, engineOf } from '../table.ts'

/** Retention in years. Three years allow comparisons of a season with the same season of previous years. */
const RETENTION_YEARS = 3
/**
 * Late clicks, which arrive more than this many days after the day of the click, are not added to the daily totals.
 * They are stored only in `clicks`. The limit is below the 90 days for which raw clicks are kept, so that no day is
 * recomputed after some of its clicks have expired.
 */
const RENEWED_DAYS = 30
/**
 * Overlap of two successive computations, in minutes. The computations must overlap because a row becomes visible later
 * than its `inserted_at`. An insert takes at most one minute.
 */
const OVERLAP_MINUTES = 10

/**
 * Returns the statements that create the roll-up: clicks grouped by link, UTC day, country, referrer and device.
 * Analysts use this roll-up most often, and it is kept longer than the raw clicks.
 *
 * A materialized view on inserts would count a block twice when a sink repeats an insert after a crash. Therefore, a
 * refresh runs every minute and recounts the days that have new rows. It reads the table itself with FINAL, so that
 * each click is counted once. The aggregates are idempotent: the maximum of the counts, and the union of the visitors.
 * Recomputed rows, including those of a second replica, therefore change nothing, and a count is never too high.
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
