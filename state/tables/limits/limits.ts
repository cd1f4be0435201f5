import type { LimitChange, LimitTraffic, LimitViolation } from '../../../schemas/limits/types.ts'
import type { Table } from '../table.ts'
import { isoMonth } from '../time.ts'

const AUDIT_YEARS = 2
const VIOLATION_DAYS = 30
/** Replays look back an hour. Addresses in the traffic are not kept for longer; a violation names a caller without key or token by his. */
const TRAFFIC_HOURS = 2
const HOUR_MS = 3_600_000
const MS_PER_SECOND = 1_000

/** Who changed which rule or API key. Fed by `limit-audit`. */
export const limitAuditTable: Table<string, LimitChange> = {
  name: 'limit_audit',
  columns: [
    'at DateTime64(3)',
    'subject String',
    'action LowCardinality(String)',
    'actor String',
    'before Nullable(String)',
    'after Nullable(String)',
  ],
  // Two changes of one subject may have one time.
  orderBy: '(subject, at, kafka_partition, kafka_offset)',
  partitionBy: 'toYYYYMM(at)',
  ttl: `toDateTime(at) + INTERVAL ${AUDIT_YEARS} YEAR`,
  rowsOf: (_subject, change) => (change === null ? [] : [{ ...change, at: new Date(change.at).toISOString() }]),
  partitionOf: (_subject, change) => isoMonth(change.at),
}

/** Requests over a limit: one row per rule, client and second, whichever API instances saw them. Fed by `limit-violations`. */
export const limitViolationsTable: Table<string, LimitViolation> = {
  name: 'limit_violations',
  columns: [
    "second DateTime('UTC')",
    'rule_id LowCardinality(String)',
    'client_id String',
    'method LowCardinality(String)',
    'path String',
    'action LowCardinality(String)',
    'estimate Float64',
    'limit_count Int32',
  ],
  orderBy: '(rule_id, client_id, second)',
  partitionBy: 'toYYYYMM(second)',
  ttl: `second + INTERVAL ${VIOLATION_DAYS} DAY`,
  rowsOf(_client, violation) {
    if (violation === null) return []
    const { at, ...rest } = violation
    return [{ second: new Date(Math.floor(at / MS_PER_SECOND) * MS_PER_SECOND).toISOString(), ...rest }]
  },
  partitionOf: (_client, violation) => isoMonth(violation.at),
}

/** Requests by second, caller and path, for replays against draft rules. Fed by `limit-traffic`. */
export const limitTrafficTable: Table<string, LimitTraffic> = {
  name: 'limit_traffic',
  columns: [
    "second DateTime('UTC')",
    'node LowCardinality(String)',
    'client_id String',
    'tier LowCardinality(String)',
    'api_key_id String',
    'user_id String',
    'ip String',
    'method LowCardinality(String)',
    'path String',
    'requests UInt32',
    'refused UInt32',
    'left_out UInt32',
  ],
  orderBy: '(second, node, client_id, tier, api_key_id, user_id, ip, method, path)',
  partitionBy: 'toStartOfHour(second)',
  ttl: `second + INTERVAL ${TRAFFIC_HOURS} HOUR`,
  rowsOf(_node, traffic) {
    if (traffic === null) return []
    const { second, node, entries, left_out } = traffic
    // Said once, by the first row.
    return entries.map((entry, index) => ({ second: new Date(second).toISOString(), node, ...entry, left_out: index === 0 ? left_out : 0 }))
  },
  partitionOf: (_node, { second }) => Math.floor(second / HOUR_MS),
}
