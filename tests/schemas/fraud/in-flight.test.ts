import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ENTITY_KINDS, type EntityKind } from '../../../schemas/fraud/entity.ts'
import { entitiesOf, eventsOf } from '../../../schemas/fraud/events.ts'
import { type Enrichments, featuresOf } from '../../../schemas/fraud/features/features.ts'
import type { FraudFeatures, FraudRequest } from '../../../schemas/fraud/types.ts'
import '../../property-limit.ts'
import { DAY, lookedUp, NO_IP_FACTS, NOON, pay, profileOf } from './payments.ts'

/**
 * Where a transaction is stored: in the profile, in flight, or both. A transaction is in both places if a repeated
 * request has put it in flight again, and the sink has not removed it from there yet.
 */
const PLACES = ['profile', 'flight', 'both'] as const

const earlier = fc.array(
  fc.record({
    ago: fc.integer({ min: 0, max: 8 * DAY }),
    amount: fc.integer({ min: 1, max: 100_000 }),
    other: fc.integer({ min: 0, max: 3 }),
    where: fc.constantFrom(...PLACES),
  }),
  { maxLength: 60 },
)

function lookedUpFrom(now: FraudRequest, profile: readonly FraudRequest[], flight: readonly FraudRequest[]): Enrichments {
  const ids = entitiesOf(now)
  const found = {} as Record<EntityKind, Enrichments[EntityKind]>
  for (const kind of ENTITY_KINDS) {
    const id = ids[kind]
    if (id === null) continue
    const inFlight = flight.flatMap(eventsOf).filter((seen) => seen.kind === kind && seen.entityId === id)
    found[kind] = { profile: profileOf(kind, id, profile), inFlight: inFlight.map(({ event }) => event), inFlightSeconds: [] }
  }
  return found
}

/** Rounds numbers, because the last digits of the mean and the standard deviation depend on the order of additions. */
function rounded(features: FraudFeatures): Record<string, unknown> {
  const round = (value: unknown) => (typeof value === 'number' ? Number(value.toPrecision(9)) : value)
  return Object.fromEntries(Object.entries(features).map(([name, value]) => [name, round(value)]))
}

test('features do not depend on how far the profile lags behind', () => {
  fc.assert(
    fc.property(earlier, (made) => {
      const requests = made.map(({ ago, amount, other }, index) =>
        pay({
          id: `t${index}`,
          at: NOON - ago,
          amount: amount / 100,
          user: other === 1 ? 'u2' : 'u1',
          device: `d${other}`,
          card: other === 2 ? null : 'c1',
          merchant: `m${index % 3}`,
          place: [other * 10, index],
        }),
      )
      const now = pay({ id: 'now', user: 'u1', device: 'd0', card: 'c1', place: [0, 0] })
      // If a transaction is in both places, it is recognised as the same transaction only while the profile still lists
      // it individually.
      const whereOf = (index: number) => (made[index].where === 'both' && made[index].ago > DAY - 60_000 ? 'flight' : made[index].where)
      const inPlace = (...places: readonly (typeof PLACES)[number][]) => requests.filter((_, index) => places.includes(whereOf(index)))
      const lagging = lookedUpFrom(now, inPlace('profile', 'both'), [...inPlace('both', 'flight'), now])
      const { features } = featuresOf(now, NO_IP_FACTS, lagging)
      expect(rounded(features)).toEqual(rounded(featuresOf(now, NO_IP_FACTS, lookedUp(now, requests)).features))
    }),
    { numRuns: 200 },
  )
})
