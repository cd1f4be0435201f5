import type { Table } from './table.ts'
import { isoMonth, isoTime } from './time.ts'

const AUDIT_YEARS = 2

interface Change {
  /** Epoch ms. */
  readonly at: number
}

/**
 * Declares a table with a history of changes. ClickHouse keeps each change for two years.
 * @param further definitions of the columns between the actor and the two JSON texts
 */
export function auditTable<C extends Change>(name: string, further: readonly string[] = []): Table<string, C> {
  return {
    name,
    columns: [
      "at DateTime64(3, 'UTC')",
      'subject String',
      'action LowCardinality(String)',
      'actor String',
      ...further,
      'before Nullable(String)',
      'after Nullable(String)',
    ],
    // The sort order includes the offset, because two changes of one subject may have the same time.
    orderBy: '(subject, at, kafka_partition, kafka_offset)',
    partitionBy: 'toYYYYMM(at)',
    ttl: `toDateTime(at) + INTERVAL ${AUDIT_YEARS} YEAR`,
    rowsOf: (_subject, change) => (change === null ? [] : [{ ...(change as object), at: isoTime(change.at) }]),
    partitionOf: (_subject, change) => isoMonth(change.at),
  }
}
