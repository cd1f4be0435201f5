import table from './regions.json' with { type: 'json' }

/** A place with a trend list. */
export interface Region {
  /** Where-on-earth id. For a city that is not in the public list of trend locations, 100,000,000 + its GeoNames id. */
  readonly woeid: number
  readonly name: string
  readonly type: 'Supername' | 'Country' | 'Town'
  /** The enclosing region; null for the world. */
  readonly parent: number | null
  /** ISO 3166-1 alpha-2; empty for the world. */
  readonly country_code: string
  /**
   * Inhabitants according to GeoNames, or 0 when unknown. For a country, the sum of all its cities that GeoNames lists;
   * for the world, the sum of the 50 countries. Used only as weights in demonstrations.
   */
  readonly population: number
}

export const WORLDWIDE = 1

/** All 551 regions: the world, then 50 countries, then 500 cities, each group sorted by woeid. */
export const regions: readonly Region[] = table as Region[]

const byWoeid: ReadonlyMap<number, Region> = new Map(regions.map((region) => [region.woeid, region]))
const pathByWoeid: ReadonlyMap<number, readonly number[]> = new Map(regions.map((region) => [region.woeid, pathUp(region)]))

export function regionOf(woeid: number): Region | undefined {
  return byWoeid.get(woeid)
}

/**
 * Returns the woeids of the region and of the regions that enclose it, smallest first (city, country, and 1 for the
 * world); undefined for an unknown woeid.
 */
export function pathOf(woeid: number): readonly number[] | undefined {
  return pathByWoeid.get(woeid)
}

function pathUp(region: Region): readonly number[] {
  const path = [region.woeid]
  for (let parent = region.parent; parent !== null; parent = byWoeid.get(parent)!.parent) path.push(parent)
  return path
}
