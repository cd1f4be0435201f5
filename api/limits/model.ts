import { z } from '@hono/zod-openapi'
import type { LimitClient, LimitRule } from '../../schemas/limits/types.ts'
import { normalised } from '../../schemas/normalised.ts'
import { isoTime } from '../kit/times.ts'
import { parsePattern } from './core/endpoint-pattern.ts'
import type { LimitedPaths } from './core/limited-paths.ts'
import { normalisedPattern } from './core/normalised-path.ts'

const MAX_INT32 = 2 ** 31 - 1
const MAX_RULE_ID = 100
const MAX_PATTERN = 200
const MAX_CLIENT_ID = 100
const MAX_LABEL = 200
/** Maximum length of a window: one year. A limit over a longer window would not be a rate. */
const MAX_WINDOW_SECONDS = 31_536_000
const MAX_COST = 1_000
/**
 * Maximum length of a path or an API key that a gateway submits. It exceeds what gateways accept in a request line or a
 * header.
 */
const MAX_TARGET = 65_536
const MAX_ADDRESS = 64

/** Tiers of API keys. Callers without a key have the tier `free`. */
const TIERS = ['free', 'pro', 'enterprise'] as const

/** Clients remove the segments `.` and `..` from paths, so they could not address a rule with such an id. */
const RuleId = z
  .string()
  .regex(
    /^(?!\.{1,2}$)[A-Za-z0-9._:-]{1,100}$/,
    `must have 1 to ${MAX_RULE_ID} characters from A-Z a-z 0-9 . _ : -, and must not be . or ..`,
  )
  .openapi({ example: 'search-free' })

/**
 * Pattern of a client id. It excludes the prefixes `user:`, `certificate:` and `ip:`, because they identify callers
 * without a key.
 */
const ClientId = z
  .string()
  .regex(
    /^(?!user:|certificate:|ip:|\.{1,2}$)[A-Za-z0-9._:@-]{1,100}$/,
    `must have 1 to ${MAX_CLIENT_ID} characters from A-Z a-z 0-9 . _ : @ -, must not be . or .., and must not begin with user:, certificate: or ip:`,
  )
  .openapi({ example: 'acme' })

const limit = z.int().min(1).max(MAX_INT32).openapi({ description: 'Number of requests allowed per window.' })
const windowSeconds = z.int().min(1).max(MAX_WINDOW_SECONDS)

const Match = z.strictObject({
  tier: z
    .enum([...TIERS, '*'])
    .default('*')
    .openapi({ description: "The caller's tier, or `*` for all tiers." }),
  endpoint_pattern: z
    .string()
    .overwrite(normalisedPattern)
    .max(MAX_PATTERN)
    .refine((text) => parsePattern(text) !== undefined, 'must be an exact path, /a/prefix/* or *, optionally after a method: POST /a/*')
    .refine((text) => parsePattern(text)?.method !== 'HEAD', 'must name GET instead of HEAD, because HEAD counts as GET')
    .openapi({ description: '`/exact/path`, `/a/prefix/*` or `*`. An HTTP method may precede it.', example: 'GET /api/v1/products/*' }),
  key: z
    .array(z.enum(['client', 'api_key', 'user', 'ip', 'endpoint']))
    .min(1)
    .max(5)
    .default(['client'])
    .openapi({
      description:
        'Requests share a counter if they have the same values for all of these parts. `endpoint` stands for the pattern of the rule, so it does not separate the paths that match the pattern. Of several rules with the same key, only the most specific one applies to a request. A rule with `api_key` applies only to callers with an API key, and a rule with `user` only to callers with a token. A rule whose key is `ip`, alone or with `endpoint`, applies only to callers without an API key, a token or a client certificate.',
    }),
})

const ruleFields = {
  match: Match,
  limit,
  window_seconds: windowSeconds,
  action: z.enum(['reject', 'log_only']).default('reject'),
  burst_allowance: z.int().min(0).max(MAX_INT32).default(0).openapi({
    description:
      'If above 0, the rule is a token bucket of `limit` + `burst_allowance` tokens. It is refilled with `limit` tokens per window.',
  }),
}

function fitsTogether(rule: { limit: number; burst_allowance: number }): boolean {
  return rule.limit + rule.burst_allowance <= MAX_INT32
}
const TOO_LARGE = { message: `plus limit must be at most ${MAX_INT32}`, path: ['burst_allowance'] }

export const NewRuleBody = z
  .strictObject({ rule_id: RuleId, ...ruleFields })
  .refine(fitsTogether, TOO_LARGE)
  .openapi('NewRateLimitRule')
export const RuleBody = z.strictObject(ruleFields).refine(fitsTogether, TOO_LARGE).openapi('RateLimitRuleChange')
export type RuleInput = z.output<typeof RuleBody>

export const RuleSchema = z
  .object({
    rule_id: z.string(),
    match: z.object({ tier: z.string(), endpoint_pattern: z.string(), key: z.array(z.string()) }),
    limit: z.int(),
    window_seconds: z.int(),
    action: z.string(),
    burst_allowance: z.int(),
    status: z.enum(['active', 'inactive']),
    created_at: z.string(),
    updated_at: z.string(),
    warnings: z.array(z.string()).openapi({ description: 'Possible mistakes in the rule. The rule applies nevertheless.' }),
  })
  .openapi('RateLimitRule')

export const RuleListSchema = z
  .object({ rules: z.array(RuleSchema), total: z.int(), page: z.int(), limit: z.int() })
  .openapi('RateLimitRules')

export const NewKeyBody = z
  .strictObject({
    client_id: ClientId,
    tier: z.enum(TIERS).default('free'),
    label: z
      .string()
      .overwrite((text) => normalised(text))
      .max(MAX_LABEL)
      .default(''),
  })
  .openapi('NewApiKey')

const keyFields = {
  key_id: z.string(),
  client_id: z.string(),
  tier: z.string(),
  label: z.string(),
  created_at: z.string(),
  revoked_at: z.string().nullable(),
}
const KeySchema = z.object(keyFields).openapi('ApiKey')
export const IssuedKeySchema = z
  .object({
    ...keyFields,
    api_key: z.string().nullable().openapi({
      description:
        'The key, which only this answer contains; null if the request repeats an earlier request with the same Idempotency-Key.',
    }),
  })
  .openapi('IssuedApiKey')
export const KeyListSchema = z.object({ clients: z.array(KeySchema), total: z.int(), page: z.int(), limit: z.int() }).openapi('ApiKeys')

export const UsageSchema = z
  .object({
    client_id: z.string(),
    rules: z.array(z.object({ rule_id: z.string(), limit: z.int(), current: z.int(), window_resets_at: z.string() })),
  })
  .openapi('RateLimitUsage')

export const CheckBody = z
  .strictObject({
    // Clients may send any method, path and key. An error would leave the gateway without a decision.
    method: z
      .string()
      .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/, 'must be an HTTP method of at most 64 characters')
      .overwrite((method) => method.toUpperCase()),
    path: z.string().regex(/^\//, 'must begin with /').max(MAX_TARGET).openapi({ description: 'With or without a query.' }),
    api_key: z.string().min(1).max(MAX_TARGET).optional().openapi({ description: "The caller's X-Api-Key." }),
    user_id: z
      .string()
      .regex(/^[A-Za-z0-9._-]{1,100}$/, 'must have 1 to 100 characters from A-Z a-z 0-9 . _ -')
      .optional(),
    ip: z.string().max(MAX_ADDRESS).optional(),
    cost: z.int().min(1).max(MAX_COST).default(1).openapi({
      description: 'The number of requests to count. Use a number above 1 for a request that should be counted more than once.',
    }),
  })
  .refine(({ api_key, user_id, ip }) => (api_key ?? user_id ?? ip) !== undefined, 'must contain api_key, user_id or ip')
  .openapi('RateLimitCheck')
export type CheckInput = z.output<typeof CheckBody>

export const CheckSchema = z
  .object({
    allowed: z.boolean(),
    reason: z.enum(['within_limits', 'over_limit', 'no_rule', 'limiter_unavailable', 'invalid_api_key']),
    client_id: z.string(),
    rule_id: z.string().nullable(),
    headers: z.record(z.string(), z.string()).openapi({ description: 'Headers to add to your response to the caller.' }),
    violations: z
      .array(z.string())
      .openapi({ description: 'Ids of all rules whose limit this request exceeds, including rules that only log.' }),
  })
  .openapi('RateLimitDecision')

export const SimulationBody = z.strictObject(ruleFields).refine(fitsTogether, TOO_LARGE).openapi('RateLimitDraft')
export const SimulationSchema = z
  .object({
    from: z.string(),
    to: z.string(),
    requests: z.int().openapi({ description: 'Number of requests to which the draft would apply.' }),
    would_reject: z.int(),
    callers: z.int().openapi({ description: 'Number of counters that the draft would need.' }),
    most_rejected: z.array(z.object({ key: z.string(), requests: z.int(), would_reject: z.int() })),
    left_out: z.int().openapi({
      description:
        'Number of requests of the last hour that were not recorded, because one second had requests from too many callers or to too many paths, or because Kafka was unavailable for longer than two minutes. Requests of such an outage count in the hour in which it ended.',
    }),
    truncated: z.boolean().openapi({
      description: 'Whether the newest requests of the last hour were left out, because there were too many requests to replay.',
    }),
  })
  .openapi('RateLimitSimulation')

export const AuditSchema = z
  .object({
    changes: z.array(
      z.object({
        subject: z.string().openapi({ example: 'rule:search-free' }),
        action: z.string(),
        actor: z.string(),
        at: z.string(),
        before: z.unknown().openapi({ description: 'The rule or key as other endpoints show it; null if there was none.' }),
        after: z.unknown().openapi({ description: 'The rule or key as other endpoints show it.' }),
      }),
    ),
  })
  .openapi('RateLimitAudit')

export const ViolationsSchema = z
  .object({
    violations: z.array(
      z.object({
        at: z.string(),
        rule_id: z.string(),
        client_id: z.string(),
        method: z.string(),
        path: z.string(),
        action: z.string(),
        estimate: z.number(),
        limit: z.int(),
      }),
    ),
  })
  .openapi('RateLimitViolations')

/** Creates a rule from its JSON. The rule's times are zero until the deciding topology sets them. */
export function ruleFrom(ruleId: string, { match, limit, window_seconds, action, burst_allowance }: RuleInput): LimitRule {
  const { tier, endpoint_pattern, key } = match
  const counts = { limit_count: limit, window_seconds, burst_allowance }
  return {
    rule_id: ruleId,
    tier,
    endpoint_pattern,
    key: [...new Set(key)],
    ...counts,
    action,
    is_active: true,
    created_at: 0,
    updated_at: 0,
  }
}

/**
 * Warning about a rule that applies to no path of this process. Such a rule is not an error, because other gateways may
 * use the rule through `check`.
 */
const NOT_LIMITED_HERE =
  'This process limits no path that the pattern matches, so the rule applies only to requests that a gateway submits (POST /api/v1/rate-limits/check).'

/** Returns the warnings about a rule that cannot apply as its author probably expects. */
function warningsOf({ endpoint_pattern }: LimitRule, paths: LimitedPaths): string[] {
  const pattern = normalisedPattern(endpoint_pattern)
  const instead = paths.patternsInstead(pattern)
  if (instead.length === 0) return paths.canApply(pattern) ? [] : [NOT_LIMITED_HERE]
  return [
    `This process compares rules with a different path for requests to this endpoint, so the rule applies only to requests that a gateway submits (POST /api/v1/rate-limits/check). To limit the requests here, use the pattern ${instead.join(' or ')}.`,
  ]
}

/**
 * Returns a rule as the API shows it.
 * @param paths the paths that this process limits
 */
export function ruleJson(rule: LimitRule, paths: LimitedPaths): z.output<typeof RuleSchema> {
  return { ...settingJson(rule), warnings: warningsOf(rule, paths) }
}

/** Returns the fields of a rule that an administrator has set, and its status and times. */
export function settingJson(rule: LimitRule): Omit<z.output<typeof RuleSchema>, 'warnings'> {
  return {
    rule_id: rule.rule_id,
    match: { tier: rule.tier, endpoint_pattern: rule.endpoint_pattern, key: [...rule.key] },
    limit: rule.limit_count,
    window_seconds: rule.window_seconds,
    action: rule.action,
    burst_allowance: rule.burst_allowance,
    status: rule.is_active ? 'active' : 'inactive',
    created_at: isoTime(rule.created_at),
    updated_at: isoTime(rule.updated_at),
  }
}

/** Returns the properties of an API key as the API shows them. */
export function keyJson({
  key_id,
  client_id,
  tier,
  label,
  created_at,
  revoked_at,
}: Omit<LimitClient, 'key_hash'>): z.output<typeof KeySchema> {
  const times = { created_at: isoTime(created_at), revoked_at: revoked_at === null ? null : isoTime(revoked_at) }
  return { key_id, client_id, tier, label, ...times }
}
