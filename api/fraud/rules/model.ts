import { z } from '@hono/zod-openapi'
import { compileCondition } from '../../../schemas/fraud/rules/compile.ts'
import type { Fault } from '../../../schemas/fraud/rules/faults.ts'
import type { Rule } from '../../../schemas/fraud/rules/rule.ts'
import type { FraudRule } from '../../../schemas/fraud/types.ts'
import { normalised } from '../../../schemas/normalised.ts'
import { ApiError } from '../../kit/errors.ts'
import { isoTime } from '../../kit/times.ts'
import { fraudErrors } from '../errors.ts'

const MAX_NAME = 200
const MAX_AUTHOR = 200
const MIN_INT32 = -(2 ** 31)
const MAX_INT32 = 2 ** 31 - 1
/**
 * Maximum length of a condition in a request body. It exceeds the compiler's limit of 4,000 characters, so that the
 * compiler refuses most conditions that are too long. The compiler's error also reports the position.
 */
const MAX_CONDITION = 20_000

/**
 * Ids that rules must not have: path segments of other routes below `/api/v1/rules/`, and the segments `.` and `..`,
 * which clients remove from a path.
 */
export const RESERVED_RULE_IDS: ReadonlySet<string> = new Set([
  'fields',
  'validate',
  'versions',
  'rollback',
  'backtest',
  'audit',
  '.',
  '..',
])

const RuleId = z
  .string()
  .regex(/^[A-Za-z0-9_.-]{1,50}$/, 'must have 1 to 50 characters from A-Z a-z 0-9 _ . -')
  .refine((id) => !RESERVED_RULE_IDS.has(id), 'is a reserved word')
  .openapi({ example: 'many-payments' })

export const ruleParams = z.object({ rule_id: z.string().openapi({ example: 'seed-tor' }) })

/** @param maximum in code points */
function text(maximum: number) {
  return z
    .string()
    .trim()
    .min(1, 'must not be empty')
    .transform((value) => normalised(value))
    .refine((value) => [...value].length <= maximum, `must have at most ${maximum} characters`)
    .openapi({ minLength: 1, maxLength: maximum })
}

const time = z.iso
  .datetime({ offset: true, error: 'must be a time like 2026-01-31T12:00:00Z' })
  .transform((given) => Date.parse(given))
  .openapi({ format: 'date-time', example: '2030-01-31T12:00:00Z' })

const Condition = z
  .string()
  .min(1, 'must not be empty')
  .max(MAX_CONDITION)
  .openapi({ description: 'An expression of the rule language, at most 4,000 characters.', example: 'velocity.user.txn_count_1h > 5' })

const ruleFields = {
  name: text(MAX_NAME).openapi({ example: 'Many payments within an hour' }),
  condition: Condition,
  action: z.enum(['APPROVE', 'REVIEW', 'BLOCK', 'STEP_UP']),
  priority: z
    .int()
    .min(MIN_INT32)
    .max(MAX_INT32)
    .openapi({ description: 'If several rules match, the rule with the lowest number decides.', example: 50 }),
  enabled: z.boolean().default(true),
  mode: z
    .enum(['live', 'shadow'])
    .default('live')
    .openapi({ description: '`shadow`: the rule is evaluated and counted, but changes no decision.' }),
  expires_at: time
    .nullable()
    .default(null)
    .openapi({
      type: ['string', 'null'],
      description: 'The time from which the rule is no longer evaluated; null if it never expires.',
    }),
  created_by: text(MAX_AUTHOR)
    .optional()
    .openapi({ description: "The author of the rule. Default: the author of the existing rule, or the token's subject for a new rule." }),
  // These fields are allowed, so that a client can send a rule back exactly as the API returned it.
  created_at: z.string().optional().openapi({ description: 'Ignored.' }),
  updated_at: z.string().optional().openapi({ description: 'Ignored.' }),
  fault: z.string().nullable().optional().openapi({ description: 'Ignored.' }),
}

export const NewRuleBody = z.strictObject({ rule_id: RuleId, ...ruleFields }).openapi('NewFraudRule')
export const RuleBody = z.strictObject({ rule_id: RuleId.optional(), ...ruleFields }).openapi('FraudRuleChange')
type RuleInput = z.output<typeof RuleBody>

export const RuleSchema = z
  .object({
    rule_id: z.string(),
    name: z.string(),
    condition: z.string(),
    action: z.enum(['APPROVE', 'REVIEW', 'BLOCK', 'STEP_UP']),
    priority: z.int(),
    enabled: z.boolean(),
    mode: z.enum(['live', 'shadow']),
    created_by: z.string(),
    created_at: z.string(),
    updated_at: z.string(),
    expires_at: z.string().nullable(),
    fault: z.string().nullable().openapi({ description: 'Why an enabled rule is not evaluated; null if there is no fault.' }),
  })
  .openapi('FraudRule')

export const RuleListSchema = z
  .object({ ruleset_version: z.int().openapi({ description: 'Increases with every change to the rules.' }), rules: z.array(RuleSchema) })
  .openapi('FraudRules')

const FaultSchema = z
  .object({
    code: z.string(),
    message: z.string(),
    line: z.int(),
    column: z.int(),
    start: z.int().openapi({ description: 'Position in the condition, in UTF-16 code units. `end` has the same unit.' }),
    end: z.int(),
    expected: z.array(z.string()),
    nearest: z.string().nullable().openapi({ description: 'The name that was probably meant.' }),
  })
  .openapi('FraudConditionFault')

export const ValidateBody = z.strictObject({ condition: Condition }).openapi('FraudConditionToValidate')
export const ValidationSchema = z
  .object({
    valid: z.boolean(),
    canonical: z.string().nullable().openapi({ description: 'The condition in canonical form; null if the condition is not valid.' }),
    faults: z.array(FaultSchema),
    fields: z.array(z.string()).openapi({ description: 'The fields that the condition reads.' }),
    lists: z.array(z.string()).openapi({ description: 'The lists that the condition reads.' }),
    unknown_lists: z
      .array(z.string())
      .openapi({ description: 'The lists that the condition reads but that do not exist. `inList` has no result for these lists.' }),
  })
  .openapi('FraudConditionValidation')

export const FieldsSchema = z
  .object({
    fields: z.array(
      z.object({
        name: z.string(),
        type: z.string(),
        always_present: z.boolean(),
        description: z.string(),
        aliases: z.array(z.string()).openapi({ description: 'Other names of the field.' }),
      }),
    ),
    functions: z.array(z.object({ name: z.string(), parameters: z.array(z.string()), result: z.string() })),
  })
  .openapi('FraudRuleFields')

export const VersionListSchema = z
  .object({
    versions: z.array(
      z.object({
        version: z.int(),
        changed_by: z.string(),
        at: z.string(),
        action: z.string(),
        rule_id: z.string().nullable(),
        rules: z.int().openapi({ description: 'How many rules the version has.' }),
      }),
    ),
  })
  .openapi('FraudRuleSetVersions')

export const RollbackBody = z.strictObject({ version: z.int().min(0) }).openapi('FraudRollback')
export const RollbackSchema = z
  .object({ ruleset_version: z.int().openapi({ description: 'The new version, which has the same rules as the requested version.' }) })
  .openapi('FraudRolledBack')

export const AuditSchema = z
  .object({
    changes: z.array(
      z.object({
        subject: z.string().openapi({ example: 'rule:seed-tor' }),
        action: z.string(),
        actor: z.string(),
        at: z.string(),
        version: z.int().nullable().openapi({ description: 'The version of the rule set or of the policy that the change created.' }),
        before: z.unknown(),
        after: z.unknown(),
        is_shortened: z
          .boolean()
          .openapi({ description: 'Whether `before` or `after` is null because the value is too long for a list of changes.' }),
      }),
    ),
  })
  .openapi('FraudAudit')

/**
 * Creates a rule from its JSON. `created_at` and `updated_at` are zero until the topology sets them.
 * @param author the author if the JSON has no `created_by`; empty to keep the existing author
 * @throws ApiError `invalid_condition`
 */
export function ruleFrom(
  rule_id: string,
  { created_by, created_at: _at, updated_at: _since, fault: _fault, ...given }: RuleInput,
  author: string,
): FraudRule {
  assertCondition(given.condition)
  return { ...given, rule_id, created_by: created_by ?? author, created_at: 0, updated_at: 0 }
}

function assertCondition(condition: string): void {
  const compiled = compileCondition(condition)
  if (compiled.ok) return
  const details = compiled.faults.map((fault) => ({ path: 'body.condition', ...faultJson(fault) }))
  throw new ApiError(fraudErrors.invalid_condition, { details })
}

export function faultJson({ nearest, expected, ...fault }: Fault) {
  return { ...fault, expected: [...expected], nearest: nearest ?? null }
}

/**
 * Returns a rule as the API shows it.
 * @param fault why the rule is not evaluated; undefined if there is no fault
 */
export function ruleJson(rule: Rule, fault: string | undefined): z.output<typeof RuleSchema> {
  const { rule_id, name, condition, action, priority, enabled, mode, created_by } = rule
  return {
    rule_id,
    name,
    condition,
    action,
    priority,
    enabled,
    mode,
    created_by,
    created_at: isoTime(rule.created_at),
    updated_at: isoTime(rule.updated_at),
    expires_at: rule.expires_at === null ? null : isoTime(rule.expires_at),
    fault: fault ?? null,
  }
}
