import type { LimitKeyPart, LimitRule } from '../../../schemas/limit-rule.ts'
import type { LimitedCaller } from '../../kit/limited-caller.ts'
import type { Counter } from './counter.ts'
import type { Limit } from './formulas.ts'

/** A rule with precomputed functions for deciding requests. */
export interface CompiledRule {
  readonly rule: LimitRule
  readonly limit: Limit
  /** A name for the rule's key. Rules whose keys have the same parts have the same name. */
  readonly keyName: string
  /**
   * Returns whether the rule's key applies to a caller. A key with `api_key` applies only to callers with an API key,
   * and a key with `user` only to callers with a user. The key `ip`, alone or with `endpoint`, applies only to callers
   * with no API key, no user and no client certificate.
   */
  appliesTo(caller: LimitedCaller): boolean
  /**
   * Returns the text that identifies one counter of the rule. `endpoint` adds nothing to it, because all paths that
   * match the rule's pattern share a counter.
   */
  identityOf(caller: LimitedCaller): string
  /**
   * Returns a caller's counter, with a key such as `limits:{user:42}:rule-1:w60`. The key contains the algorithm and
   * the window, because a counter cannot be reused after either has changed.
   */
  counterFor(caller: LimitedCaller): Counter
}

type IdentityPart = (caller: LimitedCaller) => string

const IDENTITY_PARTS: readonly (readonly [LimitKeyPart, IdentityPart])[] = [
  ['client', ({ clientId }) => clientId],
  ['api_key', ({ apiKeyId }) => `key:${apiKeyId}`],
  ['user', ({ userId }) => `user:${userId}`],
  ['ip', ({ ip }) => `ip:${ip}`],
]

export const DEFAULT_KEY_PREFIX = 'limits'
/**
 * The tag of callers with an empty id. Redis ignores empty tags, so every key with `{}` would be in a slot of its own.
 */
const NOBODY = '%00'

export function compileRule(rule: LimitRule, keyPrefix: string = DEFAULT_KEY_PREFIX): CompiledRule {
  const { key, rule_id, limit_count, window_seconds, burst_allowance } = rule
  const limit = { limit: limit_count, windowSeconds: window_seconds, burst: burst_allowance }
  const needsKey = key.includes('api_key')
  const needsUser = key.includes('user')
  const isByAddress = key.includes('ip') && !key.some((part) => part === 'client' || part === 'user' || part === 'api_key')
  const identityOf = identityBy(key, rule_id)
  const prefix = `${keyPrefix}:{`
  const suffix = `}:${rule_id}:${burst_allowance > 0 ? 'b' : 'w'}${window_seconds}`

  return {
    rule,
    limit,
    keyName: [...new Set(key)].sort().join('+'),
    appliesTo({ apiKeyId, userId, certificate }) {
      if (needsKey && apiKeyId === undefined) return false
      if (needsUser && userId === undefined) return false
      return !isByAddress || (apiKeyId === undefined && userId === undefined && certificate === undefined)
    },
    identityOf,
    counterFor(caller) {
      const tag = withoutBraces(identityOf(caller)) || NOBODY
      return { key: `${prefix}${tag}${suffix}`, tag, limit }
    },
  }
}

function identityBy(key: readonly LimitKeyPart[], ruleId: string): IdentityPart {
  const parts = IDENTITY_PARTS.flatMap(([name, part]) => (key.includes(name) ? [part] : []))
  const whole = `rule:${ruleId}`
  if (parts.length === 0) return () => whole
  return parts.length === 1 ? parts[0] : (caller) => parts.map((part) => part(caller)).join('|')
}

/** Replaces braces in an identity, because Redis ends a hash tag at the first closing brace. */
function withoutBraces(identity: string): string {
  if (!identity.includes('{') && !identity.includes('}')) return identity
  return identity.replaceAll('{', '%7B').replaceAll('}', '%7D')
}
