import { z } from '@hono/zod-openapi'
import type { RuleHour } from '../../../state/tables/fraud/rule-tallies.ts'

const DAY_MS = 86_400_000
/** How far back the hourly statistics go. */
export const STATS_MS = 7 * DAY_MS

const count = (what: string) => z.int().openapi({ description: what })

const counts = {
  evaluated: count('Number of evaluations, including evaluations that failed.'),
  matched: count('Number of matches, except for matches that a snooze suppressed.'),
  decided: count('Number of matches in which the rule had precedence over all other matching rules.'),
  snoozed: count('Number of matches that a snooze suppressed.'),
  failed: count('Number of evaluations that failed. A failed evaluation never matches.'),
  skipped: count('How often the rule was skipped in shadow mode, because the shadow rules of a transaction took too long.'),
  missing: count('Number of evaluations without a result. An evaluation without a result never matches.'),
  missing_by: z.record(z.string(), z.int()).openapi({
    description:
      'How often each field was absent when an evaluation had no result. `list:<name>` means a list that does not exist, and `arithmetic` means a division by zero or an overflow.',
    example: { 'payer.account_age_days': 12 },
  }),
}

const RuleCountsSchema = z.object(counts).openapi('FraudRuleCounts')

export const RuleStatsSchema = z
  .object({
    rule_id: z.string(),
    since: z.iso.datetime().openapi({ description: 'Beginning of the first hour.' }),
    until: z.iso.datetime(),
    live: RuleCountsSchema.openapi({ description: 'Counts for the time when the rule was live.' }),
    shadow: RuleCountsSchema.openapi({
      description: 'Counts for the time when the rule was in shadow mode, in which it changed no decision.',
    }),
    hourly: z
      .array(z.object({ hour: z.iso.datetime(), mode: z.enum(['live', 'shadow']), ...counts }).openapi('FraudRuleHour'))
      .openapi({ description: 'One entry per hour and mode in which the rule was evaluated or skipped, oldest hour first.' }),
  })
  .openapi('FraudRuleStats')

type RuleCounts = z.output<typeof RuleCountsSchema>

/**
 * Returns the statistics of a rule as the API shows them.
 * @param since epoch ms
 * @param until epoch ms
 */
export function statsJson(rule_id: string, hours: readonly RuleHour[], since: number, until: number): z.output<typeof RuleStatsSchema> {
  return {
    rule_id,
    since: new Date(since).toISOString(),
    until: new Date(until).toISOString(),
    live: sumOf(hours.filter(({ mode }) => mode === 'live')),
    shadow: sumOf(hours.filter(({ mode }) => mode === 'shadow')),
    hourly: hours.map(({ hour, ...rest }) => ({ ...rest, hour: new Date(hour).toISOString() })),
  }
}

function sumOf(hours: readonly RuleHour[]): RuleCounts {
  const sum: RuleCounts = { evaluated: 0, matched: 0, decided: 0, snoozed: 0, failed: 0, skipped: 0, missing: 0, missing_by: {} }
  const causes = new Map<string, number>()
  for (const hour of hours) {
    for (const name of ['evaluated', 'matched', 'decided', 'snoozed', 'failed', 'skipped', 'missing'] as const) sum[name] += hour[name]
    for (const [cause, times] of Object.entries(hour.missing_by)) causes.set(cause, (causes.get(cause) ?? 0) + times)
  }
  return { ...sum, missing_by: Object.fromEntries(causes) }
}
