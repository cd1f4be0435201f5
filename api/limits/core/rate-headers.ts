import type { RuleStatus, Verdict } from './limiter.ts'

export type RateHeaders = Readonly<Record<string, string>>

const NONE: RateHeaders = {}

/**
 * Formats the status of the strictest rule as `X-RateLimit-*` headers and as the structured fields of the IETF draft. A
 * refusal also gets `Retry-After`.
 */
export function rateHeaders(verdict: Verdict): RateHeaders {
  if (!('strictest' in verdict) || verdict.strictest === undefined) return NONE
  const { rule, resetAt, resetAfterSeconds, isOver, retryAfterSeconds } = verdict.strictest
  const remaining = isOver ? 0 : verdict.strictest.remaining
  const name = fieldString(rule.rule_id)
  const headers = {
    'X-RateLimit-Limit': String(rule.limit_count),
    'X-RateLimit-Remaining': String(remaining),
    'X-RateLimit-Reset': String(resetAt),
    'X-RateLimit-Policy': `${rule.limit_count};w=${rule.window_seconds}`,
    RateLimit: `${name};r=${remaining};t=${resetAfterSeconds}`,
    'RateLimit-Policy': `${name};q=${rule.limit_count};w=${rule.window_seconds}`,
  }
  return verdict.outcome === 'refused' ? { ...headers, 'Retry-After': String(retryAfterSeconds) } : headers
}

/** Returns the fields that the body of a 429 has in addition to `error` and `message`. */
export function refusalFields({ rule, retryAfterSeconds }: RuleStatus) {
  return { limit: rule.limit_count, window: `${rule.window_seconds}s`, retry_after: retryAfterSeconds }
}

/** Formats a string as RFC 8941 requires: in ASCII, with escaped quotes and backslashes. */
function fieldString(text: string): string {
  return `"${text.replaceAll(/[^\x20-\x7e]/g, '?').replaceAll(/["\\]/g, '\\$&')}"`
}
