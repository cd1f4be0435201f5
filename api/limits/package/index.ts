/** The public API of the package `millrace-rate-limits`. */
export type { GivenRule, LimitKeyPart, LimitRule } from '../../../schemas/limit-rule.ts'
export type { LimitedCaller } from '../../kit/limited-caller.ts'
export type { FailureReason } from '../core/counter.ts'
export type { FailedOpen, UndecidedReason } from '../core/fail-open-warning.ts'
export type { LimitStatus } from '../core/formulas.ts'
export type { RuleStatus } from '../core/limiter.ts'
export { type RateLimit, type RateLimitOptions, rateLimit } from '../core/middleware.ts'
export type { RedisClient } from '../core/redis-scripts.ts'
