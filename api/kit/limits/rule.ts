import type { LimitKeyPart, LimitRule } from '../../../schemas/types.ts'

/** Who asks. */
export interface LimitedCaller {
  /** The client of the API key, `user:<id>` or `ip:<address>`. */
  readonly clientId: string
  readonly tier: string
  /** Identifies the API key without being it. */
  readonly apiKeyId?: string
  readonly userId?: string
  /** As `limitedAddress` gives it. */
  readonly ip: string
}

/** A rule by address is for callers who are known by nothing else. */
export function appliesTo(key: readonly LimitKeyPart[], caller: LimitedCaller): boolean {
  if (key.includes('api_key') && caller.apiKeyId === undefined) return false
  if (key.includes('user') && caller.userId === undefined) return false
  const isByAddress = key.includes('ip') && !key.some((part) => part === 'client' || part === 'user' || part === 'api_key')
  return !isByAddress || (caller.apiKeyId === undefined && caller.userId === undefined)
}

/** What one counter of a rule is kept by. `endpoint` is the rule's own pattern: one counter for all paths that it matches. */
export function identityFor(rule: LimitRule, caller: LimitedCaller): string {
  const parts: string[] = []
  if (rule.key.includes('client')) parts.push(caller.clientId)
  if (rule.key.includes('api_key')) parts.push(`key:${caller.apiKeyId}`)
  if (rule.key.includes('user')) parts.push(`user:${caller.userId}`)
  if (rule.key.includes('ip')) parts.push(`ip:${caller.ip}`)
  return parts.length === 0 ? `rule:${rule.rule_id}` : parts.join('|')
}
