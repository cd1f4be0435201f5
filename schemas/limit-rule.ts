/** What a rule counts together. `endpoint` is the rule's own pattern: one counter for all callers. */
export type LimitKeyPart = 'client' | 'api_key' | 'user' | 'ip' | 'endpoint'

/**
 * A rate limit rule. It has the shape of the record `LimitRule` in limits/LimitRule.avsc, but imports nothing, so that
 * programs without Avro can use the limiter.
 */
export interface LimitRule {
  /** At most 100 characters. */
  rule_id: string
  /** The tier of callers that it applies to; `*` for all. */
  tier: string
  /** `[METHOD ]/exact/path`, `/a/prefix/*` or `*`; at most 200 characters. */
  endpoint_pattern: string
  /** What is counted together. A rule by `ip` alone applies only to callers without API key and user. */
  key: LimitKeyPart[]
  /** Requests per window. */
  limit_count: number
  window_seconds: number
  /** Above 0: a token bucket of `limit_count` + `burst_allowance`, refilled at `limit_count` per window. */
  burst_allowance: number
  /** `log_only` reports violations and refuses nothing. */
  action: 'reject' | 'log_only'
  is_active: boolean
  /** Epoch ms. Of rules that are equally specific, the newest applies. */
  created_at: number
  /** Epoch ms. */
  updated_at: number
}

/** Matches every tier. */
export const ANY_TIER = '*'

/** A rule that is written in code. Fields that are left out have the defaults of the admin API. */
export type GivenRule = Pick<LimitRule, 'rule_id' | 'endpoint_pattern' | 'limit_count' | 'window_seconds'> & Partial<LimitRule>

export function ruleOf(given: GivenRule): LimitRule {
  return {
    tier: ANY_TIER,
    key: ['client'],
    burst_allowance: 0,
    action: 'reject',
    is_active: true,
    created_at: 0,
    updated_at: 0,
    ...given,
  }
}
