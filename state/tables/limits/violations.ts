import type { LimitViolation } from '../../../schemas/limits/types.ts'
import { readRows, type TableReader } from '../reader.ts'
import type { Table } from '../table.ts'
import { isoMonth, isoTime } from '../time.ts'
import type { Page } from './page.ts'

const VIOLATION_DAYS = 30
const MS_PER_SECOND = 1_000

/**
 * Requests that exceeded a limit. There is one row per rule, client and second, regardless of how many API instances
 * saw the requests. Fed by `limit-violations`.
 */
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
    return [{ second: isoTime(Math.floor(at / MS_PER_SECOND) * MS_PER_SECOND), ...rest }]
  },
  partitionOf: (_client, violation) => isoMonth(violation.at),
}

const VIOLATIONS_QUERY = `
SELECT toUnixTimestamp(second), rule_id, client_id, method, path, action, estimate, limit_count
FROM limit_violations FINAL
WHERE ({rule:String} = '' OR rule_id = {rule:String}) AND ({client:String} = '' OR client_id = {client:String})
ORDER BY second DESC, rule_id, client_id
LIMIT {limit:UInt32} OFFSET {offset:UInt32}`

/** Returns requests that exceeded a limit, newest first. */
export async function readViolations(reader: TableReader, rule: string | undefined, client: string | undefined, page: Page) {
  type Found = [number, string, string, string, string, string, number, number]
  const rows = await readRows<Found>(reader, VIOLATIONS_QUERY, { rule: rule ?? '', client: client ?? '', ...page })
  return rows.map(([second, rule_id, client_id, method, path, action, estimate, limit]) => ({
    at: second * MS_PER_SECOND,
    rule_id,
    client_id,
    method,
    path,
    action,
    estimate,
    limit,
  }))
}
