import type { RuleMode } from '../../../schemas/fraud/rules/rule.ts'
import type { FraudRuleTallies } from '../../../schemas/fraud/types.ts'
import { readRows, type TableReader } from '../reader.ts'
import type { Table } from '../table.ts'
import { isoDay, isoTime } from '../time.ts'

/** Retention in days: a week, plus one day because a week may begin in the middle of a day. */
const KEPT_DAYS = 8
const MS_PER_SECOND = 1_000

/**
 * Counts of evaluations and matches of rules, grouped by hour, mode and API process, and kept for `KEPT_DAYS`. A
 * process sends the counts of the current hour repeatedly, and later counts replace earlier counts. Fed by
 * `fraud-rule-tallies`. Read it with FINAL.
 */
export const fraudRuleTalliesTable: Table<string, FraudRuleTallies> = {
  name: 'fraud_rule_tallies',
  columns: [
    'rule_id String',
    "hour DateTime('UTC')",
    'mode LowCardinality(String)',
    'node String',
    'evaluated UInt64',
    'matched UInt64',
    'decided UInt64',
    'snoozed UInt64',
    'failed UInt64',
    'skipped UInt64',
    'missing UInt64',
    'missing_by Map(String, UInt64)',
  ],
  orderBy: '(rule_id, hour, mode, node)',
  partitionBy: 'toDate(hour)',
  ttl: `hour + INTERVAL ${KEPT_DAYS} DAY`,
  rowsOf(_node, tallies) {
    if (tallies === null) return []
    const hour = isoTime(tallies.hour)
    return tallies.rules.map((rule) => ({ ...rule, node: tallies.node, hour }))
  },
  partitionOf: (_node, { hour }) => isoDay(hour),
}

/** The counts of a rule in one hour and mode, over all API processes. */
export interface RuleHour {
  /** Epoch ms of the hour's beginning. */
  readonly hour: number
  readonly mode: RuleMode
  readonly evaluated: number
  readonly matched: number
  readonly decided: number
  readonly snoozed: number
  readonly failed: number
  readonly skipped: number
  readonly missing: number
  readonly missing_by: Readonly<Record<string, number>>
}

const COUNTS = ['evaluated', 'matched', 'decided', 'snoozed', 'failed', 'skipped', 'missing'] as const

const HOURS_QUERY = `
SELECT toUnixTimestamp(hour) AS at, mode, ${COUNTS.map((count) => `sum(${count})`).join(', ')}, sumMap(missing_by)
FROM fraud_rule_tallies FINAL
WHERE rule_id = {rule:String} AND hour >= toDateTime({from:UInt32})
GROUP BY at, mode
ORDER BY at, mode`

type HourRow = [at: number, mode: RuleMode, ...counts: number[], missingBy: Record<string, number>]

/**
 * Returns the counts of a rule since a time, by hour and mode, oldest first.
 * @param from epoch ms; hours that began before this time are left out
 */
export async function readRuleHours(reader: TableReader, rule: string, from: number): Promise<RuleHour[]> {
  const rows = await readRows<HourRow>(reader, HOURS_QUERY, { rule, from: Math.floor(from / MS_PER_SECOND) })
  return rows.map(([at, mode, ...rest]) => {
    const counts = Object.fromEntries(COUNTS.map((name, index) => [name, rest[index]])) as Record<(typeof COUNTS)[number], number>
    return { hour: at * MS_PER_SECOND, mode, ...counts, missing_by: rest[COUNTS.length] as Record<string, number> }
  })
}
