import type { Answer } from './answer.ts'
import { RATE_LIMIT_HEADERS } from './rate-limits.ts'

/** How long a browser may cache the answer to a preflight. Chromium limits this time to two hours. */
const PREFLIGHT_SECONDS = 7_200

/**
 * Default headers of all answers that do not get `SESSION_HEADERS`. Pages of any origin may call the API with tokens.
 * Pages of other origins cannot use a session's cookie. Browsers do not send the cookie across sites. They also hide an
 * answer that allows the origin `*` from a page that has sent cookies with the request. Answers are data and must not
 * be sniffed, framed or executed.
 */
export const COMMON_HEADERS: Readonly<Record<string, string>> = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': `ETag, Retry-After, X-Request-Id, ${Object.keys(RATE_LIMIT_HEADERS).join(', ')}`,
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'cross-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
}

const { 'Access-Control-Allow-Origin': _any, ...WITHOUT_SHARING } = COMMON_HEADERS

/**
 * Headers of answers to requests with a session's cookie, except answers for everybody. Only pages of this origin may
 * read these answers.
 */
export const SESSION_HEADERS: Readonly<Record<string, string>> = { ...WITHOUT_SHARING, 'Cross-Origin-Resource-Policy': 'same-origin' }

/** Default Cache-Control. Errors, and answers that do not explicitly allow caching, must not be cached. */
export const NOT_CACHEABLE = 'no-store'

/**
 * Returns whether shared caches may keep an answer and give it to everybody. If a cache kept such an answer with
 * SESSION_HEADERS, pages of other origins could not read it.
 */
export function isForEverybody({ headers }: Pick<Answer, 'headers'>): boolean {
  return headers['Cache-Control']?.startsWith('public') === true
}

/** Cache-Control of answers that only their caller may see. */
export const PRIVATE = { 'Cache-Control': 'private, no-store' } as const

/**
 * Returns the headers of an answer to OPTIONS. The headers name the allowed methods and, for a preflight, the allowed
 * headers.
 */
export function optionsHeaders(allow: readonly string[], isPreflight: boolean): Record<string, string> {
  const methods = allow.join(', ')
  if (!isPreflight) return { Allow: methods }
  return {
    Allow: methods,
    'Access-Control-Allow-Methods': methods,
    'Access-Control-Allow-Headers': 'Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, X-Api-Key, X-Request-Id',
    'Access-Control-Max-Age': String(PREFLIGHT_SECONDS),
    Vary: 'Access-Control-Request-Method, Access-Control-Request-Headers',
  }
}
