import type { Context, MiddlewareHandler } from 'hono'
import type { Cluster, Redis } from 'ioredis'
import { type GivenRule, ruleOf } from '../../../schemas/limits/rule.ts'
import { clientAddress, LOOPBACK, limitedAddress, remoteAddress, trustedProxies } from './address.ts'
import { type CounterStoreOptions, counterStore } from './counter-store.ts'
import { limiter, type RuleStanding, type Verdict } from './limiter.ts'
import { compileRules } from './matching.ts'
import { rateHeaders, refusalFields } from './rate-headers.ts'
import { limiterRedis } from './redis-scripts.ts'
import type { LimitedCaller } from './rule.ts'

export interface RateLimitOptions {
  /** Made with `enableOfflineQueue: false`, so that commands fail at once while Redis is away. */
  readonly redis: Redis | Cluster
  readonly rules: readonly GivenRule[]
  /** Who asks. Default: the address, X-Forwarded-For believed from `trustedProxies`. */
  callerOf?(c: Context): LimitedCaller
  /** Addresses and CIDR ranges. Default: loopback. */
  readonly trustedProxies?: readonly string[]
  /** Rules of action `log_only`, and refusals. */
  onViolation?(standing: RuleStanding, caller: LimitedCaller): void
  /** Requests were let through because Redis did not answer. */
  onFailure?: CounterStoreOptions['onFailure']
}

const TIER = 'free'

/**
 * Rate limits for any Hono app. A request over its limit is answered 429; others get the rate-limit headers. When Redis does not answer
 * within 5 ms the request goes on.
 */
export function rateLimit(options: RateLimitOptions): MiddlewareHandler {
  const trusted = trustedProxies(options.trustedProxies ?? LOOPBACK)
  const table = compileRules(options.rules.map(ruleOf))
  const { scripts } = limiterRedis(options.redis)
  const counters = counterStore({ scripts, monotonic: () => performance.now(), onFailure: options.onFailure })
  const limits = limiter({ counters, rules: () => table })

  function byAddress(c: Context): LimitedCaller {
    const address = limitedAddress(clientAddress(remoteAddress(c), c.req.header('x-forwarded-for'), trusted))
    return { clientId: `ip:${address}`, tier: TIER, ip: address }
  }

  return async function rateLimited(c, next) {
    const caller = (options.callerOf ?? byAddress)(c)
    const verdict: Verdict = await limits.decide({ method: c.req.method, path: c.req.path, caller })
    const headers = rateHeaders(verdict)
    if ('violations' in verdict) for (const standing of verdict.violations) options.onViolation?.(standing, caller)
    if (verdict.outcome === 'refused') {
      return c.json({ error: 'rate_limit_exceeded', ...refusalFields(verdict.strictest!) }, 429, headers)
    }
    await next()
    for (const [name, value] of Object.entries(headers)) c.res.headers.set(name, value)
  }
}
