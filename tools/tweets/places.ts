import { type Region, regions } from '../../schemas/trends/places/regions.ts'
import type { Random } from '../random/random.ts'
import { weightedPick } from '../random/weighted.ts'

/** Assumed population of cities whose population is unknown. */
const ASSUMED_POPULATION = 300_000

/** Draws cities with a probability proportional to their population. */
export type CityPick = (random: Random) => Region

export function cityPick(cities: readonly Region[]): CityPick {
  const draw = weightedPick(cities.map(({ population }) => population || ASSUMED_POPULATION))
  return (random) => cities[draw(random)]
}

export const cities: readonly Region[] = regions.filter(({ type }) => type === 'Town')

export function citiesOf(countryCodes: readonly string[]): Region[] {
  return cities.filter(({ country_code }) => countryCodes.includes(country_code))
}
