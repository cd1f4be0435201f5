import { ENTITY_KINDS } from '../entity.ts'
import type { FraudEvent } from '../event.ts'
import { USD_PER_UNIT } from '../money.ts'
import type { FraudProfile } from '../types.ts'
import { EVENT_BYTES, eventId, eventTime, eventUnits, firstRowFrom } from './events.ts'
import { SEEN_COLUMNS } from './fold.ts'
import { withoutPlace } from './places.ts'
import { withoutSighting } from './seen.ts'

/** If removing an amount leaves less than this share of the squared deviations, the rest is only a rounding error. */
const ROUNDING = 1e-14
/** Bound on the error that removing an amount adds, relative to the product of the mean and the amount's deviation. */
const REMOVAL_ROUNDING = 8 * Number.EPSILON
/**
 * Amounts are whole units, so the squared deviations of amounts that differ sum up to at least half a squared unit. A
 * rest of at most half of that is only a rounding error.
 */
const LEAST_M2_USD = USD_PER_UNIT ** 2 / 4

/**
 * Returns a profile without a transaction that it contains individually, so that a transaction that is scored again is
 * not compared with itself. Returns the profile unchanged if it does not contain the transaction individually. If an
 * entity was also seen in other transactions, the times at which it was seen stay.
 */
export function withoutEvent(profile: FraudProfile, event: FraudEvent): FraudProfile {
  const row = rowOf(profile.events, event)
  if (row === undefined) return profile
  const { events } = profile
  const next = { ...profile, places: event.place === null ? profile.places : withoutPlace(profile.places, event.at, event.place) }
  next.events = Buffer.concat([events.subarray(0, row * EVENT_BYTES), events.subarray((row + 1) * EVENT_BYTES)])
  for (const kind of ENTITY_KINDS) {
    const hash = event[kind]
    const column = SEEN_COLUMNS[kind]
    if (hash !== null) next[column] = withoutSighting(profile[column], hash, event.at)
  }
  return { ...next, ...withoutAmount(profile, eventUnits(events, row)) }
}

function rowOf(events: Buffer, { at, id }: FraudEvent): number | undefined {
  const count = events.length / EVENT_BYTES
  for (let row = firstRowFrom(events, at); row < count && eventTime(events, row) === at; row++) if (eventId(events, row) === id) return row
  return undefined
}

/** Reverts `countAmounts` for one amount. */
function withoutAmount({ txn_count, txn_units, mean_usd, m2_usd }: FraudProfile, units: number) {
  const count = txn_count - 1
  if (count <= 0) return { txn_count: 0, txn_units: 0, mean_usd: 0, m2_usd: 0 }
  const delta = units * USD_PER_UNIT - mean_usd
  const mean = mean_usd - delta / count
  const m2 = m2_usd - delta * (units * USD_PER_UNIT - mean)
  const error = Math.max(m2_usd * ROUNDING, Math.abs(mean_usd * delta) * REMOVAL_ROUNDING, LEAST_M2_USD)
  return { txn_count: count, txn_units: txn_units - units, mean_usd: mean, m2_usd: m2 > error ? m2 : 0 }
}
