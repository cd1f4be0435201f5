import { z } from '@hono/zod-openapi'
import { errors } from '../../kit/errors.ts'
import { booleanParameter, pageLimitParameter, pageParameter } from '../../kit/parameters.ts'
import { defineRoute } from '../../kit/route.ts'
import { fraudErrors } from '../errors.ts'
import { OPERATORS } from '../operators.ts'
import {
  AuditSchema,
  FieldsSchema,
  NewRuleBody,
  RollbackBody,
  RollbackSchema,
  RuleBody,
  RuleListSchema,
  RuleSchema,
  ruleParams,
  ValidateBody,
  ValidationSchema,
  VersionListSchema,
} from './model.ts'

const MAX_PAGE = 1_000_000
/** Maximum size of a body: a condition of 4,000 characters, at four bytes each, and the other fields. */
const MAX_BODY_BYTES = 65_536
const MAX_VERSION_DIGITS = 15
const versionParams = z.object({
  version: z
    .string()
    .regex(/^\d+$/, 'must be a whole number')
    .max(MAX_VERSION_DIGITS)
    .transform(Number)
    .openapi({ type: 'integer', example: 12 }),
})
const ruleAnswer = {
  description: 'The rule.',
  schema: RuleSchema,
  headers: { ETag: 'The version, for If-Match: `updated_at` in milliseconds.' },
}
const example = { name: 'Many payments', condition: 'velocity.user.txn_count_1h > 5', action: 'REVIEW', priority: 50 }

export const createRuleRoute = defineRoute({
  method: 'post',
  path: '/api/v1/rules',
  operationId: 'createFraudRule',
  summary: 'Create a rule',
  description: 'Creates a rule. Every API instance applies the rule within 10 seconds, and normally within one second. A rule with the mode `shadow` changes no decision.', // biome-ignore format: sentences
  auth: OPERATORS,
  idempotent: true,
  maxBodyBytes: MAX_BODY_BYTES,
  body: NewRuleBody,
  bodyExample: { rule_id: 'many-payments', ...example },
  answers: { 201: ruleAnswer },
  errors: [fraudErrors.invalid_condition, fraudErrors.rule_exists, fraudErrors.settings_limit_reached, errors.not_ready],
})

export const listRulesRoute = defineRoute({
  method: 'get',
  path: '/api/v1/rules',
  operationId: 'listFraudRules',
  summary: 'List the active rules by precedence',
  description: 'Returns the rules that are enabled and have not expired, in order of precedence.',
  auth: OPERATORS,
  query: z.object({ all: booleanParameter({ default: false, description: 'Whether to include disabled and expired rules.' }) }),
  answers: { 200: { description: 'The rules.', schema: RuleListSchema } },
  errors: [errors.not_ready],
})

export const readRuleRoute = defineRoute({
  method: 'get',
  path: '/api/v1/rules/{rule_id}',
  operationId: 'readFraudRule',
  summary: 'Get a rule',
  description: 'Returns a rule, even if it is disabled.',
  auth: OPERATORS,
  params: ruleParams,
  answers: { 200: ruleAnswer },
  errors: [fraudErrors.rule_not_found, errors.not_ready],
})

export const replaceRuleRoute = defineRoute({
  method: 'put',
  path: '/api/v1/rules/{rule_id}',
  operationId: 'replaceFraudRule',
  summary: 'Replace a rule',
  description:
    'Replaces all fields of a rule. Omitted fields get their defaults, so a disabled rule becomes enabled unless the body contains `enabled: false`. With If-Match, the rule is replaced only if it still has the version that If-Match names.',
  auth: OPERATORS,
  idempotent: true,
  versioned: true,
  params: ruleParams,
  maxBodyBytes: MAX_BODY_BYTES,
  body: RuleBody,
  bodyExample: example,
  answers: { 200: ruleAnswer },
  errors: [
    fraudErrors.invalid_condition,
    fraudErrors.rule_not_found,
    fraudErrors.version_conflict,
    fraudErrors.settings_limit_reached,
    errors.not_ready,
  ],
})

export const deleteRuleRoute = defineRoute({
  method: 'delete',
  path: '/api/v1/rules/{rule_id}',
  operationId: 'disableFraudRule',
  summary: 'Disable a rule',
  description: 'Stops evaluating a rule. The rule stays in the rule set, unless `remove` is true.',
  auth: OPERATORS,
  idempotent: true,
  params: ruleParams,
  query: z.object({
    remove: booleanParameter({
      default: false,
      description:
        'Whether to remove the rule from the rule set instead of disabling it. Earlier versions of the rule set still contain the rule.',
    }),
  }),
  answers: { 204: { description: 'The rule is disabled, or removed.' } },
  errors: [fraudErrors.rule_not_found, errors.not_ready],
})

export const fieldsRoute = defineRoute({
  method: 'get',
  path: '/api/v1/rules/fields',
  operationId: 'listFraudRuleFields',
  summary: 'List the fields and functions of conditions',
  description: 'Returns the fields and functions that conditions can use.',
  auth: OPERATORS,
  answers: { 200: { description: 'The fields and functions.', schema: FieldsSchema } },
  errors: [],
})

export const validateRoute = defineRoute({
  method: 'post',
  path: '/api/v1/rules/validate',
  operationId: 'validateFraudCondition',
  summary: 'Check a condition',
  description: 'Checks a condition without creating a rule.',
  auth: OPERATORS,
  maxBodyBytes: MAX_BODY_BYTES,
  body: ValidateBody,
  bodyExample: { condition: 'txn.amount > 1' },
  answers: { 200: { description: 'Whether the condition can be used.', schema: ValidationSchema } },
  errors: [errors.not_ready],
})

export const versionsRoute = defineRoute({
  method: 'get',
  path: '/api/v1/rules/versions',
  operationId: 'listFraudRuleSetVersions',
  summary: 'List the versions of the rule set',
  description:
    'Returns the last 50 versions, newest first. The first version in the list is in force. Every other version in the list can be restored.',
  auth: OPERATORS,
  answers: { 200: { description: 'The versions.', schema: VersionListSchema } },
  errors: [errors.not_ready],
})

export const readVersionRoute = defineRoute({
  method: 'get',
  path: '/api/v1/rules/versions/{version}',
  operationId: 'readFraudRuleSetVersion',
  summary: 'Get the rules of a version',
  description: 'Returns all rules of one of the last 50 versions, including disabled rules.',
  auth: OPERATORS,
  params: versionParams,
  answers: { 200: { description: 'The rules.', schema: RuleListSchema } },
  errors: [fraudErrors.ruleset_version_not_found, errors.not_ready],
})

export const rollbackRoute = defineRoute({
  method: 'post',
  path: '/api/v1/rules/rollback',
  operationId: 'rollBackFraudRules',
  summary: 'Restore an earlier version of all rules',
  description:
    'Replaces all rules with the rules of one of the last 50 versions. The result is a new version. Lists and snoozes do not change.',
  auth: OPERATORS,
  idempotent: true,
  body: RollbackBody,
  bodyExample: { version: 3 },
  answers: { 200: { description: 'The new version.', schema: RollbackSchema } },
  errors: [fraudErrors.ruleset_version_not_found, fraudErrors.settings_limit_reached, errors.not_ready],
})

export const auditRoute = defineRoute({
  method: 'get',
  path: '/api/v1/rules/audit',
  operationId: 'listFraudSettingsChanges',
  summary: 'List changes to rules, lists, snoozes, models and the blocklist',
  description:
    'Returns the changes, newest first, including repeated transactions that the blocklist blocked. A change appears a few seconds after it is made. A value of `before` or `after` that is longer than 16 KiB is null unless `limit` is 1.',
  auth: OPERATORS,
  query: z.object({
    page: pageParameter(MAX_PAGE),
    limit: pageLimitParameter('changes'),
    subject: z.string().max(200).optional().openapi({
      description:
        '`rule:<rule_id>`, `rules` for roll-backs, `list:<name>`, `snooze:<snooze_id>`, `models`, `blocklist:<entry_id>`, or `transaction:<transaction_id>` for a repeated transaction that the blocklist blocked. Default: all.',
    }),
  }),
  answers: { 200: { description: 'A page of changes.', schema: AuditSchema } },
  errors: [errors.query_too_large, errors.not_ready],
})
