import { decay, HALF_LIFE_MS } from '../../../schemas/recommendations/signals/half-lives.ts'
import { ALL_USERS, ageGroup, countryGroup } from '../../../schemas/recommendations/signals/trend-groups.ts'
import type { ItemEvent, TrendEvents } from '../../../schemas/recommendations/types.ts'

const HALF_LIFE = HALF_LIFE_MS.trending

/** Adds up the events of an item for each group of users. Events without a positive weight are ignored. */
export function byGroup(itemId: bigint, events: readonly ItemEvent[]): Map<string, TrendEvents> {
  const at = events.reduce((newest, event) => Math.max(newest, event.at), 0)
  const groups = new Map<string, TrendEvents>()

  function add(group: string, weight: number, share: number): void {
    const known = groups.get(group) ?? { item_id: itemId, at, weight: 0, events: 0 }
    known.weight += weight * share
    known.events += share
    groups.set(group, known)
  }

  for (const { at: eventAt, weight, country, age_bucket } of events) {
    if (weight <= 0) continue
    const share = decay(at - eventAt, HALF_LIFE)
    // The weight of an event that is more than about nine months older than the newest one is rounded to 0. The
    // logarithm of a group with only such events would be -Infinity, and adding another such event would make it NaN
    // permanently.
    if (weight * share === 0) continue
    add(ALL_USERS, weight, share)
    if (country !== null) add(countryGroup(country), weight, share)
    if (age_bucket !== null) add(ageGroup(age_bucket), weight, share)
  }
  return groups
}

/**
 * Adds an amount to an exponentially decayed sum. The sum is stored as a log2 that is relative to the epoch, so the
 * stored value does not change as time passes and never overflows.
 */
export function addToLog(log: number | undefined, amount: number, at: number): number {
  const added = Math.log2(amount) + at / HALF_LIFE
  if (log === undefined) return added
  const [low, high] = log < added ? [log, added] : [added, log]
  return high + Math.log2(1 + 2 ** (low - high))
}

/** Returns the decayed sum at a given time. */
export function amountOf(log: number, at: number): number {
  return 2 ** (log - at / HALF_LIFE)
}
