/**
 * A part of the key by which a rule counts requests. With `endpoint` alone, all callers share one counter for the
 * rule's pattern.
 */
export type LimitKeyPart = (typeof LIMIT_KEY_PARTS)[number]
export const LIMIT_KEY_PARTS = ['client', 'api_key', 'user', 'ip', 'endpoint'] as const

/**
 * A rate limit rule. It has the fields of the record in limits/LimitRule.avsc, but this file imports nothing, so that
 * programs without Avro can use the limiter.
 */
export interface LimitRule {
  /** At most 100 characters. */
  rule_id: string
  /** The tier of callers to which the rule applies; `*` for all tiers. */
  tier: string
  /** `[METHOD ]/exact/path`, `/a/prefix/*` or `*`; at most 200 characters. */
  endpoint_pattern: string
  /**
   * Requests with equal values of these parts are counted together. A rule with `api_key` applies only to callers that
   * have an API key, and a rule with `user` only to callers that have a user. A rule whose key is `ip`, alone or with
   * `endpoint`, applies only to callers that have no API key, no user and no client certificate.
   */
  key: LimitKeyPart[]
  /** Maximum number of requests per window. */
  limit_count: number
  window_seconds: number
  /**
   * If this value is greater than 0, the rule is a token bucket of `limit_count` + `burst_allowance` tokens, refilled
   * at `limit_count` per window. If it is 0, the rule is a sliding window.
   */
  burst_allowance: number
  /** `log_only` reports violations and never rejects a request. */
  action: 'reject' | 'log_only'
  is_active: boolean
  /** Time of creation, epoch ms. Of equally specific rules, the newest rule applies. */
  created_at: number
  /** Epoch ms. */
  updated_at: number
}

/** Matches every tier. */
export const ANY_TIER = '*'

/** A rule that is defined in code. Omitted fields have the defaults of the admin API. */
export type GivenRule = Pick<LimitRule, 'rule_id' | 'endpoint_pattern' | 'limit_count' | 'window_seconds'> & Partial<LimitRule>

/** Completes a rule. An undefined field gets its default, like a missing field. */
export function ruleOf(given: GivenRule): LimitRule {
  const fields = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as GivenRule
  return {
    tier: ANY_TIER,
    key: ['client'],
    burst_allowance: 0,
    action: 'reject',
    is_active: true,
    created_at: 0,
    updated_at: 0,
    ...fields,
  }
}
