import { CandidateDetails, compareTerms } from './candidate.ts'
import type { ReportedCounts } from './region-report.ts'
import { trendScore } from './score.ts'
import { NO_BASELINE } from './term-state.ts'

/**
 * Number of candidates kept per region. Personalized lists are made from them:
 * docs/services/trends.md#personalized-lists
 */
export const KEPT_TERMS = 500
/** Number of a region's best terms that are grouped into topics: docs/services/trends.md#topics */
export const FOLDED_TERMS = 100

/** A candidate whose details are decoded only when they are needed. */
export class RankedTerm {
  readonly count: number
  /** The usual count; `NO_BASELINE` if there is none. */
  readonly baseline: number
  readonly tracked: boolean
  readonly score: number
  readonly #buffer: Buffer
  readonly #at: number
  #details: CandidateDetails | undefined

  /** @param at the position of the details in the buffer */
  constructor({ count, baseline, tracked }: ReportedCounts, meanOfNewTerms: number, buffer: Buffer, at: number) {
    this.count = count
    this.baseline = baseline
    this.tracked = tracked
    this.score = trendScore(count, baseline === NO_BASELINE ? meanOfNewTerms : baseline)
    this.#buffer = buffer
    this.#at = at
  }

  get details(): CandidateDetails {
    this.#details ??= new CandidateDetails(this.#buffer, this.#at)
    return this.#details
  }

  compareTerm(other: RankedTerm): number {
    return compareTerms(this.#buffer, this.#at, other.#buffer, other.#at)
  }
}

/** Compares by score, then by term. */
export function byRank(a: RankedTerm, b: RankedTerm): number {
  return b.score - a.score || a.compareTerm(b)
}

/** Margin above a partition's expected share of the best terms, in standard deviations. */
const SPREAD_DEVIATIONS = 6
/**
 * Number of candidates that a partition sends in addition to its expected share and the margin. The best 30 terms of a
 * region are therefore complete regardless of how the terms are distributed over the partitions.
 */
const LEAST_CANDIDATES = 30

/**
 * Returns how many candidates of a region a partition sends. Terms are distributed over partitions by hash, so each
 * partition has about an equal share of the best 500. A partition exceeds that share by six standard deviations once in
 * a billion regions. In that case only the lowest ranks can be wrong. The third stage detects and counts such lists.
 */
export function candidatesPerPartition(partitions: number): number {
  return mostPerPartition(KEPT_TERMS, partitions)
}

/**
 * Returns how many of a partition's candidates may be among the region's best `FOLDED_TERMS` terms, which are grouped
 * into topics.
 */
export function drawnPerPartition(partitions: number): number {
  return mostPerPartition(FOLDED_TERMS, partitions)
}

function mostPerPartition(best: number, partitions: number): number {
  const share = best / partitions
  return Math.min(best, Math.ceil(share + SPREAD_DEVIATIONS * Math.sqrt(share)) + LEAST_CANDIDATES)
}
