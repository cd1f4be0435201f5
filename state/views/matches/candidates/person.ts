import type { MatchProfile } from '../../../../schemas/matches/types.ts'
import type { Place } from './cells.ts'

/** The data of a candidate that the filters and the ranking need. */
export interface Candidate {
  readonly userId: string
  readonly place: Place
  /** ISO date. */
  readonly birthDate: string
  readonly gender: string | undefined
  /** Empty if the user seeks people of every gender. */
  readonly seekingGender: readonly string[]
  readonly minAge: number
  readonly maxAge: number
  readonly elo: number
  /** Time of the last activity, epoch ms. In the candidate index, it is rounded up to a multiple of a few hours. */
  readonly lastActiveAt: number
  /** Share of the optional parts of a profile that are filled in, from 0 to 1. */
  readonly completeness: number
}

/** The user who looks for candidates. */
export interface Viewer extends Candidate {
  readonly maxDistanceKm: number
}

/**
 * Returns the age in whole years on a UTC day. In years without a leap day, a user born on 29 February has their
 * birthday on 1 March.
 * @param birthDate ISO date
 * @param now epoch ms
 */
export function ageAt(birthDate: string, now: number): number {
  const today = new Date(now)
  const years = today.getUTCFullYear() - Number(birthDate.slice(0, 4))
  const months = today.getUTCMonth() + 1 - Number(birthDate.slice(5, 7))
  const days = today.getUTCDate() - Number(birthDate.slice(8, 10))
  return months > 0 || (months === 0 && days >= 0) ? years : years - 1
}

/** Number of optional parts of a profile. A profile is complete when all of them are filled in. */
const OPTIONAL_PARTS = 4

/** Returns the share of the optional parts of a profile that are filled in, from 0 to 1. */
export function completenessOf({ gender, bio, photo_urls }: Pick<MatchProfile, 'gender' | 'bio' | 'photo_urls'>): number {
  const parts = [gender !== null, bio !== null && bio !== '', photo_urls.length > 0, photo_urls.length > 2]
  return parts.filter(Boolean).length / OPTIONAL_PARTS
}
