import type { EntityKind } from '../../../schemas/fraud/entity.ts'
import type { FraudEvent } from '../../../schemas/fraud/event.ts'
import { eventsOf } from '../../../schemas/fraud/events.ts'
import type { FraudRequest } from '../../../schemas/fraud/types.ts'

/** The expected contents of a profile, computed from a list of all transactions. */
export interface NaiveProfile {
  within(t: number, windowMs: number): { count: number; units: number }
  distinct(kind: EntityKind, t: number, windowMs: number): number
  lastBefore(t: number): number | undefined
  readonly mean: number
  readonly deviation: number
}

export function naiveProfile(kind: EntityKind, entityId: string, requests: readonly FraudRequest[]): NaiveProfile {
  const events: FraudEvent[] = requests
    .flatMap(eventsOf)
    .flatMap((seen) => (seen.kind === kind && seen.entityId === entityId ? [seen.event] : []))
  const window = (t: number, windowMs: number) => events.filter(({ at }) => at > t - windowMs && at <= t)
  const amounts = events.map(({ units }) => units / 10_000)
  const mean = amounts.reduce((sum, amount) => sum + amount, 0) / amounts.length
  const squares = amounts.reduce((sum, amount) => sum + (amount - mean) ** 2, 0)
  return {
    within: (t, windowMs) => ({
      count: window(t, windowMs).length,
      units: window(t, windowMs).reduce((sum, { units }) => sum + units, 0),
    }),
    distinct: (other, t, windowMs) => new Set(window(t, windowMs).flatMap((event) => event[other] ?? [])).size,
    lastBefore: (t) => events.reduce<number | undefined>((last, { at }) => (at <= t && at > (last ?? -1) ? at : last), undefined),
    mean,
    deviation: Math.sqrt(squares / (amounts.length - 1)),
  }
}
