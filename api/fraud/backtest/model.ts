import { z } from '@hono/zod-openapi'
import type { BacktestState } from '../../../state/views/fraud/backtests.ts'
import { NewRuleBody } from '../rules/model.ts'
import { MAX_EXAMPLES } from './examples.ts'

/** Maximum number of transactions that a back-test reads. */
const MAX_SAMPLE = 1_000_000
const DEFAULT_SAMPLE = 100_000
const MAX_DRAFTS = 1_000

const time = (what: string) => z.iso.datetime({ offset: true }).openapi({ description: what })

export const BacktestBody = z
  .strictObject({
    rule: NewRuleBody.optional().openapi({
      description:
        'A draft that is tested together with the rules in force. For the test, it replaces the rule with the same id, if there is one.',
    }),
    rules: z
      .array(NewRuleBody)
      .max(MAX_DRAFTS)
      .optional()
      .openapi({ description: 'Drafts that are tested instead of the rules in force.' }),
    ruleset_version: z
      .int()
      .min(0)
      .optional()
      .openapi({ description: 'The version of the rules to test. It must be a version that can be restored.' }),
    from: time('Beginning of the period, inclusive.'),
    to: time('End of the period, exclusive.'),
    sample: z
      .int()
      .min(1)
      .max(MAX_SAMPLE)
      .default(DEFAULT_SAMPLE)
      .openapi({ description: 'Maximum number of transactions on which the rules are tested.' }),
  })
  .refine(({ rule, rules, ruleset_version }) => [rule, rules, ruleset_version].filter((given) => given !== undefined).length <= 1, {
    error: 'At most one of rule, rules and ruleset_version may be given; if none is given, the rules in force are tested.',
    path: ['rule'],
  })
  .openapi('FraudBacktestRequest')

/** A draft of a rule, in the form in which the API accepts new rules. */
export type RuleDraft = z.output<typeof NewRuleBody>

export type BacktestRequest = z.output<typeof BacktestBody>

export const BacktestStartedSchema = z
  .object({ job_id: z.string().openapi({ description: 'Id of the job, for `GET /api/v1/rules/backtest/{job_id}`.' }) })
  .openapi('FraudBacktestStarted')

const share = (what: string) => z.number().openapi({ description: `${what}, from 0 to 1.` })
const decision = z.enum(['APPROVE', 'REVIEW', 'BLOCK'])
const cell = {
  count: z.int(),
  examples: z.array(z.string()).openapi({ description: `Transaction ids of at most ${MAX_EXAMPLES} examples.` }),
}

const DecisionCountsSchema = z
  .object({
    approve: z.int(),
    review: z.int(),
    block: z.int(),
    requires_3ds: z.int(),
    review_rate: share('Share of REVIEW among all decisions'),
    block_rate: share('Share of BLOCK among all decisions'),
  })
  .openapi('FraudDecisionCounts')

const QualitySchema = z
  .object({
    recall: z
      .number()
      .nullable()
      .openapi({ description: 'Share of the known fraud that would get a decision of this kind; null if no fraud is known.' }),
    precision: z.number().nullable().openapi({
      description: 'Share of fraud among the labelled transactions that would get a decision of this kind; null if there are none.',
    }),
    false_positive_rate: z.number().nullable().openapi({
      description: 'Share of the legitimate transactions that would get a decision of this kind; null if none is known to be legitimate.',
    }),
  })
  .openapi('FraudBacktestQuality')

const RuleResultSchema = z
  .object({
    rule_id: z.string(),
    action: z.enum(['APPROVE', 'REVIEW', 'BLOCK', 'STEP_UP']),
    mode: z.enum(['live', 'shadow']),
    evaluated: z.int(),
    matched: z.int(),
    decided: z.int().openapi({ description: 'Number of matches in which the rule had precedence over all other matching rules.' }),
    matched_fraud: z.int(),
    matched_legitimate: z.int(),
    snoozed: z.int(),
    failed: z.int(),
    missing: z.int(),
    missing_by: z.record(z.string(), z.int()).openapi({
      description:
        'How often each value was missing when the rule had no result. The key is the name of a field, `list:<name>` for a list that does not exist, or `arithmetic` for a division by zero or an overflow.',
    }),
  })
  .openapi('FraudBacktestRule')

const BacktestReportSchema = z
  .object({
    from: z.iso.datetime(),
    to: z.iso.datetime(),
    available: z.int().openapi({ description: 'Approximate number of transactions in the period.' }),
    transactions: z.int().openapi({ description: 'Number of transactions on which the rules were tested.' }),
    ruleset_version: z.int().nullable().openapi({ description: 'Version of the rules that was tested; null if drafts were tested.' }),
    policy_version: z
      .int()
      .openapi({ description: 'Version of the policy that was in force when the back-test began. The back-test uses this version.' }),
    as_of: z.iso.datetime().openapi({ description: 'The back-test uses the lists, snoozes and policy that were in force at this time.' }),
    notes: z.array(z.string()).openapi({ description: 'Limitations of the comparison.' }),
    blocklisted: z
      .int()
      .openapi({ description: 'Number of transactions that the blocklist blocked. They stay blocked, whatever the rules are.' }),
    other_policy: z.int().openapi({ description: 'Number of transactions that were decided under a different version of the policy.' }),
    would_be: DecisionCountsSchema.openapi({ description: 'Decisions of the tested rules.' }),
    logged: DecisionCountsSchema.openapi({ description: 'Decisions that were made at the time of the transactions.' }),
    confusion: z
      .array(z.object({ decision, label: z.enum(['fraud', 'legitimate', 'unlabelled']), ...cell }).openapi('FraudBacktestCell'))
      .openapi({ description: 'Decisions of the tested rules, broken down by the verdicts of analysts.' }),
    quality: z.object({ review_or_block: QualitySchema, block: QualitySchema }),
    changes: z
      .array(z.object({ logged: decision, would_be: decision, ...cell }).openapi('FraudBacktestChange'))
      .openapi({ description: 'Transactions for which the tested rules would make a different decision.' }),
    changed: z.int(),
    changed_3ds: z.object(cell).openapi({ description: 'Transactions for which only `requires_3ds` would change.' }),
    rules: z.array(RuleResultSchema),
    set_aside: z.array(z.object({ rule_id: z.string(), faults: z.array(z.string()) })).openapi({
      description: 'Rules that were not evaluated, because the service no longer accepts them.',
    }),
  })
  .openapi('FraudBacktestReport')

export type BacktestReport = z.output<typeof BacktestReportSchema>

export const BacktestJobSchema = z
  .object({
    job_id: z.string(),
    status: z.enum(['running', 'done', 'failed']),
    progress: share('Share of the job that is done'),
    started_at: z.iso.datetime(),
    ended_at: z.iso.datetime().nullable(),
    reason: z.string().nullable().openapi({ description: 'Why the job failed; null unless it failed.' }),
    report: BacktestReportSchema.nullable(),
  })
  .openapi('FraudBacktest')

export function jobJson(
  job_id: string,
  { status, progress, started_at, ended_at, reason, report }: BacktestState,
): z.output<typeof BacktestJobSchema> {
  return {
    job_id,
    status,
    progress,
    started_at: new Date(started_at).toISOString(),
    ended_at: ended_at === null ? null : new Date(ended_at).toISOString(),
    reason,
    report: report as BacktestReport | null,
  }
}
