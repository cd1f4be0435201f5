import { isIP } from 'node:net'
import { ANY_TIER } from '../../schemas/limit-rule.ts'
import type { LimitRule } from '../../schemas/limits/types.ts'
import { limitedAddress } from '../kit/client-address.ts'
import { ApiError, errors } from '../kit/errors.ts'
import type { LimitedCaller } from '../kit/limited-caller.ts'
import { isoTime, LAST_TIME_MS } from '../kit/times.ts'
import type { Counter, CounterStore, Reading } from './core/counter.ts'
import { statusOf } from './core/limiter.ts'
import { compileRule } from './core/rule.ts'
import type { LimitSettings } from './core/settings.ts'
import { limitsErrors } from './errors.ts'

export interface UsageDeps {
  readonly settings: LimitSettings
  /** The store without leases. Its counts treat leased units as used, even if they are not spent yet. */
  readonly counters: CounterStore
  /** Resets counters in Redis and in this process. */
  forget(keys: readonly string[]): Promise<void>
  /** Whether IPv6 addresses are counted by /48, because the memory of the counters is almost full. */
  isMemoryShort(): boolean
}

/** Maximum number of counters in one read. */
const PEEKED_TOGETHER = 100
const MS_PER_SECOND = 1_000
const FREE_TIER = 'free'
const NO_ADDRESS = ''
const USER = 'user:'
const CERTIFICATE = 'certificate:'
const ADDRESS = 'ip:'

/**
 * Normalises a client id in the same way as the counters: all addresses of an IPv6 /64 are one client.
 * @param isWide whether the counters treat all addresses of a /48 as one client
 */
export function limitedClientId(clientId: string, isWide: boolean): string {
  if (!clientId.startsWith(ADDRESS)) return clientId
  const address = clientId.slice(ADDRESS.length)
  return isIP(address) === 0 ? clientId : ADDRESS + limitedAddress(address, isWide)
}

export function usage({ settings, counters, forget, isMemoryShort }: UsageDeps) {
  /**
   * Returns the callers that belong to a client. Each API key of a client is a separate caller. Throws
   * `client_not_found`.
   */
  function callersOf(clientId: string): LimitedCaller[] {
    if (clientId.startsWith(USER)) return [{ clientId, tier: FREE_TIER, userId: clientId.slice(USER.length), ip: NO_ADDRESS }]
    if (clientId.startsWith(CERTIFICATE)) {
      return [{ clientId, tier: FREE_TIER, certificate: clientId.slice(CERTIFICATE.length), ip: NO_ADDRESS }]
    }
    if (clientId.startsWith(ADDRESS)) {
      const limitedId = limitedClientId(clientId, isMemoryShort())
      return [{ clientId: limitedId, tier: FREE_TIER, ip: limitedId.slice(ADDRESS.length) }]
    }
    const keys = settings.allClients().filter((key) => key.client_id === clientId)
    if (keys.length === 0) throw new ApiError(limitsErrors.client_not_found)
    return keys.map(({ key_id, tier }) => ({ clientId, tier, apiKeyId: key_id, ip: NO_ADDRESS }))
  }

  /** Returns the counters that count only requests of this client. */
  function countersOf(clientId: string, rules: readonly LimitRule[]): { rule: LimitRule; counter: Counter }[] {
    const found = new Map<string, { rule: LimitRule; counter: Counter }>()
    const callers = callersOf(clientId)
    for (const rule of rules) {
      const { appliesTo, counterFor } = compileRule(rule)
      for (const caller of callers) {
        const isOwn = rule.key.some((part) => part !== 'endpoint') && (!rule.key.includes('ip') || caller.ip !== NO_ADDRESS)
        if (!isOwn || (rule.tier !== ANY_TIER && rule.tier !== caller.tier)) continue
        if (!appliesTo(caller)) continue
        const counter = counterFor(caller)
        found.set(counter.key, { rule, counter })
      }
    }
    return [...found.values()]
  }

  async function peek(watched: readonly { counter: Counter }[]): Promise<Reading[]> {
    const readings: Reading[] = []
    for (let from = 0; from < watched.length; from += PEEKED_TOGETHER) {
      const asks = watched.slice(from, from + PEEKED_TOGETHER).map(({ counter }) => ({ mode: 'soft' as const, counter, units: 0 }))
      const outcome = await counters.decide(asks)
      if ('undecided' in outcome) throw new ApiError(errors.unavailable, { message: 'The counters cannot be read now. Try again shortly.' })
      readings.push(...outcome)
    }
    return readings
  }

  return {
    async read(clientId: string) {
      const watched = countersOf(
        clientId,
        settings.allRules().filter((rule) => rule.is_active),
      )
      const readings = await peek(watched)
      const rules = watched.map(({ rule, counter }, index) => {
        const { estimate, resetAt } = statusOf(counter.limit, readings[index], 0)
        // A bucket with a huge burst and few requests per year is full only after the latest time that a Date can
        // represent.
        const window_resets_at = isoTime(Math.min(resetAt * MS_PER_SECOND, LAST_TIME_MS))
        return { rule_id: rule.rule_id, limit: rule.limit_count, current: Math.ceil(estimate), window_resets_at }
      })
      return { client_id: clientId, rules }
    },
    async reset(clientId: string) {
      const keys = countersOf(clientId, settings.allRules()).map(({ counter }) => counter.key)
      try {
        await forget(keys)
      } catch (cause) {
        throw new ApiError(errors.unavailable, { message: 'Some counters may not have been reset. Try again shortly.', cause })
      }
    },
  }
}
