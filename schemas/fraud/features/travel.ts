import type { FraudPlace } from '../event.ts'

const EARTH_RADIUS_KM = 6_371
const DEGREE = Math.PI / 180
const HOUR_MS = 3_600_000
/** Maximum plausible speed of a traveller: the speed of an airliner. */
const MOST_KM_PER_HOUR = 900
/** Distance in km up to which travel is never suspicious, because places are inexact. */
const NEAR_KM = 100

export interface Travel {
  readonly distanceKm: number
  readonly isImpossible: boolean
  /**
   * Severity from 0 to 1. It is 0 for places that are near each other. For other places it is the distance as a share
   * of the distance that a traveller can cover in the elapsed time.
   */
  readonly severity: number
}

/**
 * Compares the places of two transactions.
 * @param elapsedMs time between the transactions, at least 0
 */
export function travelBetween(from: FraudPlace, to: FraudPlace, elapsedMs: number): Travel {
  const distanceKm = distanceBetween(from, to)
  if (distanceKm <= NEAR_KM) return { distanceKm, isImpossible: false, severity: 0 }
  const possibleKm = (elapsedMs / HOUR_MS) * MOST_KM_PER_HOUR
  return { distanceKm, isImpossible: distanceKm > possibleKm, severity: possibleKm === 0 ? 1 : Math.min(1, distanceKm / possibleKm) }
}

/** Returns the great-circle distance in km by the haversine formula. */
function distanceBetween(a: FraudPlace, b: FraudPlace): number {
  const dLat = (b.lat - a.lat) * DEGREE
  const dLng = (b.lng - a.lng) * DEGREE
  const h = Math.sin(dLat / 2) ** 2 + Math.cos(a.lat * DEGREE) * Math.cos(b.lat * DEGREE) * Math.sin(dLng / 2) ** 2
  // Rounding can make h slightly greater than 1 for opposite points of the globe.
  return 2 * EARTH_RADIUS_KM * Math.asin(Math.sqrt(Math.min(1, h)))
}
