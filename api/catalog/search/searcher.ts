import {
  countingSearch,
  type FacetAnswer,
  type FacetSearch,
  type Facets,
  facetSearches,
  facetsOf,
  isApproximate,
  MOST_SHARD_VALUES,
  SHARD_VALUES,
} from './engine/facets.ts'
import { filterClauses, otherClauses } from './engine/filters.ts'
import { type After, hitsSearch, type ShownSource, selecting } from './engine/hits.ts'
import type { ProductIndex } from './engine/product-index.ts'
import type { Query } from './engine/query.ts'
import type { RelevanceMoment } from './engine/relevance-script.ts'
import type { SalesPercentile } from './engine/sales-percentile.ts'
import { type Cursor, readCursor } from './request/cursor.ts'
import type { SearchRequest } from './request/search-request.ts'
import { correctionsOf, doubtfulWords, spellingSearches, wordReports } from './text/corrections.ts'
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
type Corrections = ReadonlyMap<string, readonly string[]>

const NO_CORRECTIONS: Corrections = new Map()

interface SearchHit {
  readonly _id: string
  readonly _score: number | null
  readonly _source: ShownSource
  readonly sort: After
}

interface Counted {
  readonly plan: TextPlan
  /** At most ENOUGH. */
  readonly found: number
}

/** Counts without the filters, because a narrow filter is no reason to look for other words. */
function countSearch(plan: TextPlan): Query {
  return { size: 0, track_total_hits: ENOUGH, query: selecting(textQuery(plan), [], false) }
}

function countOf(answer: { readonly hits: { readonly total: { readonly value: number } } }): number {
  return answer.hits.total.value
}

/** Searches products. Throws ApiError `invalid_request` for a wrong cursor, `unavailable` and `not_ready`. */
export function searcher({ index, percentile, synonyms, now }: SearcherDeps): Searcher {
  /** Counts again with more values of each shard if some may be missing. */
  async function exactly(search: FacetSearch, answer: FacetAnswer): Promise<FacetAnswer> {
    return isApproximate(answer) ? index.search(countingSearch(search, MOST_SHARD_VALUES)) : answer
  }

  /** Asks for the hits of a page and all facets at once. */
  async function page(plan: TextPlan | undefined, request: SearchRequest, moment: RelevanceMoment, from: number | After): Promise<Found> {
    const { sort, pageSize, explain, filters, category } = request
    const clauses = otherClauses(filterClauses(filters))
    const searches = facetSearches(plan, filters)
    const [total, ...others] = searches
    // The same words and filters select the page and most facets, so one search does both. One more product than the
    // page holds shows whether another page follows.
    const hits = hitsSearch({
      plan,
      filters: clauses,
      sort,
      moment,
      size: pageSize + 1,
      from,
      aggregations: total.aggregations(SHARD_VALUES),
    })
    const answers = await index.searchAll([hits, ...others.map((search) => countingSearch(search, SHARD_VALUES))])
    const found = (answers[0].hits.hits as readonly SearchHit[]).map(({ _score, _source, sort }) => ({
      source: _source,
      score: _score,
      after: sort,
    }))
    return {
      hits: explain && plan !== undefined ? await withTextScores(plan, found) : found,
      facets: facetsOf(searches, await Promise.all(searches.map((search, at) => exactly(search, answers[at]))), filters, category),
      plan,
      moment,
    }
  }

  async function withTextScores(plan: TextPlan, found: readonly Hit[]): Promise<Hit[]> {
    const ids = found.map(({ source }) => String(source.product_id))
    const query = selecting(textQuery(plan), [{ ids: { values: ids } }], true)
    const answer = await index.search({ query, size: ids.length, _source: false, track_total_hits: false })
    const scores = new Map((answer.hits.hits as readonly SearchHit[]).map(({ _id, _score }) => [_id, _score ?? 0]))
    return found.map((hit) => ({ ...hit, textScore: scores.get(String(hit.source.product_id)) ?? 0 }))
  }

  /** Returns the narrowest plan that finds enough, or else the widest. */
  async function widened(plan: TextPlan, corrections: Corrections): Promise<Counted> {
    // Half of one word would be the word itself.
    const breadths = plan.parts.length === 1 ? WIDER.slice(0, 1) : WIDER
    const plans = breadths.map((breadth) => corrected(plan, breadth, corrections))
    const counts = (await index.searchAll(plans.map(countSearch))).map(countOf)
    const enough = counts.findIndex((count) => count >= ENOUGH)
    const chosen = enough < 0 ? plans.length - 1 : enough
    return { plan: plans[chosen], found: counts[chosen] }
  }

  /** Returns corrections of the words that may be misspelt, and what the exact words find, if `isCounted`. */
  async function looked(plan: TextPlan, isCounted: boolean): Promise<{ readonly corrections: Corrections; readonly found?: number }> {
    const words = doubtfulWords(plan)
    const searches = [...(isCounted ? [countSearch(plan)] : []), ...spellingSearches(words)]
    if (searches.length === 0) return { corrections: NO_CORRECTIONS }
    const answers = await index.searchAll(searches)
    const found = isCounted ? countOf(answers.shift()) : undefined
    return { corrections: words.length > 0 ? correctionsOf(wordReports(words, answers)) : NO_CORRECTIONS, found }
  }

  async function firstPages(request: SearchRequest, number: number, moment: RelevanceMoment): Promise<Found> {
    const from = (number - 1) * request.pageSize
    const exact = request.q === undefined ? undefined : planOf(request.q, synonyms())
    const found = await page(exact, request, moment, from)
    if (exact === undefined || found.facets.total >= ENOUGH) return found
    const isFiltered = filterClauses(request.filters).size > 0
    const { corrections, found: exactly = found.facets.total } = await looked(exact, isFiltered)
    if (exactly >= ENOUGH) return found
    const wider = await widened(exact, corrections)
    return wider.found > exactly ? page(wider.plan, request, moment, from) : found
  }

  async function nextPages(request: SearchRequest, { after, moment, breadth, corrections }: Cursor): Promise<Found> {
    const exact = request.q === undefined ? undefined : planOf(request.q, synonyms())
    const plan = exact && corrected(exact, breadth, new Map(Object.entries(corrections)))
    return page(plan, request, moment, after)
  }

  return async function searchProducts(request) {
    const { place } = request
    if (place.kind === 'cursor') return nextPages(request, readCursor(place.cursor, request))
    const moment = { now: Math.floor(now() / MINUTE_MS) * MINUTE_MS, salesPercentile: await percentile() }
    return firstPages(request, place.page, moment)
  }
}
