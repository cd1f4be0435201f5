import { type FacetAnswer, type Facets, facetSearches, facetsOf, isApproximate, MOST_SHARD_VALUES, SHARD_VALUES } from './engine/facets.ts'
import { filterClauses, otherClauses } from './engine/filters.ts'
import { type After, hitsSearch, type ShownSource, selecting } from './engine/hits.ts'
import type { ProductIndex } from './engine/product-index.ts'
import type { Query } from './engine/query.ts'
import type { RelevanceMoment } from './engine/relevance-script.ts'
import type { SalesPercentile } from './engine/sales-percentile.ts'
import { type Cursor, readCursor } from './request/cursor.ts'
import type { SearchRequest } from './request/search-request.ts'
import { correctionsOf, doubtfulWords, spellingSearch, wordReports } from './text/corrections.ts'
import { type Breadth, corrected, planOf, type TextPlan } from './text/plan.ts'
import { textQuery } from './text/query.ts'
import type { Synonyms } from './text/synonyms.ts'

export interface Hit {
  readonly source: ShownSource
  /** Relevance from 0 to 1; null for other orders. */
  readonly score: number | null
  readonly after: After
  /** The score of the text alone, if the request asked for an explanation and has words. */
  readonly textScore?: number
}

export interface Found {
  readonly hits: readonly Hit[]
  readonly facets: Facets
  readonly plan: TextPlan | undefined
  readonly moment: RelevanceMoment
}

export type Searcher = (request: SearchRequest) => Promise<Found>

export interface SearcherDeps {
  readonly index: ProductIndex
  readonly percentile: SalesPercentile
  synonyms(): Synonyms
  /** Epoch ms. */
  now(): number
}

const MINUTE_MS = 60_000
/**
 * Fewer products are too few: the search then also tries similar words, descriptions, and products that lack some of
 * the words. More would not raise the quality on the judgments.
 */
const ENOUGH = 10
const WIDER: readonly Breadth[] = ['described', 'most', 'half']
const NO_CORRECTIONS: ReadonlyMap<string, readonly string[]> = new Map()

interface SearchHit {
  readonly _id: string
  readonly _score: number | null
  readonly _source: ShownSource
  readonly sort: After
}

/** Searches products. Throws ApiError `invalid_request` for a wrong cursor, `unavailable` and `not_ready`. */
export function searcher({ index, percentile, synonyms, now }: SearcherDeps): Searcher {
  async function facetAnswer(search: ReturnType<typeof facetSearches>[number]): Promise<FacetAnswer> {
    const answer: FacetAnswer = await index.search(search.body(SHARD_VALUES))
    return isApproximate(answer) ? index.search(search.body(MOST_SHARD_VALUES)) : answer
  }

  async function facets(plan: TextPlan | undefined, { filters, category }: SearchRequest): Promise<Facets> {
    const searches = facetSearches(plan, filters)
    return facetsOf(searches, await Promise.all(searches.map(facetAnswer)), filters, category)
  }

  async function hits(plan: TextPlan | undefined, request: SearchRequest, moment: RelevanceMoment, from: number | After): Promise<Hit[]> {
    const { sort, pageSize, explain } = request
    const filters = otherClauses(filterClauses(request.filters))
    // One more than the page shows whether another page follows.
    const answer = await index.search(hitsSearch({ plan, filters, sort, moment, size: pageSize + 1, from }))
    const found = (answer.hits.hits as readonly SearchHit[]).map(({ _score, _source, sort }) => ({
      source: _source,
      score: _score,
      after: sort,
    }))
    return explain && plan !== undefined ? withTextScores(plan, found) : found
  }

  async function withTextScores(plan: TextPlan, found: readonly Hit[]): Promise<Hit[]> {
    const ids = found.map(({ source }) => String(source.product_id))
    const query = selecting(textQuery(plan), [{ ids: { values: ids } }], true)
    const answer = await index.search({ query, size: ids.length, _source: false, track_total_hits: false })
    const scores = new Map((answer.hits.hits as readonly SearchHit[]).map(({ _id, _score }) => [_id, _score ?? 0]))
    return found.map((hit) => ({ ...hit, textScore: scores.get(String(hit.source.product_id)) ?? 0 }))
  }

  /** Counts without the filters, because a narrow filter is no reason to look for other words. At most ENOUGH. */
  async function matches(plan: TextPlan): Promise<number> {
    const answer = await index.search({ size: 0, track_total_hits: ENOUGH, query: selecting(textQuery(plan), [], false) })
    return answer.hits.total.value
  }

  async function correctionsFor(plan: TextPlan): Promise<ReadonlyMap<string, readonly string[]>> {
    const words = doubtfulWords(plan)
    if (words.length === 0) return NO_CORRECTIONS
    return correctionsOf(wordReports(words, await index.search(spellingSearch(words) as Query)))
  }

  /** Returns the narrowest plan that finds enough, or else the widest. */
  async function widened(plan: TextPlan): Promise<{ readonly plan: TextPlan; readonly found: number }> {
    const corrections = await correctionsFor(plan)
    // Half of one word would be the word itself.
    const breadths = plan.parts.length === 1 ? WIDER.slice(0, 1) : WIDER
    const plans = breadths.map((breadth) => corrected(plan, breadth, corrections))
    const counts = await Promise.all(plans.map(matches))
    const enough = counts.findIndex((count) => count >= ENOUGH)
    const chosen = enough < 0 ? plans.length - 1 : enough
    return { plan: plans[chosen], found: counts[chosen] }
  }

  async function firstPages(request: SearchRequest, page: number, moment: RelevanceMoment): Promise<Found> {
    const search = async (plan: TextPlan | undefined): Promise<Found> => {
      const [found, counted] = await Promise.all([hits(plan, request, moment, (page - 1) * request.pageSize), facets(plan, request)])
      return { hits: found, facets: counted, plan, moment }
    }
    const exact = request.q === undefined ? undefined : planOf(request.q, synonyms())
    const found = await search(exact)
    if (exact === undefined || found.facets.total >= ENOUGH) return found
    const isFiltered = filterClauses(request.filters).size > 0
    const exactly = isFiltered ? await matches(exact) : found.facets.total
    if (exactly >= ENOUGH) return found
    const wider = await widened(exact)
    return wider.found > exactly ? search(wider.plan) : found
  }

  async function nextPages(request: SearchRequest, { after, moment, breadth, corrections }: Cursor): Promise<Found> {
    const exact = request.q === undefined ? undefined : planOf(request.q, synonyms())
    const plan = exact && corrected(exact, breadth, new Map(Object.entries(corrections)))
    const [found, counted] = await Promise.all([hits(plan, request, moment, after), facets(plan, request)])
    return { hits: found, facets: counted, plan, moment }
  }

  return async function searchProducts(request) {
    const { place } = request
    if (place.kind === 'cursor') return nextPages(request, readCursor(place.cursor, request))
    const moment = { now: Math.floor(now() / MINUTE_MS) * MINUTE_MS, salesPercentile: await percentile() }
    return firstPages(request, place.page, moment)
  }
}
