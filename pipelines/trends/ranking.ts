import type { NewTermMoment, TrendCandidate, TrendEntry } from '../../schemas/trends/types.ts'
import { labelOf, trendScore, velocityOf, velocityVsUsual } from './score.ts'
import { NO_BASELINE } from './term-state.ts'
import { MINUTE_MS } from './time.ts'

/** Candidates kept per region, which personalized lists choose from: docs/services/trends.md#personalized-lists */
export const KEPT_TERMS = 500

/** Moments remembered: enough that one from a minute ago is among them, at two a minute. */
const KEPT_MOMENTS = 6

/** A ranked candidate, before it is known since when it trends. */
export interface RankedTerm {
  readonly candidate: TrendCandidate
  readonly score: number
  readonly velocityVsUsual: number
}

/**
 * The best terms of a region, by score, then by term. Terms without baseline are measured against the mean of all such terms a minute ago.
 * @param candidates of all partitions of the terms
 */
export function rankTerms(candidates: readonly TrendCandidate[], meanOfNewTerms: number): RankedTerm[] {
  const ranked = candidates.map((candidate): RankedTerm => {
    const usual = candidate.baseline === NO_BASELINE ? meanOfNewTerms : candidate.baseline
    return { candidate, score: trendScore(candidate.count, usual), velocityVsUsual: velocityVsUsual(candidate.count, usual) }
  })
  ranked.sort((a, b) => b.score - a.score || (a.candidate.term < b.candidate.term ? -1 : 1))
  return ranked.slice(0, KEPT_TERMS)
}

export function entryOf({ candidate, score, velocityVsUsual: velocity }: RankedTerm, trendingSince: number): TrendEntry {
  return {
    term: candidate.term,
    name: candidate.name,
    tweet_volume: candidate.count,
    volume_24h: candidate.day,
    velocity: velocityOf(candidate.count, candidate.hour_ago),
    velocity_vs_usual: velocity,
    score,
    label: labelOf(velocity),
    trending_since: trendingSince,
    sample_tweets: candidate.sample_tweets,
  }
}

/** Candidates for each partition so that the region's best are surely among them all (see `candidatesPerPartition`). */
const SPREAD_DEVIATIONS = 6
/** The served terms are complete whatever the spread, with some to spare. */
const LEAST_CANDIDATES = 30

/**
 * How many candidates of a region a partition sends. Terms are spread over partitions by hash, so each holds about its share of the best 500; six
 * standard deviations above it are exceeded once in a billion regions, and then the lowest ranks alone can be wrong, which the merge notices and counts.
 */
export function candidatesPerPartition(partitions: number): number {
  const share = KEPT_TERMS / partitions
  return Math.min(KEPT_TERMS, Math.ceil(share + SPREAD_DEVIATIONS * Math.sqrt(share)) + LEAST_CANDIDATES)
}

/** Adds a partition's totals of terms without baseline to those of the same moment. */
export function addTotals(moments: NewTermMoment[], windowEnd: number, volume: number, terms: number): void {
  const known = moments.find((moment) => moment.window_end === windowEnd)
  if (known === undefined) moments.push({ window_end: windowEnd, partitions: 1, volume, terms })
  else {
    known.partitions++
    known.volume += volume
    known.terms += terms
  }
  moments.sort((a, b) => a.window_end - b.window_end)
  if (moments.length > KEPT_MOMENTS) moments.splice(0, moments.length - KEPT_MOMENTS)
}

/** Mean window count of a term without baseline, a minute before `windowEnd` or the last time that all partitions reported before that; 0 when never. */
export function meanOfNewTerms(moments: readonly NewTermMoment[], windowEnd: number): number {
  const partitions = Math.max(0, ...moments.map((moment) => moment.partitions))
  const before = moments.findLast((moment) => moment.window_end <= windowEnd - MINUTE_MS && moment.partitions === partitions)
  return before === undefined || before.terms === 0 ? 0 : before.volume / before.terms
}
