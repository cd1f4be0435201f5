import type { ClickDetails } from '../../../schemas/links/types.ts'
import type { Table } from '../table.ts'
import { isoDay } from '../time.ts'
import { clickDaysStatements } from './click-days.ts'

/** A quarter of raw clicks; the days of `click_days` stay longer. */
const RETENTION_DAYS = 90

/**
 * Every counted click, for analysts: one row each, 90 days. Fed by `click-details`. Without the visitor's address, unless the operator keeps
 * addresses. Partitioned by day, so that the roll-up reads the days that changed and expiry drops whole parts. Read it with FINAL.
 */
export const clicksTable: Table<string, ClickDetails> = {
  name: 'clicks',
  columns: [
    'short_code String',
    "clicked_at DateTime64(3, 'UTC')",
    'referrer String',
    'country LowCardinality(String)',
    'browser LowCardinality(String)',
    'device LowCardinality(String)',
    'bot Bool',
    'visitor FixedString(16)',
    'ip String',
    "inserted_at DateTime('UTC') DEFAULT now()",
  ],
  orderBy: '(short_code, clicked_at, kafka_partition, kafka_offset)',
  partitionBy: 'toDate(clicked_at)',
  ttl: `toDateTime(clicked_at) + INTERVAL ${RETENTION_DAYS} DAY`,
  parts: ['INDEX inserted inserted_at TYPE minmax'],
  derived: clickDaysStatements,
  rowsOf: (_code, click) => (click === null ? [] : [{ ...click, clicked_at: new Date(click.clicked_at).toISOString() }]),
  partitionOf: (_code, { clicked_at }) => isoDay(clicked_at),
}
