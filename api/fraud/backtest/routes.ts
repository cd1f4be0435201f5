import { z } from '@hono/zod-openapi'
import { errors } from '../../kit/errors.ts'
import { defineRoute } from '../../kit/route.ts'
import { fraudErrors } from '../errors.ts'
import { BacktestBody, BacktestJobSchema, BacktestStartedSchema } from './model.ts'

const OPERATIONS = { kind: 'scope', scope: ['fraud:ops', 'admin'] } as const

export const startBacktestRoute = defineRoute({
  method: 'post',
  path: '/api/v1/rules/backtest',
  operationId: 'startFraudBacktest',
  summary: 'Test rules on logged transactions',
  description:
    'Starts a job that evaluates rules on a uniform sample of logged transactions. The rules can be the rules in force, the rules in force with one draft, drafts of all rules, or a stored version. The features of each transaction come from the log. The lists, snoozes and policy are those in force when the job begins.',
  auth: OPERATIONS,
  idempotent: true,
  body: BacktestBody,
  bodyExample: {
    rule: { rule_id: 'many', name: 'Many payments', condition: 'velocity.user.txn_count_1h > 5', action: 'REVIEW', priority: 10 },
    from: '2026-11-01T00:00:00Z',
    to: '2026-11-08T00:00:00Z',
  },
  answers: { 202: { description: 'The job has begun.', schema: BacktestStartedSchema } },
  errors: [
    fraudErrors.invalid_condition,
    fraudErrors.ruleset_version_not_found,
    fraudErrors.settings_limit_reached,
    fraudErrors.backtest_running,
    fraudErrors.backtests_full,
    errors.not_ready,
  ],
})

export const readBacktestRoute = defineRoute({
  method: 'get',
  path: '/api/v1/rules/backtest/{job_id}',
  operationId: 'readFraudBacktest',
  summary: 'Get the state and report of a back-test',
  description: 'Any API process can answer the request, not only the process that runs the job. The report is kept for 24 hours.',
  auth: OPERATIONS,
  params: z.object({ job_id: z.string().min(1).max(50).openapi({ example: 'hQ0hM4kCT0y2g3wq5M9ZzQ' }) }),
  answers: { 200: { description: 'The job.', schema: BacktestJobSchema } },
  errors: [fraudErrors.backtest_not_found],
})
