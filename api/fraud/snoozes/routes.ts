import { z } from '@hono/zod-openapi'
import { errors } from '../../kit/errors.ts'
import { pageLimitParameter, pageParameter } from '../../kit/parameters.ts'
import { defineRoute } from '../../kit/route.ts'
import { fraudErrors } from '../errors.ts'
import { OPERATORS } from '../operators.ts'
import { ruleParams } from '../rules/model.ts'
import { NewSnoozeBody, SnoozeListSchema, SnoozeSchema } from './model.ts'

const MAX_PAGE = 10_000
const MAX_BODY_BYTES = 16_384

export const snoozeRoute = defineRoute({
  method: 'post',
  path: '/api/v1/rules/{rule_id}/snoozes',
  operationId: 'snoozeFraudRule',
  summary: 'Make a rule skip an entity for a number of hours',
  description:
    'Until the snooze ends, the rule does not match transactions of the entity. A later snooze of the same entity replaces an earlier one.',
  auth: OPERATORS,
  idempotent: true,
  params: ruleParams,
  maxBodyBytes: MAX_BODY_BYTES,
  body: NewSnoozeBody,
  bodyExample: { entity_type: 'USER', entity_value: 'u1', hours: 24, reason: 'travels' },
  answers: { 201: { description: 'The snooze.', schema: SnoozeSchema } },
  errors: [fraudErrors.raw_card_number, fraudErrors.rule_not_found, fraudErrors.settings_limit_reached, errors.not_ready],
})

export const listSnoozesRoute = defineRoute({
  method: 'get',
  path: '/api/v1/rules/{rule_id}/snoozes',
  operationId: 'listFraudSnoozes',
  summary: 'List the snoozes of a rule',
  description: 'Returns the snoozes that have not ended, sorted by the time at which they end.',
  auth: OPERATORS,
  params: ruleParams,
  query: z.object({ page: pageParameter(MAX_PAGE), limit: pageLimitParameter('snoozes') }),
  answers: { 200: { description: 'A page of snoozes.', schema: SnoozeListSchema } },
  errors: [fraudErrors.rule_not_found, errors.not_ready],
})

export const endSnoozeRoute = defineRoute({
  method: 'delete',
  path: '/api/v1/rules/{rule_id}/snoozes/{snooze_id}',
  operationId: 'endFraudSnooze',
  summary: 'End a snooze',
  description: 'Ends the snooze at once, so that the rule applies to the entity again.',
  auth: OPERATORS,
  idempotent: true,
  params: ruleParams.extend({ snooze_id: z.string().max(100).openapi({ example: 'k2o0a3yqVx1Pw9dT' }) }),
  answers: { 204: { description: 'The snooze is over.' } },
  errors: [fraudErrors.snooze_not_found, errors.not_ready],
})
