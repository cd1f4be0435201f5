import {
  countingSearch,
  type FacetAnswer,
  type FacetSearch,
  type Facets,
  facetSearches,
  facetsOf,
  isApproximate,
  MOST_SHARD_VALUES,
  pageCounts,
  shardValues,
} from './engine/facets.ts'
import { filterClauses, otherClauses } from './engine/filters.ts'
import { type After, hitsSearch, type ShownSource, selecting } from './engine/hits.ts'
import { hitsAmongMany } from './engine/hits-among-many.ts'
import type { ProductIndex } from './engine/product-index.ts'
import type { Query } from './engine/query.ts'
import type { RelevanceMoment } from './engine/relevance-script.ts'
import type { SalesPercentile } from './engine/sales-percentile.ts'
import { recent } from './recent.ts'
import { type Cursor, readCursor } from './request/cursor.ts'
import type { Filters, SearchRequest } from './request/search-request.ts'
import { correctionsOf, doubtfulWords, spellingSearches, wordReports } from './text/corrections.ts'
import { corrected, planOf, type TextPlan } from './text/plan.ts'
import { textQuery, widerBreadths } from './text/query.ts'
import type { Synonyms } from './text/synonyms.ts'

export interface Hit {
  readonly source: ShownSource
  /**
   * Relevance from 0 to 1, plus the number of required words in the product if products may lack some of them; null if
   * the results are not sorted by relevance.
   */
  readonly score: number | null
  readonly after: After
  /** The score of the text match alone. Present only if the request asked for an explanation and has words. */
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
  /**
   * If at least this number of products match, hits and facets are read by separate searches, and only products that
   * can reach the page are scored. Default `MANY`.
   */
  readonly many?: number
}

const MINUTE_MS = 60_000
/**
 * Number of products that the exact words of a query should find. If they find fewer, the search also tries corrections
 * of misspelt words, words in descriptions, and products that lack some of the words. A larger number did not improve
 * the results on the relevance judgments.
 */
export const ENOUGH = 10
/**
 * If at least this number of products match, hits and facets are read by separate searches that run at the same time. A
 * search that finds this many products takes about 5 ms. For fewer products, two searches would cost the server more
 * than they save.
 */
const MANY = 20_000
/**
 * How long a word counts as correct after a check. A word is unlikely to become doubtful in this time: either it would
 * have to disappear from all products, or a similar word would have to occur in a hundred times as many products.
 */
const WORDS_KEPT_MS = 10 * 60_000
/**
 * How long to keep the number of products with the exact words of a query, if that number is sufficient. If products
 * disappear in the meantime, the search is widened only when this time has passed.
 */
const COUNTS_KEPT_MS = 60_000
const MOST_KEPT = 20_000

type Corrections = ReadonlyMap<string, readonly string[]>

const NO_CORRECTIONS: Corrections = new Map()

interface SearchHit {
  readonly _id: string
  readonly _score: number | null
  readonly _source: ShownSource
  readonly sort: After
}

interface PagePlace {
  /** Either the number of products to skip, or the sort values of the last product on the previous page. */
  readonly from: number | After
  /** Whether hits and facets are read by separate searches; see `MANY`. */
  readonly isMany: boolean
}

interface Answer {
  readonly hits: { readonly total: { readonly value: number } }
}

/**
 * Returns a search that only counts the products that it finds. By default the search ignores filters, because a narrow
 * filter is no reason to look for other words.
 * @param most number at which counting stops
 */
function countSearch(plan: TextPlan | undefined, filters: readonly Query[] = [], most = ENOUGH): Query {
  return { size: 0, track_total_hits: most, query: selecting(plan && textQuery(plan), filters, false) }
}

function countOf({ hits }: Answer): number {
  return hits.total.value
}

/** Searches products. Throws ApiError `unavailable`, `not_ready`, and `invalid_request` for a wrong cursor. */
export function searcher({ index, percentile, synonyms, now, many = MANY }: SearcherDeps): Searcher {
  const noCounts = () => recent<number>({ keptMs: COUNTS_KEPT_MS, most: MOST_KEPT, now })
  /** Words that were recently found to be correct. */
  const rightWords = recent<true>({ keptMs: WORDS_KEPT_MS, most: MOST_KEPT, now })
  /**
   * Results of `exactCount`, keyed by query. Only queries that find enough products have an entry. The numbers depend
   * on the synonyms, so they are forgotten when a synonym changes.
   */
  let exactCounts = noCounts()
  let countedWith: Synonyms | undefined
  const firstHits = hitsAmongMany(index)
  /** The number of shards of the index, according to the last answer. */
  let shards = 1

  /** Counts facets again with more values per shard if some values may be missing. */
  async function exactly(search: FacetSearch, answer: FacetAnswer): Promise<FacetAnswer> {
    return isApproximate(answer) ? index.search(countingSearch(search, MOST_SHARD_VALUES)) : answer
  }

  /** Reads the hits of a page and all facets, normally with one request. */
  async function page(
    plan: TextPlan | undefined,
    request: SearchRequest,
    moment: RelevanceMoment,
    { from, isMany }: PagePlace,
  ): Promise<Found> {
    const { sort, pageSize, explain, filters, category } = request
    const clauses = otherClauses(filterClauses(filters))
    const most = shardValues(shards)
    const searches = facetSearches(plan, filters)
    // Requests one product more than the page shows, in order to know whether another page follows.
    const hits = { plan, filters: clauses, sort, moment, size: pageSize + 1, from }
    const [total, ...others] = searches
    const counting = others.map((search) => countingSearch(search, most))
    // The page and most facets need the same words and filters, so a single search can return both. If many products
    // match, two searches are faster, because the server runs the searches of one request in parallel.
    const [shown, ...counted] = isMany
      ? await firstHits(hits, [countingSearch(total, most), ...counting])
      : await index.searchAll([{ ...hitsSearch(hits), ...pageCounts(total, most) }, ...counting])
    if (!isMany) counted.unshift(shown)
    shards = shown._shards.total
    const found = (shown.hits.hits as readonly SearchHit[]).map(({ _score, _source, sort }) => ({
      source: _source,
      score: _score,
      after: sort,
    }))
    return {
      hits: explain && plan !== undefined ? await withTextScores(plan, found) : found,
      facets: facetsOf(searches, await Promise.all(searches.map((search, at) => exactly(search, counted[at]))), filters, category),
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

  /**
   * Returns the corrections of misspelt words, and the answers to further searches that are sent in the same request.
   */
  async function corrections(
    plan: TextPlan,
    further: readonly Query[],
  ): Promise<{ readonly found: Corrections; readonly answers: readonly Answer[] }> {
    const words = doubtfulWords(plan).filter(({ text }) => rightWords.get(text) === undefined)
    const answers: Answer[] = await index.searchAll([...further, ...spellingSearches(words)])
    if (words.length === 0) return { found: NO_CORRECTIONS, answers }
    const reports = wordReports(words, answers.splice(further.length))
    const found = correctionsOf(reports)
    for (const [text, report] of reports) if (report.found > 0 && !found.has(text)) rightWords.set(text, true)
    return { found, answers }
  }

  /**
   * Returns the narrowest plan that finds enough products. If no plan does, returns the widest plan, or undefined if
   * the widest plan finds no more than the exact words.
   * @param exactly number of products that the exact words find
   */
  async function widened(exact: TextPlan, exactly: number): Promise<TextPlan | undefined> {
    const plansWith = (found: Corrections) => widerBreadths(exact).map((breadth) => corrected(exact, breadth, found))
    // Misspelt words are rare, so the request that reads the corrections already counts the products without
    // corrections.
    let plans = plansWith(NO_CORRECTIONS)
    const { found, answers } = await corrections(
      exact,
      plans.map((plan) => countSearch(plan)),
    )
    let counts = answers.map(countOf)
    if (found.size > 0) {
      plans = plansWith(found)
      counts = (await index.searchAll(plans.map((plan) => countSearch(plan)))).map(countOf)
    }
    const enough = counts.findIndex((count) => count >= ENOUGH)
    const chosen = enough < 0 ? plans.length - 1 : enough
    return counts[chosen] > exactly ? plans[chosen] : undefined
  }

  /**
   * Returns the number of products that contain the exact words of a query. Counting stops at `many` or ENOUGH,
   * whichever is greater. If the query has no words, all public products match.
   */
  async function exactCount(q: string, plan: TextPlan | undefined): Promise<number> {
    // If the synonyms change while the server counts, the number is stored with the counts of the former synonyms.
    const counts = exactCounts
    const known = counts.get(q)
    if (known !== undefined) return known
    const count = countOf(await index.search(countSearch(plan, [], Math.max(ENOUGH, many))))
    if (count >= ENOUGH) counts.set(q, count)
    return count
  }

  /**
   * Returns whether at least `many` products match the words and the filters.
   * @param exactly number of products with the words, regardless of filters
   */
  async function findsMany(plan: TextPlan | undefined, filters: Filters, exactly: number): Promise<boolean> {
    const clauses = otherClauses(filterClauses(filters))
    if (exactly < many || clauses.length === 0) return exactly >= many
    return countOf(await index.search(countSearch(plan, clauses, many))) >= many
  }

  async function firstPages(request: SearchRequest, number: number, moment: RelevanceMoment): Promise<Found> {
    const { q } = request
    const from = (number - 1) * request.pageSize
    const current = synonyms()
    if (current !== countedWith) exactCounts = noCounts()
    countedWith = current
    const exact = q === undefined ? undefined : planOf(q, current)
    // Counts the products first. Counting is much cheaper than reading a page with facets, and a page with too few
    // products would be discarded.
    const exactly = await exactCount(q ?? '', exact)
    const wider = exact === undefined || exactly >= ENOUGH ? undefined : await widened(exact, exactly)
    const isMany = await findsMany(exact, request.filters, exactly)
    return page(wider ?? exact, request, moment, { from, isMany })
  }

  async function nextPages(request: SearchRequest, { after, moment, breadth, corrections }: Cursor): Promise<Found> {
    const exact = request.q === undefined ? undefined : planOf(request.q, synonyms())
    const plan = exact && corrected(exact, breadth, new Map(Object.entries(corrections)))
    return page(plan, request, moment, { from: after, isMany: false })
  }

  return async function searchProducts(request) {
    const { place } = request
    if (place.kind === 'cursor') return nextPages(request, readCursor(place.cursor, request))
    const moment = { now: Math.floor(now() / MINUTE_MS) * MINUTE_MS, salesPercentile: await percentile() }
    return firstPages(request, place.page, moment)
  }
}
