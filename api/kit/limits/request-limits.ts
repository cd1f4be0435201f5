import { createHash } from 'node:crypto'
import { ApiError, errors } from '../errors.ts'
import { clientAddress, limitedAddress, type TrustedProxies } from './address.ts'
import type { Limiter, RuleStanding, Verdict } from './limiter.ts'
import { type RateHeaders, rateHeaders, refusalFields } from './rate-headers.ts'
import type { LimitedCaller } from './rule.ts'
import type { LimitWatch } from './watch.ts'

/** Whom an API key belongs to. */
export interface ApiClient {
  readonly clientId: string
  readonly keyId: string
  readonly tier: string
}

export interface ApiClients {
  /** @returns undefined: unknown or revoked. Throws while the clients are not read yet. */
  find(keyHash: string): ApiClient | undefined
}

/** What limits look at. */
export interface IncomingRequest {
  readonly method: string
  /** As the router reads it. */
  readonly path: string
  readonly apiKey: string | undefined
  readonly forwardedFor: string | undefined
  /** The socket's other end. */
  readonly remote: string | undefined
  /** The token's user, if it has one and is good. */
  readonly userId: string | undefined
  readonly scopes: ReadonlySet<string>
}

export interface Admission {
  readonly caller: LimitedCaller
  /** Go with the answer, whatever it is. */
  readonly headers: RateHeaders
  /** What to answer instead of doing the work. */
  readonly refusal: ApiError | undefined
}

/** The limits in front of the project's own routes. */
export interface RequestLimits {
  covers(path: string): boolean
  /** Never throws or rejects. */
  admit(request: IncomingRequest): Promise<Admission>
}

/** Told of every decision, for records and for later replays. */
export type DecisionListener = (request: IncomingRequest, caller: LimitedCaller, verdict: Verdict) => void

export interface RequestLimitsOptions {
  readonly limiter: Limiter
  readonly clients: ApiClients
  readonly trusted: TrustedProxies
  readonly watch: LimitWatch
  /** Monotonic ms. */
  monotonic(): number
  readonly onDecision?: DecisionListener
}

/** Specification G: every request to an address below it. */
export const LIMITED_PREFIX = '/api/v1/'
/** Whoever may change rules must be able to take back a wrong one; gateways ask for others here. */
const EXEMPT_PREFIX = '/api/v1/rate-limits/'
const EXEMPT_SCOPES = ['admin', 'internal']
const FREE_TIER = 'free'
/** Longer ones are no keys of ours. */
const MAX_KEY_CHARACTERS = 256
const NO_HEADERS: RateHeaders = {}

export function requestLimits({ limiter, clients, trusted, watch, monotonic, onDecision }: RequestLimitsOptions): RequestLimits {
  async function admit(request: IncomingRequest): Promise<Admission> {
    const { caller, isKeyRefused } = identify(request)
    const refusal = isKeyRefused ? new ApiError(errors.invalid_api_key) : undefined
    if (isExempt(request)) return { caller, headers: NO_HEADERS, refusal }
    const verdict = await decided(request, caller)
    const headers = rateHeaders(verdict)
    if (verdict.outcome === 'refused') return { caller, headers, refusal: tooMany(verdict.strictest!) }
    return { caller, headers, refusal }
  }

  /** A fault of the limiter must not be one of the request. */
  async function decided(request: IncomingRequest, caller: LimitedCaller): Promise<Verdict> {
    try {
      const startedAt = monotonic()
      const verdict = await limiter.decide({ method: request.method, path: request.path, caller })
      watch.decided(verdict, monotonic() - startedAt)
      onDecision?.(request, caller, verdict)
      return verdict
    } catch (error) {
      watch.failed('fault', error as Error)
      const verdict: Verdict = { outcome: 'undecided', reason: 'fault' }
      watch.decided(verdict, 0)
      return verdict
    }
  }

  /** A key that is not known is limited as its address: guessing must not be free. */
  function identify({ apiKey, userId, forwardedFor, remote }: IncomingRequest): { caller: LimitedCaller; isKeyRefused: boolean } {
    const ip = limitedAddress(clientAddress(remote, forwardedFor, trusted))
    const anonymous: LimitedCaller = { clientId: `ip:${ip}`, tier: FREE_TIER, ip }
    if (apiKey !== undefined) {
      const found = clientOf(apiKey)
      if (found === undefined) return { caller: anonymous, isKeyRefused: true }
      if (found !== NOT_READY) {
        const { clientId, tier, keyId } = found
        return { caller: { clientId, tier, apiKeyId: keyId, userId, ip }, isKeyRefused: false }
      }
    }
    if (userId === undefined) return { caller: anonymous, isKeyRefused: false }
    return { caller: { clientId: `user:${userId}`, tier: FREE_TIER, userId, ip }, isKeyRefused: false }
  }

  function clientOf(apiKey: string): ApiClient | undefined | typeof NOT_READY {
    if (apiKey.length > MAX_KEY_CHARACTERS) return undefined
    try {
      return clients.find(hashOfKey(apiKey))
    } catch {
      return NOT_READY
    }
  }

  return { covers: (path) => path.startsWith(LIMITED_PREFIX), admit }
}

const NOT_READY = Symbol('not ready')

/** Keys are kept as their SHA-256 alone. They are random, so that no salt or slow hash is needed. */
export function hashOfKey(apiKey: string): string {
  return createHash('sha256').update(apiKey).digest('hex')
}

function isExempt({ path, scopes }: IncomingRequest): boolean {
  return path.startsWith(EXEMPT_PREFIX) && EXEMPT_SCOPES.some((scope) => scopes.has(scope))
}

function tooMany(standing: RuleStanding): ApiError {
  const { retryAfterSeconds } = standing
  return new ApiError(errors.rate_limit_exceeded, { retryAfter: retryAfterSeconds, fields: refusalFields(standing) })
}
