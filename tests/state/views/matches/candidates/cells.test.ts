import { expect, test } from 'vitest'
import {
  boundsOf,
  type Cell,
  cellAt,
  cellOf,
  centreOf,
  geohashOf,
  type Place,
  type Precision,
  withNeighbours,
} from '../../../../../state/views/matches/candidates/cells.ts'
import { cellsWithin, distanceKm, distanceToCellKm, shownDistanceKm } from '../../../../../state/views/matches/candidates/distance.ts'
import { integer, type Random, seededRandom } from '../../../../../tools/random/random.ts'

const PRECISIONS: readonly Precision[] = [4, 5, 6]

function randomPlace(random: Random): Place {
  return { lat: random() * 180 - 90, lon: random() * 360 - 180 }
}

test.each([
  [57.64911, 10.40744, 'u4pruy'],
  [37.7749, -122.4194, '9q8yyk'],
  [-25.382708, -49.265506, '6gkzwg'],
  [0, 0, 's00000'],
  [90, 180, 'bpbpbp'],
  [-90, -180, '000000'],
])('the geohash of %d, %d is %s', (lat, lon, geohash) => {
  expect(geohashOf(cellOf({ lat, lon }, 6))).toBe(geohash)
  expect(geohashOf(cellOf({ lat, lon }, 4))).toBe(geohash.slice(0, 4))
})

test('a cell contains the place for which it was computed, and can be computed from its geohash and from its centre', () => {
  const random = seededRandom(1)
  for (let round = 0; round < 2_000; round++) {
    const place = randomPlace(random)
    const cell = cellOf(place, PRECISIONS[integer(random, 3)])
    expect(cellAt(geohashOf(cell))).toEqual(cell)
    const { south, north, west, east } = boundsOf(cell)
    expect(place.lat >= south && place.lat <= north && place.lon >= west && place.lon <= east).toBe(true)
    expect(cellOf(centreOf(cell), cell.precision)).toEqual(cell)
  }
})

test.each(['', 'u4p', 'u4pruyd', 'u4prua', 'u4pru!'])('%j is refused as a geohash', (text) => {
  expect(() => cellAt(text)).toThrow(RangeError)
})

test('neighbours touch the cell, even across the antimeridian, and there are none beyond a pole', () => {
  const touches = (a: Cell, b: Cell) => {
    const columns = 360 / (boundsOf(a).east - boundsOf(a).west)
    const apart = Math.abs(a.column - b.column)
    return Math.min(apart, columns - apart) <= 1 && Math.abs(a.row - b.row) <= 1
  }
  for (const place of [
    { lat: 0, lon: 0 },
    { lat: 51.48, lon: 179.9999 },
    { lat: -17, lon: -180 },
    { lat: 40, lon: 3 },
  ])
    for (const precision of PRECISIONS) {
      const home = cellOf(place, precision)
      const cells = withNeighbours(home)
      expect(new Set(cells.map(geohashOf)).size).toBe(9)
      expect(cells.every((cell) => touches(home, cell))).toBe(true)
    }
  expect(withNeighbours(cellOf({ lat: 89.9999, lon: 10 }, 6))).toHaveLength(6)
  expect(withNeighbours(cellOf({ lat: -90, lon: 10 }, 6))).toHaveLength(6)
})

test('distances between known places are right', () => {
  expect(distanceKm({ lat: 52.2296756, lon: 21.0122287 }, { lat: 41.89193, lon: 12.51133 })).toBeCloseTo(1_315.5, 0)
  expect(distanceKm({ lat: 0, lon: 179.5 }, { lat: 0, lon: -179.5 })).toBeCloseTo(111.2, 1)
  expect(distanceKm({ lat: 90, lon: 0 }, { lat: -90, lon: 77 })).toBeCloseTo(Math.PI * 6371.0088, 3)
})

test('the displayed distance is the distance between cells, in whole kilometres, and at least 1', () => {
  const here = { lat: 37.77, lon: -122.42 }
  expect(shownDistanceKm(here, here)).toBe(1)
  expect(shownDistanceKm(here, { lat: 37.779, lon: -122.42 })).toBe(1)
  const moved = { lat: 37.7701, lon: -122.4199 }
  const far = { lat: 38, lon: -122 }
  expect(shownDistanceKm(here, far)).toBe(shownDistanceKm(moved, far))
})

test('the distance to a cell is the distance to its nearest point', () => {
  const random = seededRandom(2)
  for (let round = 0; round < 300; round++) {
    const cell = cellOf(randomPlace(random), 4)
    const { south, north, west, east } = boundsOf(cell)
    const place =
      round % 3 === 0
        ? { lat: clamp(centreOf(cell).lat + random() * 4 - 2, 90), lon: wrapped(centreOf(cell).lon + random() * 4 - 2) }
        : randomPlace(random)
    const least = distanceToCellKm(place, cell)
    let found = Infinity
    for (let up = 0; up <= 20; up++)
      for (let along = 0; along <= 20; along++)
        found = Math.min(found, distanceKm(place, { lat: south + ((north - south) * up) / 20, lon: west + ((east - west) * along) / 20 }))
    expect(least).toBeLessThanOrEqual(found + 1e-6)
    expect(found - least).toBeLessThan(2.5)
  }
})

test.each([
  ['the equator', { lat: 0.01, lon: 20 }],
  ['Greenwich', { lat: 51.48, lon: 0 }],
  ['the antimeridian', { lat: -17, lon: 179.99 }],
  ['89 degrees north', { lat: 89, lon: 30 }],
  ['San Francisco', { lat: 37.77, lon: -122.42 }],
])('around %s, the cells within a distance contain all places within this distance, and the nearest cells come first', (_where, centre) => {
  const random = seededRandom(3)
  const cells = cellsWithin(centre, 100, 5_000)
  const hashes = new Set(cells.map(({ cell }) => geohashOf(cell)))
  expect(cells.map(({ km }) => km)).toEqual(cells.map(({ km }) => km).sort((a, b) => a - b))
  for (let round = 0; round < 3_000; round++) {
    const place = {
      lat: clamp(centre.lat + random() * 2 - 1, 90),
      lon: centre.lat > 80 ? random() * 360 - 180 : wrapped(centre.lon + random() * 4 - 2),
    }
    if (distanceKm(centre, place) <= 100) expect(hashes.has(geohashOf(cellOf(place, 4)))).toBe(true)
  }
  expect(cells.every(({ cell }) => distanceToCellKm(centre, cell) <= 100)).toBe(true)
  expect(cellsWithin(centre, 500, 200)).toHaveLength(200)
})

function clamp(value: number, bound: number): number {
  return Math.min(bound, Math.max(-bound, value))
}

function wrapped(lon: number): number {
  return ((((lon + 180) % 360) + 360) % 360) - 180
}
