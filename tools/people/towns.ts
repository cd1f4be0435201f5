import { join } from 'node:path'
import { distanceKm } from '../../state/views/matches/candidates/distance.ts'
import { readCsv } from '../replay/csv.ts'

export interface Town {
  readonly name: string
  readonly lat: number
  readonly lon: number
  readonly population: number
}

const SAN_FRANCISCO = { lat: 37.77493, lon: -122.41942 }

const AROUND_KM = 100

/** The largest towns around San Francisco, for machines without the public list. */
export const LARGEST_TOWNS: readonly Town[] = [
  { name: 'San Jose', lat: 37.34, lon: -121.89, population: 1_027_000 },
  { name: 'San Francisco', ...SAN_FRANCISCO, population: 865_000 },
  { name: 'Oakland', lat: 37.8, lon: -122.27, population: 419_000 },
  { name: 'Fremont', lat: 37.55, lon: -121.99, population: 233_000 },
  { name: 'Santa Rosa', lat: 38.44, lon: -122.71, population: 175_000 },
  { name: 'Hayward', lat: 37.67, lon: -122.08, population: 158_000 },
  { name: 'Sunnyvale', lat: 37.37, lon: -122.04, population: 152_000 },
  { name: 'Concord', lat: 37.98, lon: -122.03, population: 129_000 },
  { name: 'Berkeley', lat: 37.87, lon: -122.27, population: 121_000 },
  { name: 'San Mateo', lat: 37.56, lon: -122.33, population: 104_000 },
  { name: 'Palo Alto', lat: 37.44, lon: -122.14, population: 67_000 },
  { name: 'San Rafael', lat: 37.97, lon: -122.53, population: 59_000 },
]

/**
 * Reads the towns around San Francisco.
 * @param folder the folder of the public data set of places
 */
export async function readTowns(folder: string): Promise<Town[]> {
  const towns: Town[] = []
  for await (const { name, country, lat, lon, population } of readCsv(join(folder, 'cities1000.csv.gz'))) {
    if (country !== 'US' || Number(population) === 0) continue
    const town = { name, lat: Number(lat), lon: Number(lon), population: Number(population) }
    if (distanceKm(SAN_FRANCISCO, town) <= AROUND_KM) towns.push(town)
  }
  return towns
}
