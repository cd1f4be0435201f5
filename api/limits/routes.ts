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
  summary: 'Create a rule',
  description: 'Creates a rule. Every API instance applies the rule within a second.',
  auth: ADMIN,
  idempotent: true,
  body: NewRuleBody,
  bodyExample: { rule_id: 'products-free', ...ruleExample },
  answers: { 201: { description: 'The rule.', schema: RuleSchema } },
  errors: [limitsErrors.rule_exists, errors.not_ready],
})

export const listRulesRoute = defineRoute({
  method: 'get',
  path: '/api/v1/rate-limits/rules',
  operationId: 'listRateLimitRules',
  summary: 'List rules by id',
  description: 'Returns the rules, including the seeded rules, which services declare.',
  auth: ADMIN,
  query: z.object({ ...page, include_inactive: booleanParameter({ default: false, description: 'Whether to include deleted rules.' }) }),
  answers: { 200: { description: 'A page of rules.', schema: RuleListSchema } },
  errors: [errors.not_ready],
})

export const readRuleRoute = defineRoute({
  method: 'get',
  path: '/api/v1/rate-limits/rules/{rule_id}',
  operationId: 'readRateLimitRule',
  summary: 'Get a rule',
  description: 'Returns a rule. If the rule was deleted, it is returned as inactive.',
  auth: ADMIN,
  params: ruleParams,
  answers: { 200: { description: 'The rule.', schema: RuleSchema } },
  errors: [limitsErrors.rule_not_found, errors.not_ready],
})

export const replaceRuleRoute = defineRoute({
  method: 'put',
  path: '/api/v1/rate-limits/rules/{rule_id}',
  operationId: 'replaceRateLimitRule',
  summary: 'Replace a rule',
  description:
    'Replaces all fields of a rule. Omitted fields get their defaults. Counters keep their values unless the change affects the window, the algorithm (window or token bucket) or the identity by which callers are counted. If the rule was deleted, it becomes active again.',
  auth: ADMIN,
  idempotent: true,
  params: ruleParams,
  body: RuleBody,
  bodyExample: ruleExample,
  answers: { 200: { description: 'The rule.', schema: RuleSchema } },
  errors: [limitsErrors.rule_not_found, errors.not_ready],
})

export const deleteRuleRoute = defineRoute({
  method: 'delete',
  path: '/api/v1/rate-limits/rules/{rule_id}',
  operationId: 'deleteRateLimitRule',
  summary: 'Delete a rule',
  description: 'Makes the rule inactive. Its id may be used for a new rule.',
  auth: ADMIN,
  idempotent: true,
  params: ruleParams,
  answers: { 204: { description: 'The rule is inactive.' } },
  errors: [limitsErrors.rule_not_found, errors.not_ready],
})

export const issueKeyRoute = defineRoute({
  method: 'post',
  path: '/api/v1/rate-limits/clients',
  operationId: 'issueApiKey',
  summary: 'Issue an API key',
  description:
    'Issues a key. Only this response contains the key, because the service stores only its SHA-256 hash. A client may have several keys.',
  auth: ADMIN,
  idempotent: true,
  body: NewKeyBody,
  bodyExample: { client_id: 'acme', tier: 'pro' },
  answers: { 201: { description: 'The key.', schema: IssuedKeySchema } },
  errors: [errors.not_ready],
})

export const listKeysRoute = defineRoute({
  method: 'get',
  path: '/api/v1/rate-limits/clients',
  operationId: 'listApiKeys',
  summary: 'List API keys by client',
  description: 'Returns the properties of the keys, but not the keys themselves.',
  auth: ADMIN,
  query: z.object({ ...page, include_revoked: booleanParameter({ default: false, description: 'Whether to include revoked keys.' }) }),
  answers: { 200: { description: 'A page of keys.', schema: KeyListSchema } },
  errors: [errors.not_ready],
})

export const revokeKeyRoute = defineRoute({
  method: 'delete',
  path: '/api/v1/rate-limits/clients/{key_id}',
  operationId: 'revokeApiKey',
  summary: 'Revoke an API key',
  description: 'Revokes the key. Every API instance rejects it within a second.',
  auth: ADMIN,
  idempotent: true,
  params: z.object({ key_id: z.string() }),
  answers: { 204: { description: 'The key is revoked.' } },
  errors: [limitsErrors.client_not_found, errors.not_ready],
})

export const usageRoute = defineRoute({
  method: 'get',
  path: '/api/v1/rate-limits/usage/{client_id}',
  countsAs: '/api/v1/rate-limits/usage/{client_id}',
  operationId: 'readRateLimitUsage',
  summary: "Get a client's use of its limits",
  description:
    "Returns the counters of a client. Administrators may read the counters of any client, and other callers only their own. The id of a caller is the client of its API key, `user:<id>` for a caller with a token, `certificate:<name>` for a caller with a client certificate, or `ip:<address>` for any other caller. Unless the caller's token has the scope `admin` or `internal`, this request itself counts against the caller's limits.",
  auth: { kind: 'optional', anySubjectOf: 'admin' },
  params: clientParams,
  answers: { 200: { description: 'The rules with counters that count only requests of this client.', schema: UsageSchema } },
  errors: [limitsErrors.client_not_found, errors.not_ready],
})

export const resetRoute = defineRoute({
  method: 'delete',
  path: '/api/v1/rate-limits/usage/{client_id}',
  operationId: 'resetRateLimitUsage',
  summary: "Reset a client's counters",
  description: 'Resets the counters that count only requests of this client.',
  auth: ADMIN,
  params: clientParams,
  answers: { 204: { description: 'The counters are reset.' } },
  errors: [limitsErrors.client_not_found, errors.not_ready],
})

export const checkRoute = defineRoute({
  method: 'post',
  path: '/api/v1/rate-limits/check',
  operationId: 'checkRateLimit',
  summary: 'Decide whether another gateway may allow a request',
  description:
    'Counts the request if it is allowed, and returns the decision. If Redis does not respond within 5 ms, this instance decides with its own counts.',
  auth: { kind: 'scope', scope: 'internal' },
  body: CheckBody,
  bodyExample: { method: 'GET', path: '/api/v1/products/1', user_id: '42' },
  answers: { 200: { description: 'The decision.', schema: CheckSchema } },
  errors: [],
})

export const simulateRoute = defineRoute({
  method: 'post',
  path: '/api/v1/rate-limits/simulate',
  operationId: 'simulateRateLimitRule',
  summary: 'Simulate a rule',
  description:
    'Replays the requests of the last hour as if the draft were the only rule, and returns how many requests the draft would have rejected.',
  auth: ADMIN,
  body: SimulationBody,
  bodyExample: ruleExample,
  answers: { 200: { description: 'The result of the simulation.', schema: SimulationSchema } },
  errors: [errors.query_too_large, errors.not_ready],
})

export const auditRoute = defineRoute({
  method: 'get',
  path: '/api/v1/rate-limits/audit',
  operationId: 'listRateLimitChanges',
  summary: 'List changes to rules and keys',
  description: 'Returns the changes, newest first. A change appears a few seconds after it is made.',
  auth: ADMIN,
  query: z.object({ ...page, subject: z.string().max(200).optional().openapi({ description: '`rule:<rule_id>` or `key:<key_id>`.' }) }),
  answers: { 200: { description: 'A page of changes.', schema: AuditSchema } },
  errors: [errors.query_too_large, errors.not_ready],
})

export const violationsRoute = defineRoute({
  method: 'get',
  path: '/api/v1/rate-limits/violations',
  operationId: 'listRateLimitViolations',
  summary: 'List requests over a limit',
  description:
    'Returns the violations of the last 30 days, newest first. Violations of rules that only log are included. Each API instance records at most one violation per rule, client and second.',
  auth: ADMIN,
  query: z.object({ ...page, rule_id: z.string().max(100).optional(), client_id: z.string().max(200).optional() }),
  answers: { 200: { description: 'A page of violations.', schema: ViolationsSchema } },
  errors: [errors.query_too_large, errors.not_ready],
})
