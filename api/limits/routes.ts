import { z } from '@hono/zod-openapi'
import { errors } from '../kit/errors.ts'
import { booleanParameter, pageLimitParameter, pageParameter } from '../kit/parameters.ts'
import { defineRoute } from '../kit/route.ts'
import { limitsErrors } from './errors.ts'
import {
  AuditSchema,
  CheckBody,
  CheckSchema,
  IssuedKeySchema,
  KeyListSchema,
  NewKeyBody,
  NewRuleBody,
  RuleBody,
  RuleListSchema,
  RuleSchema,
  SimulationBody,
  SimulationSchema,
  UsageSchema,
  ViolationsSchema,
} from './model.ts'

const TAG = 'rate limits'
const ADMIN = { kind: 'scope', scope: 'admin' } as const
const MAX_PAGE = 1_000_000
const page = {
  page: pageParameter(MAX_PAGE),
  limit: pageLimitParameter('entries'),
}
const ruleParams = z.object({ rule_id: z.string().openapi({ example: 'search-free' }) })
const clientParams = z.object({ client_id: z.string().openapi({ example: 'user:42' }) })
const ruleExample = { match: { tier: 'free', endpoint_pattern: 'GET /api/v1/products/*' }, limit: 100, window_seconds: 60 }

export const createRuleRoute = defineRoute({
  method: 'post',
  path: '/api/v1/rate-limits/rules',
  operationId: 'createRateLimitRule',
  summary: 'Makes a rule',
  description: 'Every API instance applies it within a second.',
  tag: TAG,
  auth: ADMIN,
  idempotent: true,
  body: NewRuleBody,
  bodyExample: { rule_id: 'products-free', ...ruleExample },
  answers: { 201: { description: 'the rule', schema: RuleSchema } },
  errors: [limitsErrors.rule_exists, errors.not_ready],
})

export const listRulesRoute = defineRoute({
  method: 'get',
  path: '/api/v1/rate-limits/rules',
  operationId: 'listRateLimitRules',
  summary: 'Rules, by id',
  description: 'Seeded rules are among them.',
  tag: TAG,
  auth: ADMIN,
  query: z.object({ ...page, include_inactive: booleanParameter({ default: false, description: 'deleted ones too' }) }),
  answers: { 200: { description: 'a page of rules', schema: RuleListSchema } },
  errors: [errors.not_ready],
})

export const readRuleRoute = defineRoute({
  method: 'get',
  path: '/api/v1/rate-limits/rules/{rule_id}',
  operationId: 'readRateLimitRule',
  summary: 'One rule',
  description: 'A deleted one is inactive.',
  tag: TAG,
  auth: ADMIN,
  params: ruleParams,
  answers: { 200: { description: 'the rule', schema: RuleSchema } },
  errors: [limitsErrors.rule_not_found, errors.not_ready],
})

export const replaceRuleRoute = defineRoute({
  method: 'put',
  path: '/api/v1/rate-limits/rules/{rule_id}',
  operationId: 'replaceRateLimitRule',
  summary: 'Replaces a rule',
  description:
    'What is left out has its default. Counters go on, unless the window or the algorithm is another one. A deleted rule is active again.',
  tag: TAG,
  auth: ADMIN,
  params: ruleParams,
  body: RuleBody,
  bodyExample: ruleExample,
  answers: { 200: { description: 'the rule', schema: RuleSchema } },
  errors: [limitsErrors.rule_not_found, errors.not_ready],
})

export const deleteRuleRoute = defineRoute({
  method: 'delete',
  path: '/api/v1/rate-limits/rules/{rule_id}',
  operationId: 'deleteRateLimitRule',
  summary: 'Makes a rule inactive',
  description: 'Its id may be used again.',
  tag: TAG,
  auth: ADMIN,
  params: ruleParams,
  answers: { 204: { description: 'inactive' } },
  errors: [limitsErrors.rule_not_found, errors.not_ready],
})

export const issueKeyRoute = defineRoute({
  method: 'post',
  path: '/api/v1/rate-limits/clients',
  operationId: 'issueApiKey',
  summary: 'Issues an API key',
  description: 'The key is shown in this answer and nowhere else: only its SHA-256 is kept. A client may have several keys.',
  tag: TAG,
  auth: ADMIN,
  idempotent: true,
  body: NewKeyBody,
  bodyExample: { client_id: 'acme', tier: 'pro' },
  answers: { 201: { description: 'the key', schema: IssuedKeySchema } },
  errors: [errors.not_ready],
})

export const listKeysRoute = defineRoute({
  method: 'get',
  path: '/api/v1/rate-limits/clients',
  operationId: 'listApiKeys',
  summary: 'API keys, by client',
  description: 'Without the keys themselves.',
  tag: TAG,
  auth: ADMIN,
  query: z.object({ ...page, include_revoked: booleanParameter({ default: false, description: 'revoked ones too' }) }),
  answers: { 200: { description: 'a page of keys', schema: KeyListSchema } },
  errors: [errors.not_ready],
})

export const revokeKeyRoute = defineRoute({
  method: 'delete',
  path: '/api/v1/rate-limits/clients/{key_id}',
  operationId: 'revokeApiKey',
  summary: 'Revokes an API key',
  description: 'Every API instance refuses it within a second.',
  tag: TAG,
  auth: ADMIN,
  params: z.object({ key_id: z.string() }),
  answers: { 204: { description: 'revoked' } },
  errors: [limitsErrors.client_not_found, errors.not_ready],
})

export const usageRoute = defineRoute({
  method: 'get',
  path: '/api/v1/rate-limits/usage/{client_id}',
  operationId: 'readRateLimitUsage',
  summary: 'How a client stands with its rules',
  description:
    'Looks without counting; the request itself counts like any other, but for administrators. For the client itself (the one of its key, `user:<id>`, or `ip:<address>` without either) and for administrators.',
  tag: TAG,
  auth: { kind: 'optional', anySubjectOf: 'admin' },
  params: clientParams,
  answers: { 200: { description: 'every rule that counts this client', schema: UsageSchema } },
  errors: [limitsErrors.client_not_found, errors.not_ready],
})

export const resetRoute = defineRoute({
  method: 'delete',
  path: '/api/v1/rate-limits/usage/{client_id}',
  operationId: 'resetRateLimitUsage',
  summary: "Forgets a client's requests",
  description: 'In every rule that counts this client.',
  tag: TAG,
  auth: ADMIN,
  params: clientParams,
  answers: { 204: { description: 'forgotten' } },
  errors: [limitsErrors.client_not_found, errors.not_ready],
})

export const checkRoute = defineRoute({
  method: 'post',
  path: '/api/v1/rate-limits/check',
  operationId: 'checkRateLimit',
  summary: 'Decides for another gateway',
  description: 'Counts the request and says whether it may go on. A store that does not answer within 5 ms lets it go on.',
  tag: TAG,
  auth: { kind: 'scope', scope: 'internal' },
  body: CheckBody,
  bodyExample: { method: 'GET', path: '/api/v1/products/1', user_id: '42' },
  answers: { 200: { description: 'the decision', schema: CheckSchema } },
  errors: [],
})

export const simulateRoute = defineRoute({
  method: 'post',
  path: '/api/v1/rate-limits/simulate',
  operationId: 'simulateRateLimitRule',
  summary: 'What a rule would have refused',
  description: 'Replays the requests of the last hour against a draft, as if it were the only rule.',
  tag: TAG,
  auth: ADMIN,
  body: SimulationBody,
  bodyExample: ruleExample,
  answers: { 200: { description: 'what would have happened', schema: SimulationSchema } },
  errors: [errors.not_ready],
})

export const auditRoute = defineRoute({
  method: 'get',
  path: '/api/v1/rate-limits/audit',
  operationId: 'listRateLimitChanges',
  summary: 'Who changed what',
  description: 'Newest first; a change is here some seconds after it was made.',
  tag: TAG,
  auth: ADMIN,
  query: z.object({ ...page, subject: z.string().max(200).optional().openapi({ description: '`rule:<rule_id>` or `key:<key_id>`' }) }),
  answers: { 200: { description: 'a page of changes', schema: AuditSchema } },
  errors: [errors.not_ready],
})

export const violationsRoute = defineRoute({
  method: 'get',
  path: '/api/v1/rate-limits/violations',
  operationId: 'listRateLimitViolations',
  summary: 'Requests over a limit',
  description: 'Newest first, at most one per rule, client and second, for 30 days; those of rules that only log too.',
  tag: TAG,
  auth: ADMIN,
  query: z.object({ ...page, rule_id: z.string().max(100).optional(), client_id: z.string().max(200).optional() }),
  answers: { 200: { description: 'a page of violations', schema: ViolationsSchema } },
  errors: [errors.not_ready],
})
