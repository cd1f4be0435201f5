import { PRICE_BANDS } from '../../../../state/indexes/catalog/bands.ts'
import type { Filters } from '../request/search-request.ts'
import type { TextPlan } from '../text/plan.ts'
import { textQuery } from '../text/query.ts'
import { type Dimension, filterClauses, otherClauses } from './filters.ts'
import { selecting } from './hits.ts'
import type { Query } from './query.ts'

export const MOST_BRANDS = 50
export const MOST_CATEGORIES = 50
export const MOST_ATTRIBUTES = 200
const STARS = [4, 3, 2, 1] as const
const BANDS_OF_STARS = 6

/**
 * Number of values that each shard reports if there are several shards. If a report might lack a value, the search is
 * repeated with MOST_SHARD_VALUES, so counts are exact as long as no shard has more values than that. A single shard's
 * counts are always exact, so it does not have to report additional values.
 */
const SHARD_VALUES = 1_000
export const MOST_SHARD_VALUES = 60_000

/** Returns how many values each shard should report, unless a facet needs more. */
export function shardValues(shards: number): number {
  return shards === 1 ? 1 : SHARD_VALUES
}

/** A search for one or more facets that have the same filters. */
export interface FacetSearch {
  readonly dimensions: readonly Dimension[]
  /**
   * Whether the search applies all filters. If it does, the number of products that it finds is the total number of
   * results.
   */
  readonly isTotal: boolean
  /** Selects the products that are counted. */
  readonly query: Query
  /**
   * Returns the aggregation clauses, which count the products of each value.
   * @param most number of values that each shard reports, unless a facet needs more
   */
  aggregations(most: number): Query
}

/**
 * Returns a search that returns counts but no hits.
 * @param most number of values that each shard reports, unless a facet needs more
 */
export function countingSearch({ isTotal, query, aggregations }: FacetSearch, most: number): Query {
  return { size: 0, track_total_hits: isTotal, query, aggs: aggregations(most) }
}

/**
 * Returns the clauses that add the counts to a search for hits. The search for hits must find the same products as the
 * FacetSearch.
 */
export function pageCounts({ isTotal, aggregations }: FacetSearch, most: number): Query {
  return { track_total_hits: isTotal, aggs: aggregations(most) }
}

/**
 * Returns the searches for the total and the facets, the search for the total first. Each facet is counted under all
 * filters except its own, so each facet that has a filter needs a separate search.
 */
export function facetSearches(plan: TextPlan | undefined, filters: Filters): FacetSearch[] {
  const text = plan && textQuery(plan)
  const clauses = filterClauses(filters)
  const always: Dimension[] = ['brand', 'price', 'category', 'rating', 'attribute:']
  const search = (dimensions: readonly Dimension[], own?: Dimension): FacetSearch => ({
    dimensions,
    isTotal: own === undefined,
    query: selecting(text, otherClauses(clauses, own), false),
    aggregations: (most) => Object.assign({}, ...dimensions.map((dimension) => counts(dimension, filters, most))),
  })
  return [search(always.filter((dimension) => !clauses.has(dimension))), ...[...clauses.keys()].map((own) => search([own], own))]
}

function counts(dimension: Dimension, filters: Filters, most: number): Query {
  const values = (field: string, size: number) => ({ terms: { field, size, shard_size: Math.max(size, most) } })
  switch (dimension) {
    case 'brand':
      return { brands: values('brand', MOST_BRANDS), ...(filters.brands.length > 0 && { chosen_brands: each('brand', filters.brands) }) }
    case 'price':
      return { prices: values('price_band', PRICE_BANDS.length), price_stats: { stats: { field: 'price_cents' } } }
    case 'category':
      return {
        categories: values('category', MOST_CATEGORIES),
        ...(filters.categories && { chosen_category: { filter: { terms: { category: filters.categories } } } }),
      }
    case 'rating':
      return { ratings: values('rating_band', BANDS_OF_STARS) }
    default: {
      const name = dimension.slice('attribute:'.length)
      const chosen = filters.attributes.get(name)?.map((value) => `${name}:${value}`)
      return { attributes: values('attributes', MOST_ATTRIBUTES), ...(chosen && { chosen_attributes: each('attributes', chosen) }) }
    }
  }
}

/** Returns an aggregation that counts the given values, even rare ones. */
function each(field: string, values: readonly string[]): Query {
  return { filters: { filters: values.map((value) => ({ term: { [field]: value } })) } }
}

/** The parts of the answer to a FacetSearch from which the facets are computed. */
export interface FacetAnswer {
  readonly _shards: { readonly total: number }
  readonly hits: { readonly total?: { readonly value: number } }
  readonly aggregations?: FacetCounts
}

export interface Terms {
  readonly doc_count_error_upper_bound: number
  readonly buckets: readonly Bucket[]
}

export interface Bucket {
  readonly key: string
  readonly doc_count: number
}

export interface FacetCounts {
  readonly brands?: Terms
  readonly chosen_brands?: { readonly buckets: readonly { readonly doc_count: number }[] }
  readonly prices?: Terms
  readonly price_stats?: { readonly count: number; readonly min: number | null; readonly max: number | null; readonly avg: number | null }
  readonly categories?: Terms
  readonly chosen_category?: { readonly doc_count: number }
  readonly ratings?: Terms
  readonly attributes?: Terms
  readonly chosen_attributes?: { readonly buckets: readonly { readonly doc_count: number }[] }
}

/** Returns whether a shard may have left out a value that would change a count. */
export function isApproximate({ aggregations }: FacetAnswer): boolean {
  const { brands, categories, attributes } = aggregations ?? {}
  return [brands, categories, attributes].some((terms) => (terms?.doc_count_error_upper_bound ?? 0) > 0)
}

/** Facets in the form of the API, but without the names and paths of categories, and with price statistics in cents. */
export interface Facets {
  readonly total: number
  readonly brands: readonly { readonly name: string; readonly count: number }[]
  readonly price_ranges: readonly { readonly range: string; readonly count: number }[]
  readonly price_stats: { readonly min: number; readonly max: number; readonly avg: number } | null
  readonly categories: readonly { readonly category_id: number; readonly count: number }[]
  readonly ratings: readonly { readonly min: number; readonly count: number }[]
  readonly attributes: readonly { readonly name: string; readonly values: readonly { readonly value: string; readonly count: number }[] }[]
}

/**
 * Computes the facets from the answers of all searches.
 * @param category id of the chosen category
 */
export function facetsOf(
  searches: readonly FacetSearch[],
  answers: readonly FacetAnswer[],
  filters: Filters,
  category: number | undefined,
): Facets {
  const byDimension = new Map(
    searches.flatMap(({ dimensions }, at) => dimensions.map((each) => [each, answers[at].aggregations ?? {}] as const)),
  )
  const total = answers[0].hits.total?.value ?? 0
  const prices = byDimension.get('price')!
  const categories = byDimension.get('category')!
  const brands = byDimension.get('brand')!
  return {
    total,
    brands: withChosen(brands.brands, brands.chosen_brands, filters.brands).map(({ key, doc_count }) => ({ name: key, count: doc_count })),
    price_ranges: PRICE_BANDS.map((range) => ({ range, count: prices.prices?.buckets.find(({ key }) => key === range)?.doc_count ?? 0 })),
    price_stats: priceStats(prices),
    categories: categoryCounts(categories, category),
    ratings: ratingCounts(byDimension.get('rating')!),
    attributes: attributeCounts(byDimension, filters),
  }
}

function withChosen(terms: Terms | undefined, counted: FacetCounts['chosen_brands'], chosen: readonly string[]): Bucket[] {
  const listed = terms?.buckets ?? []
  const known = new Set(listed.map(({ key }) => key))
  const missing = chosen.map((key, at) => ({ key, doc_count: counted?.buckets[at]?.doc_count ?? 0 })).filter(({ key }) => !known.has(key))
  return [...listed, ...missing]
}

function priceStats({ price_stats }: FacetCounts): Facets['price_stats'] {
  if (price_stats === undefined || price_stats.count === 0) return null
  return { min: price_stats.min!, max: price_stats.max!, avg: price_stats.avg! }
}

/**
 * Each category counts only its own products, except that the chosen category also counts the products of its
 * descendants.
 */
function categoryCounts({ categories, chosen_category }: FacetCounts, chosen: number | undefined): Facets['categories'] {
  const listed = (categories?.buckets ?? []).map(({ key, doc_count }) => ({ category_id: Number(key), count: doc_count }))
  if (chosen === undefined) return listed
  return [{ category_id: chosen, count: chosen_category?.doc_count ?? 0 }, ...listed.filter(({ category_id }) => category_id !== chosen)]
}

function ratingCounts({ ratings }: FacetCounts): Facets['ratings'] {
  const buckets = ratings?.buckets ?? []
  return STARS.map((min) => ({ min, count: buckets.reduce((sum, { key, doc_count }) => (Number(key) >= min ? sum + doc_count : sum), 0) }))
}

function attributeCounts(byDimension: ReadonlyMap<Dimension, FacetCounts>, filters: Filters): Facets['attributes'] {
  const byName = new Map<string, { value: string; count: number }[]>()
  const add = ({ key, doc_count }: Bucket) => {
    const end = key.indexOf(':')
    const name = key.slice(0, end)
    const values = byName.get(name) ?? []
    values.push({ value: key.slice(end + 1), count: doc_count })
    byName.set(name, values)
  }
  for (const [name, values] of filters.attributes) {
    const own = byDimension.get(`attribute:${name}`)
    const chosen = values.map((value) => `${name}:${value}`)
    withChosen(own?.attributes, own?.chosen_attributes, chosen)
      .filter(({ key }) => key.startsWith(`${name}:`))
      .forEach(add)
  }
  for (const bucket of byDimension.get('attribute:')?.attributes?.buckets ?? [])
    if (!filters.attributes.has(bucket.key.slice(0, bucket.key.indexOf(':')))) add(bucket)
  return [...byName].map(([name, values]) => ({ name, values }))
}
