import type { Place } from './cells.ts'

/** What the filters and the ranking need to know of a candidate. */
export interface Candidate {
  readonly userId: string
  readonly place: Place
  /** ISO date. */
  readonly birthDate: string
  readonly gender: string | undefined
  /** Empty: everybody. */
  readonly seekingGender: readonly string[]
  readonly minAge: number
  readonly maxAge: number
  readonly elo: number
  /** Epoch ms, in steps of a few hours. */
  readonly lastActiveAt: number
  /** Share of the optional parts of a profile that are filled in, from 0 to 1. */
  readonly completeness: number
}

/** The user who looks for candidates. */
export interface Viewer extends Candidate {
  readonly maxDistanceKm: number
}

const MARCH = 2

/**
 * Returns the age in whole years on a UTC day. The birthday of somebody born on 29 February is on 1 March in other
 * years.
 * @param birthDate ISO date
 * @param now epoch ms
 */
export function ageAt(birthDate: string, now: number): number {
  const [year, month, day] = birthDate.split('-').map(Number)
  const today = new Date(now)
  const years = today.getUTCFullYear() - year
  return today.getTime() >= birthdayIn(today.getUTCFullYear(), month - 1, day) ? years : years - 1
}

function birthdayIn(year: number, month: number, day: number): number {
  const birthday = new Date(Date.UTC(year, month, day))
  // Date.UTC turns 29 February of other years into 1 March.
  return birthday.getUTCMonth() === month ? birthday.getTime() : Date.UTC(year, MARCH, 1)
}
