import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import type { Region } from '../schemas/trends/places/regions.ts'
import { commandLine, runMain } from './command-line/main.ts'
import { expectedDataFolder } from './config.ts'
import { dataSet } from './data-sets.ts'
import { otherNames } from './place-names.ts'
import { placeTable } from './place-table.ts'
import declaration from './places.command.ts'

/*
 * This module builds schemas/trends/places/regions.json, the 551 regions of the trends service, from the public list of
 * trend locations and GeoNames. The regions are the world, the 50 countries with the most towns in the list, and 500
 * cities. If two countries have equally many towns, the more populous one comes first. The cities are the towns of
 * these countries in the list, followed by the largest of their other cities in GeoNames. See places.command.ts.
 */

/** Number of countries among the regions. */
const COUNTRIES = 50
const CITIES = 500
/**
 * Offset of the woeids of cities that are missing from the public list. Such a city gets this number plus its GeoNames
 * id. The sum is above every woeid of the list.
 */
const GEONAMES_WOEID_BASE = 100_000_000
/**
 * Places of one country that are closer together than this count as one city, because GeoNames lists districts of big
 * cities as separate places.
 */
const SAME_CITY_KM = 10
/** Types of towns in the public list. Two of its cities (Soweto, Ahsa) have the type "Unknown". */
const TOWN_TYPES = ['Town', 'Unknown']
const SECTION_OF_A_CITY = 'PPLX'
const EARTH_RADIUS_KM = 6371
const RADIANS_PER_DEGREE = Math.PI / 180

interface TrendLocation {
  readonly name: string
  readonly placeType: { readonly name: string }
  readonly woeid: number
  readonly parentid: number
  readonly countryCode: string
}

interface City {
  readonly id: number
  readonly name: string
  readonly country: string
  readonly feature: string
  readonly population: number
  readonly lat: number
  readonly lon: number
}

commandLine(declaration)
let listed: readonly TrendLocation[]
let worldwide: TrendLocation
let citiesOf: ReadonlyMap<string, City[]>
await runMain(main)

async function main(): Promise<void> {
  const folder = dataSet(expectedDataFolder(), 'places')
  listed = JSON.parse(readFileSync(join(folder, 'trends_available.json'), 'utf8'))
  worldwide = JSON.parse(readFileSync(join(folder, 'worldwide.json'), 'utf8'))
  citiesOf = Map.groupBy(readCities(join(folder, 'cities1000.csv.gz')), (city) => city.country)
  const regions = buildRegions()
  const file = new URL('../schemas/trends/places/regions.json', import.meta.url)
  writeFileSync(file, placeTable(regions))
  process.stdout.write(`${regions.length} regions written to ${file.pathname}\n`)
}

function buildRegions(): Region[] {
  const countries = chosenCountries()
  const inCountry = new Map(countries.map((country) => [country.countryCode, country]))
  const towns = placesByCountry(TOWN_TYPES)
  const taken: City[] = []
  const cityRegions: Region[] = []
  for (const country of countries) {
    for (const town of towns.get(country.countryCode) ?? []) {
      const city = geoNamesCity(town)
      if (city !== undefined) taken.push(city)
      cityRegions.push(region(town, 'Town', country.woeid, city?.population ?? 0))
    }
  }
  for (const city of bySize([...inCountry.keys()].flatMap((code) => citiesOf.get(code) ?? []))) {
    if (cityRegions.length === CITIES) break
    if (city.feature === SECTION_OF_A_CITY || taken.some((other) => samePlace(city, other))) continue
    taken.push(city)
    const parent = inCountry.get(city.country)!
    const place = { name: city.name, woeid: GEONAMES_WOEID_BASE + city.id, countryCode: city.country }
    cityRegions.push(region(place, 'Town', parent.woeid, city.population))
  }
  if (cityRegions.length !== CITIES) throw new Error(`the lists contain ${cityRegions.length} cities, but ${CITIES} are needed`)
  const countryRegions = countries.map((country) => region(country, 'Country', worldwide.woeid, countryPopulation(country.countryCode)))
  const everybody = countryRegions.reduce((sum, country) => sum + country.population, 0)
  const world: Region = { ...region({ ...worldwide, countryCode: '' }, 'Supername', 0, everybody), parent: null }
  return [world, ...byWoeid(countryRegions), ...byWoeid(cityRegions)]
}

function chosenCountries(): TrendLocation[] {
  const towns = placesByCountry(['Town'])
  const count = (country: TrendLocation): number => towns.get(country.countryCode)?.length ?? 0
  return listed
    .filter((place) => place.placeType.name === 'Country')
    .sort((a, b) => count(b) - count(a) || countryPopulation(b.countryCode) - countryPopulation(a.countryCode))
    .slice(0, COUNTRIES)
}

function placesByCountry(types: readonly string[]): Map<string, TrendLocation[]> {
  return Map.groupBy(
    listed.filter((place) => types.includes(place.placeType.name)),
    (place) => place.countryCode,
  )
}

function region(
  place: Pick<TrendLocation, 'woeid' | 'name' | 'countryCode'>,
  type: Region['type'],
  parent: number,
  population: number,
): Region {
  return { woeid: place.woeid, name: place.name, type, parent, country_code: place.countryCode, population }
}

function countryPopulation(code: string): number {
  return (citiesOf.get(code) ?? []).reduce((sum, city) => sum + city.population, 0)
}

/** Finds the largest city in the town's country that has the name of the town; undefined if there is none. */
function geoNamesCity(town: TrendLocation): City | undefined {
  const wanted = plain(otherNames[`${town.countryCode} ${town.name}`] ?? town.name)
  return bySize((citiesOf.get(town.countryCode) ?? []).filter((city) => plain(city.name) === wanted))[0]
}

function samePlace(a: City, b: City): boolean {
  return a.country === b.country && (plain(a.name) === plain(b.name) || kilometres(a, b) < SAME_CITY_KM)
}

/** Normalises a name, because the two lists differ in accents, hyphens and capitals. */
function plain(name: string): string {
  return name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '')
}

/** Returns the great-circle distance in kilometres (haversine formula). */
function kilometres(a: City, b: City): number {
  const dLat = (b.lat - a.lat) * RADIANS_PER_DEGREE
  const dLon = (b.lon - a.lon) * RADIANS_PER_DEGREE
  const squared =
    Math.sin(dLat / 2) ** 2 + Math.cos(a.lat * RADIANS_PER_DEGREE) * Math.cos(b.lat * RADIANS_PER_DEGREE) * Math.sin(dLon / 2) ** 2
  return 2 * EARTH_RADIUS_KM * Math.asin(Math.sqrt(squared))
}

function bySize(cities: readonly City[]): City[] {
  return cities.toSorted((a, b) => b.population - a.population || a.id - b.id)
}

function byWoeid(places: readonly Region[]): Region[] {
  return places.toSorted((a, b) => a.woeid - b.woeid)
}

/** Reads rows with the fields geonameid, name, country, admin1, feature_code, population, lat and lon. */
function readCities(path: string): City[] {
  const [header, ...lines] = gunzipSync(readFileSync(path)).toString('utf8').trimEnd().split('\n')
  const columns = header.trimEnd().split(',').length
  return lines.map((line) => {
    const fields = line
      .trimEnd()
      .match(/("([^"]|"")*"|[^,]*)(,|$)/g)!
      .slice(0, columns)
      .map(unquoted)
    const [id, name, country, , feature, population, lat, lon] = fields
    return { id: Number(id), name, country, feature, population: Number(population), lat: Number(lat), lon: Number(lon) }
  })
}

function unquoted(field: string): string {
  const text = field.replace(/,$/, '')
  return text.startsWith('"') ? text.slice(1, -1).replaceAll('""', '"') : text
}
