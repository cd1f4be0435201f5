import { textFactorOf, WEIGHTS } from '../../../../state/indexes/catalog/relevance.ts'
import type { TextPlan } from '../text/plan.ts'
import { textQuery } from '../text/query.ts'
import { type HitsSearch, hitsSearch } from './hits.ts'
import type { ProductIndex } from './product-index.ts'
import type { Query } from './query.ts'

/**
 * Tolerance for rounding errors, because scores have only 24 significant bits. Without it, a product that reaches a
 * limit exactly might be excluded.
 */
const ROUNDING = 1e-5
/**
 * Limit of the process's first search, which skips products whose indexed `ceiling` is lower. Few products of a large
 * catalogue reach this limit. Later searches use limits that earlier searches found.
 */
const FIRST_LIMIT = 0.5
/**
 * Safety margin. The next query may need a slightly lower limit than this query, so it begins with the limit that was
 * certainly low enough for this query, minus this margin.
 */
const ROOM = 0.02
/** By how much the limit is lowered for the next query if too few products reached the limit of this query. */
const STEP = 0.05

interface HitsAnswer {
  readonly hits: { readonly hits: readonly { readonly _score: number | null }[] }
}

/**
 * Finds the hits of a page.
 * @returns the answers to `hitsSearch` and to the further searches of the same request
 */
// biome-ignore lint/suspicious/noExplicitAny: the form of the answers depends on the searches
export type HitsFinder = (hits: HitsSearch, further: readonly Query[]) => Promise<any[]>

/**
 * Finds the same hits as `hitsSearch`, but does not score products whose `ceiling` is too low to reach the page. The
 * first search uses a limit that is probably low enough. If that limit turns out to be too high, a second search uses a
 * limit that is certainly low enough, or no limit.
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
      // A limit of 0 excludes no product.
      return [limit === 0 ? first : await index.search(hitsSearch(hits)), ...others]
    }
    // A product whose ceiling is below this limit cannot be more relevant than the last product that was found.
    const certain = (found[found.length - 1]._score ?? 0) - most
    likely = Math.max(0, certain - ROOM)
    return [certain >= limit || limit === 0 ? first : await index.search(hitsAbove(certain, hits)), ...others]
  }
}

function hitsAbove(limit: number, hits: HitsSearch): Query {
  return hitsSearch({ ...hits, filters: [...hits.filters, { range: { ceiling: { gte: limit } } }] })
}

/**
 * Returns searches that find the highest score of each clause of the text. The server can skip most products in these
 * searches.
 */
function greatestScores(plan: TextPlan): Query[] {
  const { must, should } = textQuery(plan)
  return [...must, ...should].map((query) => ({ query, size: 1, _source: false, track_total_hits: false }))
}

interface ScoreAnswer {
  readonly hits: { readonly max_score: number | null }
}

/**
 * Returns the maximum by which the relevance of a product can exceed its `ceiling`.
 * @param answers the answers to `greatestScores`
 */
export function mostBeside(answers: readonly ScoreAnswer[]): number {
  const score = answers.reduce((sum, { hits }) => sum + (hits.max_score ?? 0), 0)
  return WEIGHTS.text * textFactorOf(score) + WEIGHTS.recency + ROUNDING
}
