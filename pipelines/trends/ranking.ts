import type { TrendCandidate } from '../../schemas/trends/types.ts'
import { trendScore, velocityVsUsual } from './score.ts'
import { NO_BASELINE } from './term-state.ts'

/**
 * Number of candidates kept per region, from which personalized lists are made:
 * docs/services/trends.md#personalized-lists
 */
export const KEPT_TERMS = 500
/** Number of terms of a region, from the best down, that are grouped into topics: docs/services/trends.md#topics */
export const FOLDED_TERMS = 100

/** A ranked candidate before its trending_since is known. */
export interface RankedTerm {
  readonly candidate: TrendCandidate
  readonly score: number
  readonly velocityVsUsual: number
}

/**
 * Ranks the terms of a region by score, then by term. Terms without a baseline are compared with the mean of all terms
 * without a baseline in the region's list a minute ago.
 *   @param candidates the candidates of all partitions
 */
export function rankTerms(candidates: readonly TrendCandidate[], meanOfNewTerms: number): RankedTerm[] {
  const ranked = candidates.map((candidate): RankedTerm => {
    const usual = candidate.baseline === NO_BASELINE ? meanOfNewTerms : candidate.baseline
    return { candidate, score: trendScore(candidate.count, usual), velocityVsUsual: velocityVsUsual(candidate.count, usual) }
  })
  ranked.sort((a, b) => b.score - a.score || (a.candidate.term < b.candidate.term ? -1 : 1))
  return ranked.slice(0, KEPT_TERMS)
}

/** Margin above a partition's expected share of the best terms, in standard deviations. */
const SPREAD_DEVIATIONS = 6
/**
 * Minimum number of candidates per partition. It is at least the number of served terms, so the served terms are
 * complete regardless of how the terms are distributed.
 */
const LEAST_CANDIDATES = 30

/**
 * Returns how many candidates of a region a partition sends. Terms are distributed over partitions by hash, so each
 * partition has about an equal share of the best 500. A partition exceeds that share by six standard deviations once in
 * a billion regions. In that case only the lowest ranks can be wrong, which the merge detects and counts.
 */
export function candidatesPerPartition(partitions: number): number {
  return mostPerPartition(KEPT_TERMS, partitions)
}

/**
 * Returns how many of a partition's candidates may be among the best terms of the region, which are grouped into
 * topics.
 */
export function drawnPerPartition(partitions: number): number {
  return mostPerPartition(FOLDED_TERMS, partitions)
}

function mostPerPartition(best: number, partitions: number): number {
  const share = best / partitions
  return Math.min(best, Math.ceil(share + SPREAD_DEVIATIONS * Math.sqrt(share)) + LEAST_CANDIDATES)
}
