import { textFactorOf, WEIGHTS } from '../../../../state/indexes/catalog/relevance.ts'
import type { TextPlan } from '../text/plan.ts'
import { textQuery } from '../text/query.ts'
import { type HitsSearch, hitsSearch } from './hits.ts'
import type { ProductIndex } from './product-index.ts'
import type { Query } from './query.ts'

/** Scores are rounded to 24 bits, and a limit must not exclude what it only just allows. */
const ROUNDING = 1e-5
/** Where to begin, if no search has found a better limit: few products of a large catalogue are above. */
const FIRST_LIMIT = 0.5
/** The next query may need a somewhat lower limit. */
const ROOM = 0.02
/** How much lower the next limit is after one that left too few products. */
const STEP = 0.05

interface HitsAnswer {
  readonly hits: { readonly hits: readonly { readonly _score: number | null }[] }
}

/** Finds the hits of a page. @returns the answer to `hitsSearch`, and those to further searches of the same request */
// biome-ignore lint/suspicious/noExplicitAny: the form of the answers depends on the searches
export type HitsFinder = (hits: HitsSearch, further: readonly Query[]) => Promise<any[]>

/**
 * Finds the same hits as `hitsSearch` would. Orders many products by relevance without scoring those whose other
 * factors are too low: first above a limit that is likely low enough, and then, if necessary, above one that certainly
 * is.
 */
export function hitsAmongMany(index: ProductIndex): HitsFinder {
  let likely = FIRST_LIMIT

  return async function firstHits(hits, further) {
    if (hits.sort !== 'relevance' || typeof hits.from !== 'number') return index.searchAll([hitsSearch(hits), ...further])
    const limit = likely
    const bounds = hits.plan === undefined ? [] : greatestScores(hits.plan)
    const [first, ...others] = await index.searchAll([hitsAbove(limit, hits), ...further, ...bounds])
    const most = mostBeside(others.splice(further.length))
    const found = (first as HitsAnswer).hits.hits
    if (found.length < hits.size) {
      likely = Math.max(0, limit - STEP)
      // Above 0 are all products.
      return [limit === 0 ? first : await index.search(hitsSearch(hits)), ...others]
    }
    // No product below it can be more relevant than the last one that was found.
    const certain = (found[found.length - 1]._score ?? 0) - most
    likely = Math.max(0, certain - ROOM)
    return [certain >= limit || limit === 0 ? first : await index.search(hitsAbove(certain, hits)), ...others]
  }
}

function hitsAbove(limit: number, hits: HitsSearch): Query {
  return hitsSearch({ ...hits, filters: [...hits.filters, { range: { ceiling: { gte: limit } } }] })
}

/** Returns searches for the greatest score of each clause of the text. For them, the server skips most products. */
function greatestScores(plan: TextPlan): Query[] {
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
