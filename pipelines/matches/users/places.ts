import type { LocationUpdate, MatchUser } from '../../../schemas/matches/types.ts'
import { cellOf, geohashOf, type Place } from '../../../state/views/matches/candidates/cells.ts'

/** How long further locations in the same cell are ignored after a user's location was stored. */
const SAME_CELL_MS = 600_000
const CELL_PRECISION = 6
const MAX_LATITUDE = 90
const MAX_LONGITUDE = 180

type Located = Pick<LocationUpdate, 'lat' | 'lon'>

/** Returns whether an update has a valid location or no location at all. */
export function isPlaceOrNone({ lat, lon }: Located): boolean {
  if (lat === null || lon === null) return lat === lon
  return Math.abs(lat) <= MAX_LATITUDE && Math.abs(lon) <= MAX_LONGITUDE
}

/**
 * Returns whether an update changes a user's stored location. Phones report locations every few seconds, and each new
 * location rewrites the user's entry in the index. Further locations in the same cell are therefore ignored for ten
 * minutes.
 */
export function isNewPlace(known: MatchUser, { lat, lon, ts }: Located & Pick<LocationUpdate, 'ts'>): boolean {
  if (lat === null || lon === null) return false
  const { lat: knownLat, lon: knownLon, location_updated_at: at } = known
  if (knownLat === null || knownLon === null || at === null) return true
  if (ts < at) return false
  return ts - at >= SAME_CELL_MS || cellName({ lat, lon }) !== cellName({ lat: knownLat, lon: knownLon })
}

function cellName(place: Place): string {
  return geohashOf(cellOf(place, CELL_PRECISION))
}
