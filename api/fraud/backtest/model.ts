import { z } from '@hono/zod-openapi'
import type { BacktestState } from '../../../state/views/fraud/backtests.ts'
import { NewRuleBody } from '../rules/model.ts'
import { MAX_EXAMPLES } from './examples.ts'

/** The most transactions that a back-test reads. */
const MAX_SAMPLE = 1_000_000
const DEFAULT_SAMPLE = 100_000
const MAX_DRAFTS = 1_000

const time = (what: string) => z.iso.datetime({ offset: true }).openapi({ description: what })

export const BacktestBody = z
  .object({
    rule: NewRuleBody.optional().openapi({
      description: 'a draft that is added to the rules in force, or replaces the rule with the same id',
    }),
    rules: z.array(NewRuleBody).max(MAX_DRAFTS).optional().openapi({ description: 'drafts that replace all rules' }),
    ruleset_version: z.int().min(0).optional().openapi({ description: 'a version of the rules that can be restored' }),
    from: time('beginning of the period; included'),
    to: time('end of the period; excluded'),
    sample: z.int().min(1).max(MAX_SAMPLE).default(DEFAULT_SAMPLE).openapi({ description: 'maximum number of transactions' }),
  })
  .refine(({ rule, rules, ruleset_version }) => [rule, rules, ruleset_version].filter((given) => given !== undefined).length <= 1, {
    error: 'At most one of rule, rules and ruleset_version may be given; without any, the rules in force are tested.',
    path: ['rule'],
  })
  .openapi('FraudBacktestRequest')

/** Schema of a rule, in the form that a change of the live rules accepts. */
export type RuleDraft = z.output<typeof NewRuleBody>

export type BacktestRequest = z.output<typeof BacktestBody>

export const BacktestStartedSchema = z
  .object({ job_id: z.string().openapi({ description: 'id with which GET /api/v1/rules/backtest/{job_id} returns the job' }) })
  .openapi('FraudBacktestStarted')

const share = (what: string) => z.number().openapi({ description: `${what}, 0 to 1` })
const decision = z.enum(['APPROVE', 'REVIEW', 'BLOCK'])
const cell = {
  count: z.int(),
  examples: z.array(z.string()).openapi({ description: `transaction_ids of examples, at most ${MAX_EXAMPLES}` }),
}

const DecisionCountsSchema = z
  .object({
    approve: z.int(),
    review: z.int(),
    block: z.int(),
    requires_3ds: z.int(),
    review_rate: share('REVIEW decisions of all'),
    block_rate: share('BLOCK decisions of all'),
  })
  .openapi('FraudDecisionCounts')

const QualitySchema = z
  .object({
    recall: z.number().nullable().openapi({ description: 'share of the known fraud that got these decisions; null if no fraud is known' }),
    precision: z.number().nullable().openapi({ description: 'share of fraud among the labelled transactions that got these decisions' }),
    false_positive_rate: z.number().nullable().openapi({ description: 'share of the legitimate transactions that got these decisions' }),
  })
  .openapi('FraudBacktestQuality')

const RuleResultSchema = z
  .object({
    rule_id: z.string(),
    action: z.enum(['APPROVE', 'REVIEW', 'BLOCK', 'STEP_UP']),
    mode: z.enum(['live', 'shadow']),
    evaluated: z.int(),
    matched: z.int(),
    decided: z.int().openapi({ description: 'number of matches in which the rule had precedence' }),
    matched_fraud: z.int(),
    matched_legitimate: z.int(),
    snoozed: z.int(),
    failed: z.int(),
    missing: z.int(),
    missing_by: z.record(z.string(), z.int()).openapi({ description: 'how often each field was absent when the rule had no result' }),
  })
  .openapi('FraudBacktestRule')

const BacktestReportSchema = z
  .object({
    from: z.iso.datetime(),
    to: z.iso.datetime(),
    available: z.int().openapi({ description: 'approximate number of transactions in the period' }),
    transactions: z.int().openapi({ description: 'number of transactions on which the rules were tested' }),
    ruleset_version: z.int().nullable().openapi({ description: 'the version that was tested; null if drafts were tested' }),
    policy_version: z.int().openapi({ description: 'version of the policy that the back-test uses, which was in force when it began' }),
    as_of: z.iso.datetime().openapi({ description: 'the back-test uses the lists, snoozes and policy that were in force at this time' }),
    notes: z.array(z.string()).openapi({ description: 'reasons why the comparison is limited' }),
    blocklisted: z.int().openapi({ description: 'number of transactions that the blocklist decided, which stay blocked' }),
    other_policy: z.int().openapi({ description: 'number of transactions that were decided under another version of the policy' }),
    would_be: DecisionCountsSchema.openapi({ description: 'decisions of the tested rules' }),
    logged: DecisionCountsSchema.openapi({ description: 'decisions that were made at the time of the transactions' }),
    confusion: z
      .array(z.object({ decision, label: z.enum(['fraud', 'legitimate', 'unlabelled']), ...cell }).openapi('FraudBacktestCell'))
      .openapi({ description: 'decisions of the tested rules, broken down by the verdicts of analysts' }),
    quality: z.object({ review_or_block: QualitySchema, block: QualitySchema }),
    changes: z
      .array(z.object({ logged: decision, would_be: decision, ...cell }).openapi('FraudBacktestChange'))
      .openapi({ description: 'decisions that would be different' }),
    changed: z.int(),
    changed_3ds: z.object(cell).openapi({ description: 'transactions for which only requires_3ds would change' }),
    rules: z.array(RuleResultSchema),
    set_aside: z.array(z.object({ rule_id: z.string(), faults: z.array(z.string()) })).openapi({
      description: 'rules of a stored version that were not evaluated, because the service no longer accepts them',
    }),
  })
  .openapi('FraudBacktestReport')

export type BacktestReport = z.output<typeof BacktestReportSchema>

export const BacktestJobSchema = z
  .object({
    job_id: z.string(),
    status: z.enum(['running', 'done', 'failed']),
    progress: share('share of the job that is done'),
    started_at: z.iso.datetime(),
    ended_at: z.iso.datetime().nullable(),
    reason: z.string().nullable().openapi({ description: 'why the job failed; null unless it failed' }),
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
