import { isIP } from 'node:net'
import { ApiError, errors } from '../kit/errors.ts'
import { limitedAddress } from '../kit/limits/address.ts'
import type { Limiter, Verdict } from '../kit/limits/limiter.ts'
import { rateHeaders } from '../kit/limits/rate-headers.ts'
import { hashOfKey } from '../kit/limits/request-limits.ts'
import type { LimitedCaller } from '../kit/limits/rule.ts'
import type { LimitSettings } from '../kit/limits/settings.ts'
import type { CheckInput } from './model.ts'

const FREE_TIER = 'free'
const NO_ADDRESS = ''
const REASONS = { unlimited: 'no_rule', undecided: 'limiter_unavailable', allowed: 'within_limits', refused: 'over_limit' } as const

/** Decides for another gateway what this one would decide for its own routes. */
export async function checkFor(input: CheckInput, limiter: Limiter, settings: LimitSettings) {
  const caller = callerOf(input, settings)
  if (caller === undefined) {
    return { allowed: false, reason: 'invalid_api_key', client_id: '', rule_id: null, headers: {}, violations: [] }
  }
  const { method, path, cost } = input
  const verdict: Verdict = await limiter.decide({ method, path, caller, cost })
  const isDecided = 'violations' in verdict
  return {
    allowed: verdict.outcome !== 'refused',
    reason: REASONS[verdict.outcome],
    client_id: caller.clientId,
    rule_id: isDecided ? (verdict.strictest?.rule.rule_id ?? null) : null,
    headers: rateHeaders(verdict),
    violations: isDecided ? verdict.violations.map(({ rule }) => rule.rule_id) : [],
  }
}

/** @returns undefined: the key is unknown or revoked */
function callerOf({ api_key, user_id, ip: given }: CheckInput, settings: LimitSettings): LimitedCaller | undefined {
  if (given !== undefined && isIP(given) === 0) {
    throw new ApiError(errors.invalid_request, { details: [{ path: 'body.ip', message: 'must be an IPv4 or IPv6 address' }] })
  }
  const ip = given === undefined ? NO_ADDRESS : limitedAddress(given)
  if (api_key !== undefined) {
    const client = settings.clients.find(hashOfKey(api_key))
    if (client === undefined) return undefined
    return { clientId: client.clientId, tier: client.tier, apiKeyId: client.keyId, userId: user_id, ip }
  }
  if (user_id !== undefined) return { clientId: `user:${user_id}`, tier: FREE_TIER, userId: user_id, ip }
  return { clientId: `ip:${ip}`, tier: FREE_TIER, ip }
}
