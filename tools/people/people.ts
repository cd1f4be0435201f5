import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DATA_SETS } from '../../scripts/data-sets.ts'
import type { Place } from '../../state/views/matches/candidates/cells.ts'
import { integer, type Random, seededRandom } from '../random/random.ts'
import { weightedPick } from '../random/weighted.ts'
import { generatedProfiles, type ProfileRow, readProfiles } from './profiles.ts'
import { LARGEST_TOWNS, readTowns, type Town } from './towns.ts'

/** A user of the match feed, with a place near the centre of a town. */
export interface Person {
  readonly userId: string
  readonly name: string
  readonly birthDate: string
  readonly gender: 'm' | 'f'
  /** Empty if the user seeks everybody. */
  readonly seekingGender: readonly string[]
  readonly minAge: number
  readonly maxAge: number
  readonly maxDistanceKm: number
  readonly place: Place
  /** Popularity from 0 to 1. The most popular users get most of the swipes, and most of these are likes. */
  readonly popularity: number
}

export interface People {
  readonly people: readonly Person[]
  /** The origin of the profiles, to be named in a report. */
  readonly origin: string
}

const SEED = 11
const KM_PER_DEGREE = 111.2
/** Maximum distances that users choose, each with the percentage of users who choose it. */
const DISTANCES_KM = [
  [10, 15],
  [25, 20],
  [50, 50],
  [100, 15],
] as const
const ADULT_YEARS = 18
const MAX_AGE_PREF = 99

/** Exponent of the popularity distribution. With this exponent, half of the swipes go to a quarter of the users. */
const POPULARITY_EXPONENT = 2
const LEAST_LIKED = 0.15
const MOST_LIKED = 0.75
const SUPER_LIKED = 0.05

/**
 * Makes people from the public profiles and towns. If one of these data sets is missing, all profiles are generated and
 * the largest towns are used. If there are too few public profiles, the missing ones are generated.
 * @param folder the folder of the public data sets
 * @param now epoch ms; determines birth dates
 */
export async function loadPeople(folder: string, count: number, now: number): Promise<People> {
  const profiles = join(folder, DATA_SETS.profiles.path)
  const places = join(folder, DATA_SETS.places.path)
  const isPublic = existsSync(profiles) && existsSync(places)
  const rows = isPublic ? await readProfiles(profiles, count) : []
  const missing = generatedProfiles(count - rows.length, SEED)
  const people = placePeople([...rows, ...missing], isPublic ? await readTowns(places) : LARGEST_TOWNS, now)
  return { people, origin: isPublic ? `${rows.length} public and ${missing.length} generated profiles` : `${count} generated profiles` }
}

/** Makes a person from each profile, with a random id, place and popularity. Equal arguments give equal people. */
export function placePeople(rows: readonly ProfileRow[], towns: readonly Town[], now: number): Person[] {
  const random = seededRandom(SEED)
  const town = weightedPick(towns.map(({ population }) => population))
  const distance = weightedPick(DISTANCES_KM.map(([, share]) => share))
  return rows.map(({ age, gender, seekingGender }, index) => ({
    userId: uuid(random),
    name: `Person ${index}`,
    birthDate: birthDateAt(age, random, now),
    gender,
    seekingGender,
    // A rule of thumb says that a partner should be at least half one's own age plus seven.
    minAge: Math.max(ADULT_YEARS, Math.floor(age / 2 + 7)),
    maxAge: Math.min(MAX_AGE_PREF, Math.max(ADULT_YEARS, (age - 7) * 2)),
    maxDistanceKm: DISTANCES_KM[distance(random)][0],
    place: near(towns[town(random)], random),
    popularity: random(),
  }))
}

/** Returns a function that draws swipes: a target and a direction. Popular users get more swipes and more likes. */
export function swipeDraw(people: readonly Person[]): (random: Random) => { target: Person; direction: 'LEFT' | 'RIGHT' | 'SUPER_LIKE' } {
  const byPopularity = people.toSorted((a, b) => b.popularity - a.popularity)
  return function draw(random) {
    const target = byPopularity[Math.floor(random() ** POPULARITY_EXPONENT * byPopularity.length)]
    const liked = LEAST_LIKED + (MOST_LIKED - LEAST_LIKED) * target.popularity
    if (random() >= liked) return { target, direction: 'LEFT' }
    return { target, direction: random() < SUPER_LIKED ? 'SUPER_LIKE' : 'RIGHT' }
  }
}

/** Draws a place near the centre of a town from a normal distribution. Larger towns have a larger deviation. */
function near({ lat, lon, population }: Town, random: Random): Place {
  const km = 1 + Math.sqrt(population) / 250
  const radius = km * Math.sqrt(-2 * Math.log(1 - random()))
  const angle = 2 * Math.PI * random()
  const north = (radius * Math.sin(angle)) / KM_PER_DEGREE
  const east = (radius * Math.cos(angle)) / KM_PER_DEGREE / Math.cos((lat * Math.PI) / 180)
  return { lat: lat + north, lon: lon + east }
}

function birthDateAt(age: number, random: Random, now: number): string {
  const today = new Date(now)
  const birth = Date.UTC(today.getUTCFullYear() - age, today.getUTCMonth(), today.getUTCDate() - 1 - integer(random, 364))
  return new Date(birth).toISOString().slice(0, 10)
}

function uuid(random: Random): string {
  const hex = Array.from({ length: 4 }, () =>
    integer(random, 2 ** 32)
      .toString(16)
      .padStart(8, '0'),
  ).join('')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`
}
