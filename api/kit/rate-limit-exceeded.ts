/**
 * The error for exceeded rate limits. It has a separate file, because the middleware for other apps does not include
 * the error catalogue.
 */
export const RATE_LIMIT_EXCEEDED = {
  status: 429,
  when: 'the caller exceeded its rate limit; `Retry-After` says when to try again',
  message: 'Too many requests. Wait as long as Retry-After says.',
} as const
