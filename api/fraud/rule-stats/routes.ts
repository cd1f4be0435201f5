import { z } from '@hono/zod-openapi'
import { errors } from '../../kit/errors.ts'
import { defineRoute } from '../../kit/route.ts'
import { fraudErrors } from '../errors.ts'
import { RuleStatsSchema } from './model.ts'

export const ruleStatsRoute = defineRoute({
  method: 'get',
  path: '/api/v1/rules/{rule_id}/stats',
  operationId: 'readFraudRuleStats',
  summary: 'Get the statistics of a rule for the last 7 days',
  description:
    'Returns the number of evaluations, matches and missing results across all API processes, in total and by hour. The numbers may be a few seconds old.',
  auth: { kind: 'scope', scope: ['fraud:ops', 'admin'] },
  params: z.object({ rule_id: z.string().min(1).max(50).openapi({ example: 'seed-zscore-3' }) }),
  answers: { 200: { description: 'The counts.', schema: RuleStatsSchema } },
  errors: [fraudErrors.rule_not_found, errors.query_too_large, errors.not_ready],
})
