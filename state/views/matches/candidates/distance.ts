import { type Bounds, boundsOf, type Cell, cellOf, centreOf, outwards, type Place } from './cells.ts'

/** Mean radius of the earth in kilometres (IUGG, R1). */
const EARTH_RADIUS_KM = 6371.0088
/** Precision of the cells that a search reads beyond the neighbouring cells. */
const RING_PRECISION = 4
const RADIANS = Math.PI / 180
/** Length of a degree of latitude. */
const KM_PER_DEGREE = EARTH_RADIUS_KM * RADIANS

/** Returns the great-circle distance in kilometres by the haversine formula on a sphere. */
export function distanceKm(a: Place, b: Place): number {
  const up = Math.sin(((b.lat - a.lat) * RADIANS) / 2)
  const along = Math.sin(((b.lon - a.lon) * RADIANS) / 2)
  const h = up * up + Math.cos(a.lat * RADIANS) * Math.cos(b.lat * RADIANS) * along * along
  return 2 * EARTH_RADIUS_KM * Math.asin(Math.min(1, Math.sqrt(h)))
}

/** The smallest distance, in km, that other users may see. */
export const LEAST_SHOWN_KM = 1

/**
 * Returns the distance that other users may see: whole kilometres between the centres of the two geohash-6 cells, at
 * least 1. With exact distances from three places, anyone could compute where the other user is.
 */
export function shownDistanceKm(a: Place, b: Place): number {
  return Math.max(LEAST_SHOWN_KM, Math.round(distanceKm(centreOf(cellOf(a, 6)), centreOf(cellOf(b, 6)))))
}

/** Returns the shortest distance in kilometres from a place to any point of a cell; 0 for a place inside the cell. */
export function distanceToCellKm(place: Place, cell: Cell): number {
  const bounds = boundsOf(cell)
  if (isBetween(place.lon, bounds)) {
    if (place.lat >= bounds.south && place.lat <= bounds.north) return 0
    return distanceKm(place, { lat: place.lat < bounds.south ? bounds.south : bounds.north, lon: place.lon })
  }
  return Math.min(distanceToMeridianKm(place, bounds.west, bounds), distanceToMeridianKm(place, bounds.east, bounds))
}

function isBetween(lon: number, { west, east }: Bounds): boolean {
  return (lon >= west && lon <= east) || (lon === -180 && east === 180) || (lon === 180 && west === -180)
}

/**
 * Returns the shortest distance from a place to a segment of a meridian. The nearest point of the whole meridian is
 * where a great circle through the place meets it at a right angle.
 */
function distanceToMeridianKm(place: Place, lon: number, { south, north }: Bounds): number {
  const across = Math.cos((lon - place.lon) * RADIANS)
  const right = across > 0 ? Math.atan(Math.tan(place.lat * RADIANS) / across) / RADIANS : place.lat < 0 ? south : north
  const nearest = Math.min(north, Math.max(south, right))
  // If the meridian is more than 90° away, the nearest point of the segment is one of its ends.
  return Math.min(...[nearest, south, north].map((lat) => distanceKm(place, { lat, lon })))
}

/** A cell and its shortest distance from the place of the search. */
export interface NearCell {
  readonly cell: Cell
  readonly km: number
}

/**
 * Returns the cells of precision 4 that are at least partly within `maxKm` of a place, nearest first. Cells at equal
 * distances are in the order of row and column.
 * @param most maximum number of cells
 */
export function cellsWithin(place: Place, maxKm: number, most: number): NearCell[] {
  const home = cellOf(place, RING_PRECISION)
  const found: NearCell[] = []
  // A cell that is more than this number of degrees farther north or south is out of reach, even if it is on the same
  // meridian as the place.
  const reach = maxKm / KM_PER_DEGREE
  const first = cellOf({ lat: Math.max(-90, place.lat - reach), lon: 0 }, RING_PRECISION).row
  const last = cellOf({ lat: Math.min(90, place.lat + reach), lon: 0 }, RING_PRECISION).row
  for (let row = first; row <= last; row++) {
    for (const ring of outwards(home, row)) {
      const reached = ring.map((cell) => ({ cell, km: distanceToCellKm(place, cell) })).filter(({ km }) => km <= maxKm)
      // If neither cell at this offset is within reach, no cell farther east or west in the row is within reach.
      if (reached.length === 0) break
      found.push(...reached)
    }
  }
  return found.sort((a, b) => a.km - b.km || a.cell.row - b.cell.row || a.cell.column - b.cell.column).slice(0, most)
}
