import { textFactorOf, WEIGHTS } from '../../../../state/indexes/catalog/relevance.ts'
import type { TextPlan } from '../text/plan.ts'
import { textQuery } from '../text/query.ts'
import type { Query } from './query.ts'

/** Scores are rounded to 24 bits, and a limit must not exclude what it only just allows. */
const ROUNDING = 1e-5
/** Where to begin, if no search has found a better limit: few products of a large catalogue are above. */
const FIRST_LIMIT = 0.5
/** The next query may need a somewhat lower limit. */
const ROOM = 0.02
const STEP = 0.05

/** Leaves out products of low `ceiling`, which cannot be among the first ones of a page. */
export interface BestFirst {
  /** The limit to try first. */
  readonly limit: number
  /**
   * Returns the limit that is certainly low enough.
   * @param lowest relevance of the last product that was found with another limit
   * @param most `mostBeside` of the query
   */
  certain(lowest: number, most: number): number
  /** Notes that a limit left too few products. */
  tooFew(): void
}

export function bestFirst(): BestFirst {
  let limit = FIRST_LIMIT
  return {
    get limit() {
      return limit
    },
    certain(lowest, most) {
      const certain = lowest - most
      limit = Math.max(0, certain - ROOM)
      return certain
    },
    tooFew() {
      limit = Math.max(0, limit - STEP)
    },
  }
}

/** Selects the products above a limit. */
export function hasCeiling(limit: number): Query {
  return { range: { ceiling: { gte: limit } } }
}

/** Returns searches for the greatest score of each clause of the text. For them, the server skips most products. */
export function greatestScores(plan: TextPlan): Query[] {
  const { must, should } = textQuery(plan)
  return [...must, ...should].map((query) => ({ query, size: 1, _source: false, track_total_hits: false }))
}

interface ScoreAnswer {
  readonly hits: { readonly max_score: number | null }
}

/** Returns the most that a product's relevance can be above its `ceiling`. @param answers to `greatestScores` */
export function mostBeside(answers: readonly ScoreAnswer[]): number {
  const score = answers.reduce((sum, { hits }) => sum + (hits.max_score ?? 0), 0)
  return WEIGHTS.text * textFactorOf(score) + WEIGHTS.recency + ROUNDING
}
