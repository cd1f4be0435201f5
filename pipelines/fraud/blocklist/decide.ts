import type { BlocklistAnswer } from '../../../schemas/fraud/blocklist/flow.ts'
import type { FraudBlocklistCommand, FraudBlocklistEntry, FraudBlocklistRequest } from '../../../schemas/fraud/types.ts'
import type { CommandFacts, Decided } from '../../engine/index.ts'

type BlocklistDecision = Decided<FraudBlocklistEntry, BlocklistAnswer>

const HOUR_MS = 3_600_000

/** Decides a command about the blocklist entry of one entity. An expired entry counts as missing. */
export function decideBlocklist(
  stored: FraudBlocklistEntry | undefined,
  command: FraudBlocklistCommand,
  { key, now }: CommandFacts,
): BlocklistDecision {
  const active = stored !== undefined && !hasExpired(stored, now) ? stored : undefined
  switch (command.action) {
    case 'block': {
      const request = command.request!
      if (active !== undefined) return { answer: { outcome: isEqual(active, request) ? 'exists' : 'conflict', entry: active } }
      const entry = { entry_id: key, ...request, created_at: now, expires_at: endOf(request, now) }
      return { answer: { outcome: 'created', entry }, state: entry }
    }
    case 'change': {
      if (active === undefined) return { answer: { outcome: 'not_found' } }
      const request = command.request!
      const { reason, blocked_by, ttl_hours } = request
      const entry = { ...active, reason, blocked_by, ttl_hours, expires_at: endOf(request, now) }
      return { answer: { outcome: 'changed', entry }, state: entry }
    }
    case 'unblock':
      return active === undefined ? { answer: { outcome: 'not_found' } } : { answer: { outcome: 'removed', entry: active }, state: null }
  }
}

export function hasExpired({ expires_at }: FraudBlocklistEntry, now: number): boolean {
  return expires_at !== null && expires_at <= now
}

function endOf({ ttl_hours }: FraudBlocklistRequest, now: number): number | null {
  return ttl_hours === null ? null : now + ttl_hours * HOUR_MS
}

/**
 * Returns whether an entry has the values of a request. The entity is not compared, because entry and request have the
 * same key.
 */
function isEqual(entry: FraudBlocklistEntry, { reason, blocked_by, ttl_hours }: FraudBlocklistRequest): boolean {
  return entry.reason === reason && entry.blocked_by === blocked_by && entry.ttl_hours === ttl_hours
}
