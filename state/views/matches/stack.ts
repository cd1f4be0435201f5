import type { ViewScript } from '../view.ts'
import { cellOf, geohashOf, type Place } from './candidates/cells.ts'
import type { Viewer } from './candidates/person.ts'
import type { Ranked } from './candidates/ranking.ts'

/**
 * The candidates that a search found, kept so that the next feed need not search again. Every candidate is checked
 * again when it is served, so a kept stack shows nobody whom the viewer has swiped or may not see.
 */
export interface Stack {
  /** Epoch ms. */
  readonly builtAt: number
  /** What the search depended on. */
  readonly basis: string
  readonly candidates: readonly StackedCandidate[]
}

export interface StackedCandidate {
  readonly userId: string
  readonly place: Place
  readonly score: number
}

/** How long a stack is valid: docs/services/matches.md#feed */
export const STACK_TTL_MS = 300_000
/** An empty stack is worth another search after this time: the first user must not wait minutes for the second. */
const EMPTY_TTL_MS = 5_000
/** With fewer candidates left, a stack is built again, but only once in a while. */
const REFILL_BELOW = 5
const REFILL_EVERY_MS = 30_000
const BASIS_PRECISION = 6

/** KEYS: 1 the stack. ARGV: 1 its JSON, 2 time to live in ms. */
export const KEEP_STACK: ViewScript = { name: 'keep-stack', source: `return redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])` }

/** What a search depends on: preferences, what others look for, and the cell of the place. */
export function basisOf({ place, maxDistanceKm, minAge, maxAge, seekingGender, gender, birthDate }: Viewer): string {
  return JSON.stringify([
    geohashOf(cellOf(place, BASIS_PRECISION)),
    maxDistanceKm,
    minAge,
    maxAge,
    seekingGender,
    gender ?? null,
    birthDate,
  ])
}

export function stackOf(ranked: readonly Ranked[], basis: string, builtAt: number): Stack {
  return { basis, builtAt, candidates: ranked.map(({ candidate: { userId, place }, score }) => ({ userId, place, score })) }
}

/**
 * Whether a stack can be served, given how many of its candidates remain.
 * @param now epoch ms
 */
export function isFresh({ builtAt, basis }: Stack, remaining: number, current: string, now: number): boolean {
  const age = now - builtAt
  if (basis !== current || age >= STACK_TTL_MS) return false
  if (remaining === 0) return age < EMPTY_TTL_MS
  return remaining >= REFILL_BELOW || age < REFILL_EVERY_MS
}

/** The time from which another request may find more. Epoch ms. */
export function nextRefillAt({ builtAt }: Stack, remaining: number): number {
  return builtAt + (remaining < REFILL_BELOW ? REFILL_EVERY_MS : STACK_TTL_MS)
}
