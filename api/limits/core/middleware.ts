import type { Context, MiddlewareHandler } from 'hono'
import { type GivenRule, LIMIT_KEY_PARTS, type LimitRule, ruleOf } from '../../../schemas/limit-rule.ts'
import { addressRanges, clientAddress, LOOPBACK, limitedAddress, remoteAddress } from '../../kit/client-address.ts'
import type { LimitedCaller } from '../../kit/limited-caller.ts'
import { RATE_LIMIT_EXCEEDED } from '../../kit/rate-limit-exceeded.ts'
import { type CounterStoreOptions, counterStore } from './counter-store.ts'
import { parsePattern } from './endpoint-pattern.ts'
import { failOpenLimiter } from './fail-open-limiter.ts'
import { type FailedOpen, failOpenWarning, withoutStore } from './fail-open-warning.ts'
import { limiter, type RuleStatus } from './limiter.ts'
import { compileRules } from './matching.ts'
import { normalisedPath, normalisedPattern } from './normalised-path.ts'
import { ownCounts } from './own-counts.ts'
import { rateHeaders, refusalFields } from './rate-headers.ts'
import { type RedisClient, redisScripts } from './redis-scripts.ts'
import { DEFAULT_KEY_PREFIX } from './rule.ts'
import { sweptLeases } from './swept-leases.ts'

export interface RateLimitOptions {
  /**
   * An ioredis client, `Redis` or `Cluster`. Create it with `enableOfflineQueue: false`, so that commands fail
   * immediately while Redis is unreachable.
   */
  readonly redis: RedisClient
  readonly rules: readonly GivenRule[]
  /**
   * Identifies the caller of a request.
   * @default the client's address, or its /64 for IPv6. `X-Forwarded-For` is used if it comes from `trustedProxies`.
   */
  callerOf?(c: Context): LimitedCaller | Promise<LimitedCaller>
  /**
   * Addresses and CIDR ranges of the proxies whose `X-Forwarded-For` is trusted.
   * @default loopback
   */
  readonly trustedProxies?: readonly string[]
  /**
   * Prefix of the key of every counter. Different prefixes keep apps that use the same rule ids and the same Redis from
   * sharing counters. A prefix must not contain braces.
   * @default 'limits'
   */
  readonly keyPrefix?: string
  /**
   * Whether requests that use hot counters are decided in memory. If so, the number of admitted requests may deviate
   * from a limit by up to 5 %. If false, the limiter asks Redis for every request.
   * @default true
   */
  readonly leases?: boolean
  /** Called for each rule with too few units left for a request, whether the rule refuses the request or only logs. */
  onViolation?(status: RuleStatus, caller: LimitedCaller): void
  /**
   * Called when a query to Redis fails or is late, unless it only returned units. This process then decides with its
   * own counts.
   */
  onFailure?: CounterStoreOptions['onFailure']
  /**
   * Called at most once a second while Redis does not decide, with the number of requests that Redis has not decided
   * since the last call.
   * @default emits a process warning
   */
  warn?(warning: FailedOpen): void
}

export interface RateLimit extends MiddlewareHandler {
  /** Returns leased units to Redis. Call it before you close the Redis client. */
  close(): Promise<void>
}

const TIER = 'free'
/**
 * Maximum length of a window, about 285 years. In µs, a longer window may exceed the safe integers. Redis also refuses
 * the expiry of far longer windows.
 */
const MAX_WINDOW_SECONDS = 9_000_000_000
const ACTIONS: readonly LimitRule['action'][] = ['reject', 'log_only']
const WARNING = 'RateLimitWarning'

/**
 * Creates a middleware that limits the request rates of a Hono app. A request over its limit gets a 429. If a rule that
 * rejects applies to a request, the response gets the rate-limit headers. If Redis does not respond within 5 ms, this
 * process falls back to its own counts. If the limiter fails, or `callerOf` throws or rejects, the request proceeds.
 * Preflight requests of browsers are not counted.
 * @throws Error that names a rule that is not valid. Such a rule would never apply, would fail for every request, or
 * would share its counters with another rule. Also throws Error if `keyPrefix` contains braces or a trusted proxy is
 * neither an address nor a CIDR range.
 */
export function rateLimit(options: RateLimitOptions): RateLimit {
  const { keyPrefix = DEFAULT_KEY_PREFIX } = options
  if (/[{}]/.test(keyPrefix))
    throw new Error(`keyPrefix ${keyPrefix} contains braces; their contents would become the hash tag of every counter`)
  const trusted = addressRanges(options.trustedProxies ?? LOOPBACK)
  const rules = options.rules.map(ruleOf)
  assertValid(rules)
  const table = compileRules(rules.map(withNormalisedPattern), keyPrefix)
  const scripts = redisScripts(options.redis)
  const monotonic = () => performance.now()
  const warning = failOpenWarning((failedOpen) => safely(() => (options.warn ?? processWarning)(failedOpen)))
  const own = ownCounts({ now: Date.now, monotonic })
  const store = counterStore({
    scripts,
    monotonic,
    own,
    onFailure(reason, cause) {
      warning.failed(reason, cause)
      safely(() => options.onFailure?.(reason, cause))
    },
  })
  const leases = options.leases === false ? undefined : sweptLeases({ store, monotonic })
  const limits = failOpenLimiter({
    limiter: limiter({ counters: leases ?? store, rules: () => table, own }),
    monotonic,
    observer: {
      decided(verdict) {
        const reason = verdict.outcome === 'undecided' ? verdict.reason : withoutStore(verdict)
        if (reason !== undefined) warning.undecided(reason)
      },
      failed: warning.failed,
      recordingFailed: (cause) => warning.failed('fault', cause),
    },
  })

  function byAddress(c: Context): LimitedCaller {
    const address = limitedAddress(clientAddress(remoteAddress(c), c.req.header('x-forwarded-for'), trusted))
    return { clientId: `ip:${address}`, tier: TIER, ip: address }
  }

  /**
   * Identifies the caller.
   * @returns undefined if `callerOf` throws or rejects. The request then proceeds.
   */
  async function callerOf(c: Context): Promise<LimitedCaller | undefined> {
    try {
      return await (options.callerOf ?? byAddress)(c)
    } catch (error) {
      warning.failed('fault', error as Error)
      warning.undecided('fault')
      return undefined
    }
  }

  async function rateLimited(c: Context, next: () => Promise<void>) {
    const caller = isPreflight(c) ? undefined : await callerOf(c)
    if (caller === undefined) return await next()
    const verdict = await limits.decide({ method: c.req.method, path: normalisedPath(c.req.path), caller })
    const headers = rateHeaders(verdict)
    if ('violations' in verdict) for (const status of verdict.violations) safely(() => options.onViolation?.(status, caller))
    if (verdict.outcome === 'refused') return c.json(refusalBody(c, verdict.strictest!), 429, headers)
    await next()
    // The headers of a response from fetch() or Response.redirect() are immutable. c.header() works nevertheless,
    // because it replaces the response with a copy.
    for (const [name, value] of Object.entries(headers)) c.header(name, value)
  }

  return Object.assign(rateLimited, { close: async () => await leases?.close() })
}

function assertValid(rules: readonly LimitRule[]): void {
  const ids = new Set<string>()
  // Programs in JavaScript have no types, so a field may be missing or misspelt.
  for (const { rule_id, endpoint_pattern, limit_count, window_seconds, burst_allowance, key, action } of rules) {
    const fault = (text: string) => new Error(`rate limit rule ${rule_id}: ${text}`)
    if (typeof rule_id !== 'string' || rule_id === '') throw fault('rule_id must be a non-empty string')
    const pattern = parsePattern(endpoint_pattern)
    if (pattern === undefined) throw fault(`${endpoint_pattern} is not /exact/path, /a/prefix/* or *, optionally after a method: POST /a/*`)
    if (pattern.method === 'HEAD') throw fault('a HEAD counts as a GET, so the pattern must name GET')
    if (!isCount(limit_count, 1)) throw fault('limit_count must be a whole number of at least 1')
    if (!isCount(window_seconds, 1) || window_seconds > MAX_WINDOW_SECONDS)
      throw fault(`window_seconds must be a whole number from 1 to ${MAX_WINDOW_SECONDS}`)
    if (!isCount(burst_allowance, 0)) throw fault('burst_allowance must be a whole number of at least 0')
    // If the key were empty, or one of its parts misspelt, all callers would share a counter.
    if (!Array.isArray(key) || key.length === 0 || !key.every((part) => LIMIT_KEY_PARTS.includes(part)))
      throw fault(`key must list parts of ${LIMIT_KEY_PARTS.join(', ')}`)
    if (!ACTIONS.includes(action)) throw fault(`action must be one of ${ACTIONS.join(', ')}`)
    if (ids.has(rule_id)) throw fault('another rule has the same rule_id, so the two would share their counters')
    ids.add(rule_id)
  }
}

function withNormalisedPattern(rule: LimitRule): LimitRule {
  return { ...rule, endpoint_pattern: normalisedPattern(rule.endpoint_pattern) }
}

function isCount(value: number, least: number): boolean {
  return Number.isSafeInteger(value) && value >= least
}

/**
 * Runs a callback of the app, which may be an async function. If the callback throws or rejects, the process emits a
 * warning and the request is unaffected.
 */
function safely(callback: () => unknown): void {
  try {
    Promise.resolve(callback()).catch(callbackFailed)
  } catch (error) {
    callbackFailed(error)
  }
}

function callbackFailed(error: unknown): void {
  process.emitWarning(`A callback of rateLimit threw: ${error instanceof Error ? error.message : error}`, WARNING)
}

function processWarning({ requests, reason, cause }: FailedOpen): void {
  const why = cause === undefined ? reason : `${reason}: ${cause}`
  const what = requests === 1 ? '1 request was' : `${requests} requests were`
  process.emitWarning(`${what} decided without Redis (${why})`, WARNING)
}

function isPreflight(c: Context): boolean {
  return c.req.method === 'OPTIONS' && c.req.header('access-control-request-method') !== undefined
}

/**
 * Creates an error body in the format of the API. The body has a `request_id` if the app uses Hono's request-id
 * middleware before this middleware.
 */
function refusalBody(c: Context, status: RuleStatus) {
  const requestId: unknown = c.get('requestId')
  return {
    error: 'rate_limit_exceeded',
    message: RATE_LIMIT_EXCEEDED.message,
    ...(typeof requestId === 'string' && { request_id: requestId }),
    ...refusalFields(status),
  }
}
