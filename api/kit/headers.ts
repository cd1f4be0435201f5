import { RATE_LIMIT_HEADERS } from './rate-limits.ts'

/** How long a browser may keep the answer to a preflight. Chromium caps it at two hours. */
const PREFLIGHT_SECONDS = 7_200

/**
 * On every answer. Any origin may call: callers are known by tokens, never by cookies, so a foreign page gains nothing.
 * Answers are data: they may not be sniffed, framed, or run.
 */
export const COMMON_HEADERS: Readonly<Record<string, string>> = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': `ETag, Retry-After, X-Request-Id, ${Object.keys(RATE_LIMIT_HEADERS).join(', ')}`,
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'cross-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
}

/** An error, or anything else that nobody said may be kept, is not kept. */
export const NOT_CACHEABLE = 'no-store'

/** Answers OPTIONS: to a preflight what may be asked, to anybody else the methods. */
export function optionsHeaders(allow: readonly string[], isPreflight: boolean): Record<string, string> {
  const methods = allow.join(', ')
  if (!isPreflight) return { Allow: methods }
  return {
    Allow: methods,
    'Access-Control-Allow-Methods': methods,
    'Access-Control-Allow-Headers': 'Authorization, Content-Type, Idempotency-Key, If-None-Match, X-Api-Key, X-Request-Id',
    'Access-Control-Max-Age': String(PREFLIGHT_SECONDS),
    Vary: 'Access-Control-Request-Method, Access-Control-Request-Headers',
  }
}
