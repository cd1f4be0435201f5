import { distanceKm } from './distance.ts'
import { ageAt, type Candidate, type Viewer } from './person.ts'

/** A candidate must have been active within this time; see docs/services/matches.md#candidates. */
export const ACTIVE_WITHIN_MS = 7 * 24 * 3_600_000

const M_PER_KM = 1_000

export type FilterName = 'self' | 'gender' | 'gender_of_viewer' | 'age' | 'age_of_viewer' | 'active' | 'distance'

/** The result of one filter and the values that it compared. `GET /v1/feed/explain` shows them. */
export interface Verdict {
  readonly filter: FilterName
  readonly passed: boolean
  readonly value: string | number | null
  readonly allowed: string
}

interface Filter {
  readonly name: FilterName
  passes(viewer: Viewer, candidate: Candidate, now: number): boolean
  /**
   * Returns the value that the filter compares, and the values that pass. The value describes the candidate, or the
   * viewer if the filter applies the candidate's preferences. The filter `distance` compares the distance between the
   * two.
   */
  describe(viewer: Viewer, candidate: Candidate, now: number): Pick<Verdict, 'value' | 'allowed'>
}

/**
 * The most expensive filter, the distance, is last. Age and gender must suit both users, but only the viewer's maximum
 * distance counts.
 */
const FILTERS: readonly Filter[] = [
  {
    name: 'self',
    passes: (viewer, candidate) => viewer.userId !== candidate.userId,
    describe: (_viewer, candidate) => ({ value: candidate.userId, allowed: 'another user' }),
  },
  {
    name: 'gender',
    passes: (viewer, candidate) => seeks(viewer, candidate),
    describe: (viewer, candidate) => genders(viewer, candidate),
  },
  {
    name: 'gender_of_viewer',
    passes: (viewer, candidate) => seeks(candidate, viewer),
    describe: (viewer, candidate) => genders(candidate, viewer),
  },
  {
    name: 'age',
    passes: (viewer, candidate, now) => isOfAge(viewer, candidate, now),
    describe: (viewer, candidate, now) => ages(viewer, candidate, now),
  },
  {
    name: 'age_of_viewer',
    passes: (viewer, candidate, now) => isOfAge(candidate, viewer, now),
    describe: (viewer, candidate, now) => ages(candidate, viewer, now),
  },
  {
    name: 'active',
    passes: (_viewer, candidate, now) => now - candidate.lastActiveAt <= ACTIVE_WITHIN_MS,
    describe: (_viewer, candidate) => ({ value: new Date(candidate.lastActiveAt).toISOString(), allowed: 'within seven days' }),
  },
  {
    name: 'distance',
    passes: (viewer, candidate) => distanceKm(viewer.place, candidate.place) <= viewer.maxDistanceKm,
    describe: (viewer, candidate) => ({
      value: Math.round(distanceKm(viewer.place, candidate.place) * M_PER_KM) / M_PER_KM,
      allowed: `at most ${viewer.maxDistanceKm} km`,
    }),
  },
]

function seeks({ seekingGender }: Candidate, { gender }: Candidate): boolean {
  return seekingGender.length === 0 || (gender !== undefined && seekingGender.includes(gender))
}

function genders({ seekingGender }: Candidate, { gender }: Candidate) {
  return { value: gender ?? null, allowed: seekingGender.length === 0 ? 'anybody' : seekingGender.join(', ') }
}

function isOfAge({ minAge, maxAge }: Candidate, { birthDate }: Candidate, now: number): boolean {
  const age = ageAt(birthDate, now)
  return age >= minAge && age <= maxAge
}

function ages({ minAge, maxAge }: Candidate, { birthDate }: Candidate, now: number) {
  return { value: ageAt(birthDate, now), allowed: `${minAge} to ${maxAge}` }
}

export function passes(viewer: Viewer, candidate: Candidate, now: number): boolean {
  return FILTERS.every((filter) => filter.passes(viewer, candidate, now))
}

/** Returns the first filter that the candidate fails; undefined if the candidate passes all. */
export function firstFailed(viewer: Viewer, candidate: Candidate, now: number): FilterName | undefined {
  return FILTERS.find((filter) => !filter.passes(viewer, candidate, now))?.name
}

/** Returns the verdict of every filter, even after one has failed. */
export function verdicts(viewer: Viewer, candidate: Candidate, now: number): Verdict[] {
  return FILTERS.map(({ name, passes: test, describe }) => ({
    filter: name,
    passed: test(viewer, candidate, now),
    ...describe(viewer, candidate, now),
  }))
}
