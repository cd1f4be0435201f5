import { type Random, seededRandom } from '../random/random.ts'
import { weightedPick } from '../random/weighted.ts'
import { readCsv } from '../replay/csv.ts'

/** The part of a public dating profile that the match feed can use. */
export interface ProfileRow {
  /** Whole years, at least 18. */
  readonly age: number
  readonly gender: 'm' | 'f'
  readonly seekingGender: readonly string[]
}

/** Number of rows of the public data set. */
export const PUBLIC_PROFILES = 59_946

const ADULT_YEARS = 18
/** Maximum plausible age. A few rows of the data set have impossible ages. */
const OLDEST_YEARS = 99

/** Numbers of profiles by sex and orientation in the public data set. */
const KINDS = [
  ['m', 'straight', 31_073],
  ['f', 'straight', 20_533],
  ['m', 'gay', 3_985],
  ['f', 'bisexual', 1_996],
  ['f', 'gay', 1_588],
  ['m', 'bisexual', 771],
] as const

/**
 * The quantiles of the ages in the public data set, in steps of 5 %. The last one is the highest plausible age in the
 * data set.
 */
const AGES = [18, 21, 23, 24, 25, 26, 26, 27, 28, 29, 30, 31, 32, 33, 35, 37, 39, 42, 46, 52, 70]

/** Reads at most `most` public profiles, in the order of the file. */
export async function readProfiles(path: string, most: number = Number.POSITIVE_INFINITY): Promise<ProfileRow[]> {
  const rows: ProfileRow[] = []
  for await (const { age, sex, orientation } of readCsv(path)) {
    if (rows.length >= most) break
    rows.push(profileRow(Number(age), sex === 'f' ? 'f' : 'm', orientation))
  }
  return rows
}

/** Generates profiles whose ages, sexes and orientations are distributed as in the public data set. */
export function generatedProfiles(count: number, seed: number): ProfileRow[] {
  const random = seededRandom(seed)
  const kind = weightedPick(KINDS.map(([, , profiles]) => profiles))
  return Array.from({ length: count }, () => {
    const [gender, orientation] = KINDS[kind(random)]
    return profileRow(ageAt(random), gender, orientation)
  })
}

function ageAt(random: Random): number {
  const at = random() * (AGES.length - 1)
  const from = AGES[Math.floor(at)]
  return Math.floor(from + (AGES[Math.floor(at) + 1] - from) * (at % 1))
}

function profileRow(age: number, gender: 'm' | 'f', orientation: string): ProfileRow {
  const other = gender === 'm' ? 'f' : 'm'
  const seekingGender = orientation === 'straight' ? [other] : orientation === 'gay' ? [gender] : []
  return { age: Math.min(OLDEST_YEARS, Math.max(ADULT_YEARS, age)), gender, seekingGender }
}
