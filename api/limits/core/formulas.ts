/** What a rule allows. */
export interface Limit {
  readonly limit: number
  readonly windowSeconds: number
  /**
   * Additional tokens of a bucket. If above 0, the rule is a token bucket of `limit` + `burst` tokens; if 0, it is a
   * sliding window counter.
   */
  readonly burst: number
}

/** Numbers of requests in the current window and in the previous window. */
export interface WindowCounts {
  readonly current: number
  readonly previous: number
}

/** How much of a rule's limit a caller has used. */
export interface LimitStatus {
  /**
   * Number of requests that were counted before this request: the estimate for the window, or the tokens missing from
   * the bucket.
   */
  readonly estimate: number
  /** Number of requests that are left after this request, a whole number of at least 0. */
  readonly remaining: number
  /** Epoch seconds of the end of the window, or of the time when the bucket is full. */
  readonly resetAt: number
  /** Whole seconds from now until `resetAt`. */
  readonly resetAfterSeconds: number
  /** Whole seconds from now until the caller may try again, at least 1. */
  readonly retryAfterSeconds: number
}

export const US_PER_SECOND = 1_000_000

/** Returns the index of the window at a given time. Windows begin at multiples of their length. */
export function windowIndexAt(nowUs: number, windowSeconds: number): number {
  return Math.floor(nowUs / (windowSeconds * US_PER_SECOND))
}

/** Returns the time since the start of a window; 0 if the clock was set back to a time before this start. */
export function elapsedUs(nowUs: number, index: number, windowSeconds: number): number {
  return Math.max(0, nowUs - index * windowSeconds * US_PER_SECOND)
}

/** Estimates the number of requests in a sliding window: previous × (1 − elapsed / window) + current. */
export function estimateOf({ current, previous }: WindowCounts, elapsed: number, windowSeconds: number): number {
  return previous * (1 - elapsed / (windowSeconds * US_PER_SECOND)) + current
}

export function capacityOf({ limit, burst }: Limit): number {
  return limit + burst
}

/** Refills a token bucket with `limit` / `windowSeconds` tokens per second, up to its capacity. */
export function refilled(limit: Limit, tokens: number, passedUs: number): number {
  return Math.min(capacityOf(limit), tokens + (Math.max(0, passedUs) * limit.limit) / (limit.windowSeconds * US_PER_SECOND))
}

/**
 * Computes the status of a sliding window after a request.
 * @param counts the counts before this request
 * @param units how many requests this request counts as
 */
export function windowStatus(limit: Limit, counts: WindowCounts, nowUs: number, units: number): LimitStatus {
  const index = windowIndexAt(nowUs, limit.windowSeconds)
  const elapsed = elapsedUs(nowUs, index, limit.windowSeconds)
  const estimate = estimateOf(counts, elapsed, limit.windowSeconds)
  return {
    estimate,
    remaining: Math.max(0, Math.floor(limit.limit - estimate - units)),
    resetAt: (index + 1) * limit.windowSeconds,
    resetAfterSeconds: Math.ceil(limit.windowSeconds - elapsed / US_PER_SECOND),
    retryAfterSeconds: atLeastOne(limit.windowSeconds - elapsed / US_PER_SECOND),
  }
}

/**
 * Computes the status of a token bucket after a request.
 * @param tokens the tokens before this request
 * @param units how many requests this request counts as
 */
export function bucketStatus(limit: Limit, tokens: number, nowUs: number, units: number): LimitStatus {
  const perSecond = limit.limit / limit.windowSeconds
  const left = tokens < units ? tokens : tokens - units
  return {
    estimate: capacityOf(limit) - tokens,
    remaining: Math.max(0, Math.floor(tokens - units)),
    resetAt: Math.ceil(nowUs / US_PER_SECOND + (capacityOf(limit) - left) / perSecond),
    resetAfterSeconds: Math.ceil((capacityOf(limit) - left) / perSecond),
    retryAfterSeconds: atLeastOne((units - tokens) / perSecond),
  }
}

function atLeastOne(seconds: number): number {
  return Math.max(1, Math.ceil(seconds))
}
