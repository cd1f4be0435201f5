import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { expect } from 'vitest'
import { positions } from '../../../../schemas/trends/places/positions.ts'
import { regionOf } from '../../../../schemas/trends/places/regions.ts'
import { dataTest } from '../../../public-data.ts'

/** Tolerance in degrees. Maps do not agree on the centres of large cities. */
const SAME_PLACE_DEGREES = 0.2
/**
 * Cities that the comparison finds misplaced. GeoNames lists each of them under a different name, and lists a faraway
 * place under the city's name.
 */
const NAMED_DIFFERENTLY = ['Calocan', 'Newcastle', 'Querétaro', 'Washington']
/** Minimum number of cities that match by name. If fewer match, the comparison of names is broken. */
const MIN_COMPARED = 450

dataTest('places', 'the positions of the cities agree with those of GeoNames for cities of the same names', (folder) => {
  const named = Map.groupBy(readCities(folder), ({ country, name }) => `${country} ${plain(name)}`)
  const misplaced: string[] = []
  let compared = 0
  for (const [woeid, { lat, long }] of positions) {
    const { name, country_code } = regionOf(woeid)!
    const namesakes = named.get(`${country_code} ${plain(name)}`)
    if (namesakes === undefined) continue
    compared++
    const scale = Math.cos((lat * Math.PI) / 180)
    if (!namesakes.some((city) => Math.hypot(city.lat - lat, (city.long - long) * scale) < SAME_PLACE_DEGREES)) misplaced.push(name)
  }
  expect(compared).toBeGreaterThan(MIN_COMPARED)
  expect(misplaced.sort()).toEqual(NAMED_DIFFERENTLY)
})

function readCities(folder: string) {
  const [, ...lines] = gunzipSync(readFileSync(join(folder, 'cities1000.csv.gz')))
    .toString('utf8')
    .trimEnd()
    .split('\n')
  // A quoted name may contain a comma, so a pattern finds the first columns. The last two columns are numbers, so
  // splitting at commas is enough to find them.
  return lines.map((line) => {
    const [, name, country] = line.match(/^\d+,("(?:[^"]|"")*"|[^,]*),([^,]*),/)!
    const [lat, long] = line.trimEnd().split(',').slice(-2).map(Number)
    return { name, country, lat, long }
  })
}

function plain(name: string): string {
  return name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '')
}
