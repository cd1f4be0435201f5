import type { Context, MiddlewareHandler } from 'hono'
import { type GivenRule, ruleOf } from '../../../schemas/limits/rule.ts'
import { clientAddress, LOOPBACK, limitedAddress, remoteAddress, trustedProxies } from '../../kit/client-address.ts'
import type { LimitedCaller } from '../../kit/limited-caller.ts'
import { RATE_LIMIT_EXCEEDED } from '../../kit/rate-limit-exceeded.ts'
import { type CounterStoreOptions, counterStore } from './counter-store.ts'
import { failOpenLimiter } from './fail-open-limiter.ts'
import { type FailedOpen, failOpenWarning } from './fail-open-warning.ts'
import { limiter, type RuleStatus } from './limiter.ts'
import { compileRules } from './matching.ts'
import { rateHeaders, refusalFields } from './rate-headers.ts'
import { type RedisClient, redisScripts } from './redis-scripts.ts'
import { DEFAULT_KEY_PREFIX } from './rule.ts'
import { sweptLeases } from './swept-leases.ts'

export interface RateLimitOptions {
  /** Made with `enableOfflineQueue: false`, so that commands fail at once while Redis is away. */
  readonly redis: RedisClient
  readonly rules: readonly GivenRule[]
  /** Who asks. Default: the address, X-Forwarded-For believed from `trustedProxies`. */
  callerOf?(c: Context): LimitedCaller
  /** Addresses and CIDR ranges. Default: loopback. */
  readonly trustedProxies?: readonly string[]
  /** Begins every counter's key: apps with rules of one name on one Redis count apart. Without braces. Default `limits`. */
  readonly keyPrefix?: string
  /** False: Redis is asked for every request. Default: hot counters are decided in memory, within 5 % of the limit. */
  readonly leases?: boolean
  /** Rules of action `log_only`, and refusals. */
  onViolation?(status: RuleStatus, caller: LimitedCaller): void
  /** Requests were let through because Redis did not answer: told with each failure. */
  onFailure?: CounterStoreOptions['onFailure']
  /** The same once a second at most, with their number. Default: a warning of the process. */
  warn?(said: FailedOpen): void
}

export interface RateLimit extends MiddlewareHandler {
  /** Gives back what is leased: before Redis is left. */
  close(): Promise<void>
}

const TIER = 'free'

/**
 * Rate limits for any Hono app. A request over its limit is answered 429; others get the rate-limit headers. When Redis does not answer
 * within 5 ms, or anything here throws, the request goes on. Preflights of browsers are not counted.
 */
export function rateLimit(options: RateLimitOptions): RateLimit {
  const { keyPrefix = DEFAULT_KEY_PREFIX } = options
  if (/[{}]/.test(keyPrefix)) throw new Error(`keyPrefix ${keyPrefix} has braces: they would be the hash tag of every counter`)
  const trusted = trustedProxies(options.trustedProxies ?? LOOPBACK)
  const table = compileRules(options.rules.map(ruleOf), keyPrefix)
  const scripts = redisScripts(options.redis)
  const monotonic = () => performance.now()
  const warning = failOpenWarning((said) => safely(() => (options.warn ?? processWarning)(said)))
  const store = counterStore({
    scripts,
    monotonic,
    onFailure(reason, cause) {
      warning.failed(reason, cause)
      safely(() => options.onFailure?.(reason, cause))
    },
  })
  const leases = options.leases === false ? undefined : sweptLeases({ store, monotonic })
  const limits = failOpenLimiter({
    limiter: limiter({ counters: leases ?? store, rules: () => table }),
    monotonic,
    telemetry: {
      decided: (verdict) => verdict.outcome === 'undecided' && warning.undecided(verdict.reason),
      failed: warning.failed,
      recordingFailed: (cause) => warning.failed('fault', cause),
    },
  })

  function byAddress(c: Context): LimitedCaller {
    const address = limitedAddress(clientAddress(remoteAddress(c), c.req.header('x-forwarded-for'), trusted))
    return { clientId: `ip:${address}`, tier: TIER, ip: address }
  }

  /** @returns undefined when it cannot be said: the request goes on */
  function whoAsks(c: Context): LimitedCaller | undefined {
    try {
      return (options.callerOf ?? byAddress)(c)
    } catch (error) {
      warning.failed('fault', error as Error)
      warning.undecided('fault')
      return undefined
    }
  }

  async function rateLimited(c: Context, next: () => Promise<void>) {
    const caller = isPreflight(c) ? undefined : whoAsks(c)
    if (caller === undefined) return await next()
    const verdict = await limits.decide({ method: c.req.method, path: c.req.path, caller })
    const headers = rateHeaders(verdict)
    if ('violations' in verdict) for (const status of verdict.violations) safely(() => options.onViolation?.(status, caller))
    if (verdict.outcome === 'refused') return c.json(refusalBody(c, verdict.strictest!), 429, headers)
    await next()
    // An answer of fetch() or Response.redirect() has headers that cannot be changed: this makes another one.
    for (const [name, value] of Object.entries(headers)) c.header(name, value)
  }

  /** What a callback throws is told and ends nothing. */
  function safely(tell: () => void): void {
    try {
      tell()
    } catch (error) {
      process.emitWarning(`A callback of rateLimit threw: ${(error as Error).message}`, WARNING)
    }
  }

  return Object.assign(rateLimited, { close: async () => await leases?.close() })
}

const WARNING = 'RateLimitWarning'

function processWarning({ requests, reason, cause }: FailedOpen): void {
  const why = cause === undefined ? reason : `${reason}: ${cause}`
  process.emitWarning(`${requests} requests were let through without being counted (${why})`, WARNING)
}

function isPreflight(c: Context): boolean {
  return c.req.method === 'OPTIONS' && c.req.header('access-control-request-method') !== undefined
}

/** The API's own error body. `request_id`: where the app has Hono's request-id middleware in front. */
function refusalBody(c: Context, status: RuleStatus) {
  const requestId: unknown = c.get('requestId')
  const { message } = RATE_LIMIT_EXCEEDED
  return {
    error: 'rate_limit_exceeded',
    message,
    ...(typeof requestId === 'string' && { request_id: requestId }),
    ...refusalFields(status),
  }
}
