import type { LimitViolation } from '../../../schemas/limits/types.ts'
import { readRows, type TableReader } from '../reader.ts'
import type { Table } from '../table.ts'
import { isoMonth, isoTime } from '../time.ts'
import type { Page } from './page.ts'

const VIOLATION_DAYS = 30
const MS_PER_SECOND = 1_000
const DAY_SECONDS = 24 * 3_600
/**
 * Length of the first period that is searched for a page. Even after an attack, a period of this length has few rows to
 * sort.
 */
const FIRST_PERIOD_SECONDS = 3_600
/** Factor by which the periods grow until the page is full, so that five queries search 30 days. */
const PERIOD_GROWTH = 8
/** The latest time that a DateTime can have. Rows from instances whose clock is ahead are in the first period. */
const END_OF_TIME = 2 ** 32 - 1
/**
 * A copy of the rows that is sorted by time, so that a query for the newest rows reads only these rows. The table
 * itself is sorted by rule and client, and serves queries for one rule and client.
 */
const BY_TIME = `PROJECTION by_time (
  SELECT second, rule_id, client_id, method, path, action, estimate, limit_count ORDER BY second
)`

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
  parts: [BY_TIME],
  migrations: [
    {
      id: '002-by-time',
      statements: ({ onCluster }) => [
        `ALTER TABLE limit_violations${onCluster} ADD ${BY_TIME.replace('PROJECTION', 'PROJECTION IF NOT EXISTS')}`,
        `ALTER TABLE limit_violations${onCluster} MATERIALIZE PROJECTION by_time`,
      ],
    },
  ],
  rowsOf(_client, violation) {
    if (violation === null) return []
    const { at, ...rest } = violation
    return [{ second: isoTime(Math.floor(at / MS_PER_SECOND) * MS_PER_SECOND), ...rest }]
  },
  partitionOf: (_client, violation) => isoMonth(violation.at),
}

const SELECTED = `
FROM limit_violations
WHERE second >= toDateTime({from:UInt32}) AND second < toDateTime({to:UInt32})
  AND ({rule:String} = '' OR rule_id = {rule:String}) AND ({client:String} = '' OR client_id = {client:String})`

/** LIMIT BY drops the duplicates that ClickHouse has not merged yet. FINAL would first compare the rows of 30 days. */
const VIOLATIONS_QUERY = `
SELECT toUnixTimestamp(second), rule_id, client_id, method, path, action, estimate, limit_count
${SELECTED}
ORDER BY second DESC, rule_id, client_id
LIMIT 1 BY second, rule_id, client_id
LIMIT {limit:UInt32} OFFSET {offset:UInt32}`

const COUNT_QUERY = `SELECT count() FROM (SELECT DISTINCT second, rule_id, client_id ${SELECTED})`

export interface ViolationsQuery extends Page {
  /** Undefined selects the violations of all rules. */
  readonly rule?: string | undefined
  /** Undefined selects the violations of all clients. */
  readonly client?: string | undefined
  /** Epoch ms. */
  readonly now: number
}

/** Returns requests that exceeded a limit in the last 30 days, newest first. */
export async function readViolations(reader: TableReader, { rule = '', client = '', offset, limit, now }: ViolationsQuery) {
  type Found = [number, string, string, string, string, string, number, number]
  const nowSeconds = Math.floor(now / MS_PER_SECOND)
  const oldest = nowSeconds - VIOLATION_DAYS * DAY_SECONDS
  const rows: Found[] = []
  let skipped = offset
  let to = END_OF_TIME
  for (let period = FIRST_PERIOD_SECONDS; rows.length < limit && to > oldest; period *= PERIOD_GROWTH) {
    const from = Math.max(oldest, Math.min(to, nowSeconds) - period)
    const selected = { rule, client, from, to }
    const found = await readRows<Found>(reader, VIOLATIONS_QUERY, { ...selected, limit: limit - rows.length, offset: skipped })
    rows.push(...found)
    // A period that has no row of this page may still have rows of earlier pages.
    if (found.length > 0) skipped = 0
    // Rows that arrived since the first query may raise the count above the number of rows to skip.
    else if (skipped > 0) skipped = Math.max(0, skipped - (await readRows<[number]>(reader, COUNT_QUERY, selected))[0][0])
    to = from
  }
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
