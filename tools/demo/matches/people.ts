import { integer, pick, type Random, seededRandom } from '../../random/random.ts'
import { weightedPick } from '../../random/weighted.ts'

/** Number of users that the demo invents. */
export const POPULATION = 400
/** The year for which ages are drawn. It is fixed, because the same seed must produce the same users on any day. */
const REFERENCE_YEAR = 2026
const YOUNGEST = 20
/**
 * Range of the random numbers from which ages are computed. An age is YOUNGEST plus the mean of two random numbers
 * below this limit, so that middle ages are frequent.
 */
const AGE_SPREAD = 42
const LAST_MONTH = 12
const SHORTEST_MONTH = 28
const AGE_TOLERANCE = 12
const ADULT_YEARS = 18
/** The distance preference of all users: from one end of the bay to the other. */
const MAX_DISTANCE_KM = 100
const TOWN_RADIUS_KM = 3
const KM_PER_DEGREE = 111.2
const UUID_HEX_DIGITS = 32

/** Towns around San Francisco Bay, with populations in thousands. */
const TOWNS = [
  { lat: 37.775, lon: -122.419, population: 800 },
  { lat: 37.339, lon: -121.895, population: 970 },
  { lat: 37.804, lon: -122.271, population: 430 },
  { lat: 37.549, lon: -121.989, population: 230 },
  { lat: 37.369, lon: -122.036, population: 150 },
  { lat: 37.871, lon: -122.273, population: 120 },
  { lat: 37.688, lon: -122.47, population: 100 },
  { lat: 37.563, lon: -122.325, population: 100 },
  { lat: 37.442, lon: -122.143, population: 70 },
  { lat: 37.973, lon: -122.531, population: 60 },
]
const NAMES =
  'Ada Ben Carla Dev Elena Farid Grace Hiro Ines Jonas Kofi Lena Mateo Nia Omar Priya Quinn Rosa Sam Tariq Uma Viktor Wen Ximena Yara Zane'.split(
    ' ',
  )
const LIKES =
  'sourdough|night trains|old maps|sea swimming|jazz|bouldering|cats|ghost stories|ramen|bad puns|vinyl|birds|chess|tide pools'.split('|')
const OPENINGS = ['Fond of', 'Can talk for hours about', 'Looking for somebody to share', 'Ask me about', 'Weekends are for']
const BIO_SHARE = 0.8
/** The genders of users. The constant below contains their shares in the same order. */
const GENDERS = ['m', 'f', 'x'] as const
const GENDER_SHARES = [0.49, 0.49, 0.02]
/** Share of men and women who seek everybody. Users of the gender `x` always do. */
const OPEN_SHARE = 0.15
/** Share of men and women who seek their own gender. */
const SAME_SHARE = 0.06

/** The fields of `PUT /v1/me` that the demo sends. */
export interface DemoProfile {
  readonly display_name: string
  readonly birth_date: string
  readonly gender: string
  readonly seeking_gender: readonly string[]
  readonly bio: string | null
  readonly min_age_pref: number
  readonly max_age_pref: number
  readonly max_dist_km: number
}

export interface DemoPerson {
  /** Position in the population, from 0. Users with low indexes are the most popular. */
  readonly index: number
  readonly userId: string
  readonly profile: DemoProfile
  readonly home: { readonly lat: number; readonly lon: number }
}

/** Returns a user of the demo. Equal seeds and indexes give equal users. */
export function personAt(seed: number, index: number): DemoPerson {
  const random = seededRandom(Math.imul(seed, 0x9e3779b1) ^ Math.imul(index + 1, 0x85ebca6b))
  const age = YOUNGEST + Math.floor((integer(random, AGE_SPREAD) + integer(random, AGE_SPREAD)) / 2)
  const gender = GENDERS[weightedPick(GENDER_SHARES)(random)]
  const born = [REFERENCE_YEAR - age, 1 + integer(random, LAST_MONTH), 1 + integer(random, SHORTEST_MONTH)]
  const profile = {
    display_name: pick(random, NAMES),
    birth_date: born.map((part) => String(part).padStart(2, '0')).join('-'),
    gender,
    seeking_gender: soughtBy(gender, random),
    bio: random() < BIO_SHARE ? `${pick(random, OPENINGS)} ${pick(random, LIKES)} and ${pick(random, LIKES)}.` : null,
    min_age_pref: Math.max(ADULT_YEARS, age - AGE_TOLERANCE),
    max_age_pref: age + AGE_TOLERANCE,
    max_dist_km: MAX_DISTANCE_KM,
  }
  return {
    index,
    userId: uuid(random),
    profile,
    home: homeIn(TOWNS[weightedPick(TOWNS.map(({ population }) => population))(random)], random),
  }
}

function soughtBy(gender: (typeof GENDERS)[number], random: Random): string[] {
  const chance = random()
  if (gender === 'x' || chance < OPEN_SHARE) return []
  const isSame = chance < OPEN_SHARE + SAME_SHARE
  return [(gender === 'm') === isSame ? 'm' : 'f']
}

function homeIn({ lat, lon }: { lat: number; lon: number }, random: Random) {
  return nearby({ lat, lon }, TOWN_RADIUS_KM, random)
}

/** Returns a random place at most `km` kilometres to the north or south, and at most as many to the east or west. */
export function nearby({ lat, lon }: { readonly lat: number; readonly lon: number }, km: number, random: Random) {
  const offset = () => ((2 * random() - 1) * km) / KM_PER_DEGREE
  return { lat: lat + offset(), lon: lon + offset() / Math.cos((lat * Math.PI) / 180) }
}

/** Returns a random UUID (version 4). */
function uuid(random: Random): string {
  const digits = Array.from({ length: UUID_HEX_DIGITS }, () => integer(random, 16).toString(16))
  digits[12] = '4'
  digits[16] = '8'
  const hex = digits.join('')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}

/** Returns whether two users seek each other by gender and age. */
export function suit(a: DemoPerson, b: DemoPerson): boolean {
  return a.index !== b.index && seeks(a, b) && seeks(b, a)
}

function seeks({ profile: { seeking_gender, min_age_pref, max_age_pref } }: DemoPerson, { profile: other }: DemoPerson): boolean {
  const age = REFERENCE_YEAR - Number(other.birth_date.slice(0, 4))
  // The lower limit is a year stricter, because the other user is a year younger than `age` until the birthday.
  return (seeking_gender.length === 0 || seeking_gender.includes(other.gender)) && age > min_age_pref && age <= max_age_pref
}
