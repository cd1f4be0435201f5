/** The error that rate limits answer with. It stands alone, because the middleware for other apps has no catalogue. */
export const RATE_LIMIT_EXCEEDED = {
  status: 429,
  retryable: true,
  when: 'the caller has used up its rate; `Retry-After` says when to come back',
  message: 'Too many requests: wait as long as Retry-After says.',
} as const
