import { ELO_SCALE } from './desirability.ts'
import { LEAST_SHOWN_KM, shownDistanceKm } from './distance.ts'
import { ACTIVE_WITHIN_MS } from './filters.ts'
import type { Candidate, Viewer } from './person.ts'

/** Weights of the parts of a score, version 2 (see docs/services/matches.md#ranking). They add up to 1. */
const WEIGHTS = { distance: 0.35, desirability: 0.2, recency: 0.2, likesMe: 0.15, completeness: 0.1 }

export type Interest = 'none' | 'like' | 'super_like'

export interface Ranked {
  readonly candidate: Pick<Candidate, 'userId' | 'place'>
  /** From 0 to 1. */
  readonly score: number
  readonly interest: Interest
}

/**
 * Returns how well a candidate suits a viewer, from 0 to 1: the weighted sum of five parts, each from 0 to 1.
 *
 * - distance: 1 at the smallest shown distance, falling linearly as the shown distance grows (exact distances would let
 *   viewers compute where a candidate is)
 * - desirability: 2^(-|difference of the Elo scores| / 400)
 * - recency: 1 for a candidate who is active now, falling linearly to 0 at seven days without activity
 * - likes me: 1 if the candidate likes the viewer
 * - completeness: share of the optional parts of the profile that are filled in
 */
export function scoreOf(viewer: Viewer, candidate: Candidate, interest: Interest, now: number): number {
  const near = 1 - (shownDistanceKm(viewer.place, candidate.place) - LEAST_SHOWN_KM) / viewer.maxDistanceKm
  const alike = 2 ** (-Math.abs(viewer.elo - candidate.elo) / ELO_SCALE)
  const recent = 1 - (now - candidate.lastActiveAt) / ACTIVE_WITHIN_MS
  return (
    WEIGHTS.distance * clamp(near) +
    WEIGHTS.desirability * alike +
    WEIGHTS.recency * clamp(recent) +
    WEIGHTS.likesMe * Number(interest !== 'none') +
    WEIGHTS.completeness * candidate.completeness
  )
}

/**
 * Compares two candidates. Users who super-liked the viewer come first. Otherwise, higher scores come first, and then
 * smaller user ids.
 */
export function inOrder(a: Ranked, b: Ranked): number {
  const first = Number(b.interest === 'super_like') - Number(a.interest === 'super_like')
  return first || b.score - a.score || (a.candidate.userId < b.candidate.userId ? -1 : 1)
}

function clamp(part: number): number {
  return Math.min(1, Math.max(0, part))
}
