import { type Position, positions } from '../../schemas/trends/places/positions.ts'
import { type Region, regionOf } from '../../schemas/trends/places/regions.ts'

const EARTH_RADIUS_KM = 6_371
const RADIANS_PER_DEGREE = Math.PI / 180

/**
 * A point on a sphere with radius 1. The nearer two points are to each other, the shorter the chord between them, even
 * across the poles and the 180° meridian.
 */
type Point = readonly [x: number, y: number, z: number]

export interface Closest {
  readonly city: Region
  /** Great-circle distance in whole kilometres. */
  readonly km: number
}

const cities: readonly (readonly [Region, Point])[] = [...positions].map(([woeid, position]) => [regionOf(woeid)!, pointOf(position)])

/** Returns the city that is nearest to a position, however far away it is. */
export function closestCity(position: Position): Closest {
  const from = pointOf(position)
  let [nearest, shortest] = [cities[0][0], Number.POSITIVE_INFINITY]
  for (const [city, point] of cities) {
    const chord = chordOf(from, point)
    if (chord < shortest) [nearest, shortest] = [city, chord]
  }
  return { city: nearest, km: Math.round(2 * EARTH_RADIUS_KM * Math.asin(Math.min(1, shortest / 2))) }
}

function pointOf({ lat, long }: Position): Point {
  const [north, east] = [lat * RADIANS_PER_DEGREE, long * RADIANS_PER_DEGREE]
  return [Math.cos(north) * Math.cos(east), Math.cos(north) * Math.sin(east), Math.sin(north)]
}

function chordOf([ax, ay, az]: Point, [bx, by, bz]: Point): number {
  return Math.hypot(ax - bx, ay - by, az - bz)
}
