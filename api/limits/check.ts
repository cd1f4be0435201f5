import { isIP } from 'node:net'
import { limitedAddress } from '../kit/client-address.ts'
import { invalidRequest } from '../kit/errors.ts'
import { type ApiClients, callerOf } from './core/caller.ts'
import type { FailOpenLimiter } from './core/fail-open-limiter.ts'
import type { Verdict } from './core/limiter.ts'
import { normalisedPath } from './core/normalised-path.ts'
import { rateHeaders } from './core/rate-headers.ts'
import type { CheckInput } from './model.ts'

/** Address that is used if a gateway sends no address. */
const NO_ADDRESS = ''
const REASONS = { unlimited: 'no_rule', undecided: 'limiter_unavailable', allowed: 'within_limits', refused: 'over_limit' } as const

/**
 * Decides whether a request to another gateway is allowed. The rules are the same as for requests to this API.
 * @param isMemoryShort returns whether Redis is almost full, so that IPv6 addresses must be counted by /48
 */
export async function checkFor(input: CheckInput, limiter: FailOpenLimiter, clients: ApiClients, isMemoryShort: () => boolean) {
  const { method, cost, api_key: apiKey, user_id: userId } = input
  const path = normalisedPath(withoutQuery(input.path))
  const ip = addressOf(input, isMemoryShort())
  const { caller, isKeyRefused, areKeysLoading } = callerOf({ apiKey, userId, ip }, clients)
  // While the keys are being loaded, callers that are identified only by a key must not share one counter.
  const isNobody = areKeysLoading && userId === undefined && ip === NO_ADDRESS
  const verdict: Verdict = isNobody ? limiter.allowUnidentified() : await limiter.decide({ method, path, caller, cost })
  const isDecided = 'violations' in verdict
  const isWithin = verdict.outcome !== 'refused'
  return {
    allowed: isWithin && !isKeyRefused,
    reason: isWithin && isKeyRefused ? ('invalid_api_key' as const) : reasonOf(verdict),
    client_id: isKeyRefused || isNobody ? '' : caller.clientId,
    rule_id: isDecided ? (verdict.strictest?.rule.rule_id ?? null) : null,
    headers: rateHeaders(verdict),
    violations: isDecided ? verdict.violations.map(({ rule }) => rule.rule_id) : [],
  }
}

/**
 * Returns the `reason` for a verdict. If a request is allowed only by this instance's own counts, the reason is
 * `limiter_unavailable` instead of `within_limits`, because these counts may lack requests to other instances.
 */
function reasonOf(verdict: Verdict) {
  const isAlone = verdict.outcome === 'allowed' && verdict.withoutStore !== undefined
  return isAlone ? REASONS.undecided : REASONS[verdict.outcome]
}

/**
 * Removes the query and the fragment, because many gateways send a query as part of the path. With a query, a request
 * would bypass the rule for its exact path.
 */
function withoutQuery(target: string): string {
  const end = target.search(/[?#]/)
  return end < 0 ? target : target.slice(0, end)
}

function addressOf({ ip }: CheckInput, isWide: boolean): string {
  if (ip === undefined) return NO_ADDRESS
  if (isIP(ip) !== 0) return limitedAddress(ip, isWide)
  throw invalidRequest('body.ip', 'must be an IPv4 or IPv6 address')
}
