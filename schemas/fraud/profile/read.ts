import type { FraudProfile } from '../types.ts'
import { eventCount, eventId, eventTime, eventUnits } from './events.ts'
import { sumWithin, type WindowSum } from './sums.ts'

/** The time as of which a profile is read, and the transaction that is not counted. */
export interface Reading {
  /** Epoch ms. */
  readonly t: number
  /** Hash of the id of the transaction that is being scored. */
  readonly id: number
}

/**
 * Returns the number of a profile's transactions, the sum of their amounts and the number of frauds in (t − window, t],
 * for each window. The results may include transactions just outside of a window; see `sumWithin`.
 */
export function sumsOf({ events, sums }: FraudProfile, { t, id }: Reading, windowsMs: readonly number[]): WindowSum[] {
  const results = windowsMs.map((): WindowSum => ({ count: 0, units: 0, frauds: 0 }))
  const longest = Math.max(...windowsMs)
  for (let row = eventCount(events) - 1; row >= 0; row--) {
    const at = eventTime(events, row)
    if (at <= t - longest) break
    if (at > t || eventId(events, row) === id) continue
    const units = eventUnits(events, row)
    for (let index = 0; index < windowsMs.length; index++) {
      if (at <= t - windowsMs[index]) continue
      results[index].count++
      results[index].units += units
    }
  }
  for (const [index, windowMs] of windowsMs.entries()) sumWithin(sums, t - windowMs, t, results[index])
  return results
}

/**
 * Returns the time of the last other transaction at or before t, among the transactions that are kept individually;
 * undefined if there is none.
 */
export function lastTimeOf({ events }: FraudProfile, { t, id }: Reading): number | undefined {
  for (let row = eventCount(events) - 1; row >= 0; row--) {
    const at = eventTime(events, row)
    if (at <= t && eventId(events, row) !== id) return at
  }
  return undefined
}

/** Returns the sample standard deviation of a profile's amounts in USD; 0 for fewer than two transactions. */
export function deviationOf({ txn_count, m2_usd }: FraudProfile): number {
  return txn_count < 2 ? 0 : Math.sqrt(m2_usd / (txn_count - 1))
}
