import { clientAddress, limitedAddress, type TrustedProxies } from '../../kit/client-address.ts'
import { ApiError, errors } from '../../kit/errors.ts'
import type { Admission, IncomingRequest, RequestLimits } from '../../kit/rate-limits.ts'
import { type ApiClients, callerOf } from './caller.ts'
import type { LimitedPaths } from './limited-paths.ts'
import type { Limiter, RuleStatus } from './limiter.ts'
import { normalisedPath } from './normalised-path.ts'
import { type RateHeaders, rateHeaders, refusalFields } from './rate-headers.ts'

export interface RequestLimitsOptions {
  /** The limiter. It must fail open, as `failOpenLimiter` does. */
  readonly limiter: Limiter
  readonly clients: ApiClients
  readonly trusted: TrustedProxies
  readonly paths: LimitedPaths
  /** Whether the memory of the counters is almost full. While it is, IPv6 addresses are counted by /48. */
  isMemoryShort(): boolean
}

/**
 * Administrators and gateways are not limited on paths with this prefix. Administrators must be able to undo a wrong
 * rule, and gateways send requests on behalf of many callers.
 */
const EXEMPT_PREFIX = '/api/v1/rate-limits/'
const EXEMPT_SCOPES = ['admin', 'internal']
const NO_HEADERS: RateHeaders = {}

export function requestLimits({ limiter, clients, trusted, paths, isMemoryShort }: RequestLimitsOptions): RequestLimits {
  async function admit(request: IncomingRequest): Promise<Admission> {
    const { method, path, apiKey, userId, certificate, forwardedFor, remote, units } = request
    const ip = limitedAddress(clientAddress(remote, forwardedFor, trusted), isMemoryShort())
    const { caller, isKeyRefused } = callerOf({ apiKey, userId, certificate, ip }, clients)
    const refusal = isKeyRefused ? new ApiError(errors.invalid_api_key) : undefined
    if (isExempt(request)) return { caller, headers: NO_HEADERS, refusal }
    const verdict = await limiter.decide({ method, path: normalisedPath(path), caller, cost: units })
    const headers = rateHeaders(verdict)
    if (verdict.outcome === 'refused') return { caller, headers, refusal: tooMany(verdict.strictest!, units) }
    return { caller, headers, refusal }
  }

  return { covers: paths.covers, addRoute: paths.addRoute, admit }
}

function isExempt({ path, scopes }: IncomingRequest): boolean {
  return path.startsWith(EXEMPT_PREFIX) && EXEMPT_SCOPES.some((scope) => scopes.has(scope))
}

function tooMany(status: RuleStatus, units = 1): ApiError {
  const { rule, retryAfterSeconds } = status
  const capacity = rule.limit_count + rule.burst_allowance
  // The first request of a bulk request was counted before its body was read, so `units` counts only
  // the others.
  const isTooLarge = units > 1 && units >= capacity
  const message = isTooLarge
    ? `This request counts as ${units + 1} requests, but the limit never allows more than ${capacity} at once. Send it in smaller parts.`
    : undefined
  return new ApiError(errors.rate_limit_exceeded, { message, retryAfter: retryAfterSeconds, fields: refusalFields(status) })
}
