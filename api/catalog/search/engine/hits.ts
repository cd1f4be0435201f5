import type { ProductSource } from '../../../../state/indexes/catalog/products.ts'
import type { Sort } from '../request/search-request.ts'
import type { TextPlan } from '../text/plan.ts'
import { type TextQuery, textQuery, unscored } from '../text/query.ts'
import { IS_PUBLIC } from './filters.ts'
import type { Query } from './query.ts'
import { type RelevanceMoment, scoredByRelevance } from './relevance-script.ts'

/** Names of the fields that results and explanations need. The index also stores other fields. */
const SHOWN: readonly (keyof ProductSource)[] = [
  'product_id',
  'title',
  'brand',
  'category',
  'price_cents',
  'was_cents',
  'rating',
  'rating_sum',
  'rating_count',
  'seller_id',
  'seller_rating',
  'in_stock',
  'thumbnail',
  'badges',
  'created_at',
  'sales_log',
]

export type ShownSource = Pick<ProductSource, (typeof SHOWN)[number]>

const ORDERS: Readonly<Record<Sort, readonly Query[]>> = {
  relevance: [{ _score: 'desc' }, { product_id: 'asc' }],
  price_asc: [{ price_cents: 'asc' }, { product_id: 'asc' }],
  price_desc: [{ price_cents: 'desc' }, { product_id: 'asc' }],
  rating: [{ rating_mean: 'desc' }, { product_id: 'asc' }],
  newest: [{ created_at: 'desc' }, { product_id: 'asc' }],
}

/** Sort values of the last product on a page. */
export type After = readonly [number, number]

export interface HitsSearch {
  readonly plan: TextPlan | undefined
  readonly filters: readonly Query[]
  readonly sort: Sort
  readonly moment: RelevanceMoment
  readonly size: number
  /** Either the number of products to skip, or the sort values of the last product on the previous page. */
  readonly from: number | After
}

/** Returns the body of the search request for one page of results. */
export function hitsSearch({ plan, filters, sort, moment, size, from }: HitsSearch): Query {
  const text = plan && textQuery(plan)
  const found = selecting(text, filters, sort === 'relevance')
  return {
    query: sort === 'relevance' ? moreWordsFirst(scoredByRelevance(found, moment), text) : found,
    sort: ORDERS[sort],
    size,
    ...(typeof from === 'number' ? { from } : { search_after: from }),
    _source: SHOWN,
    track_total_hits: false,
  }
}

/**
 * If products may lack some of the words, adds 1 to the relevance of a product for each required word that it contains.
 * Relevance is at most 1, so products with more of the words come first. Otherwise, a popular product that contains
 * only a few of the words could come before an unpopular product that contains all of them.
 */
function moreWordsFirst(scored: Query, text: TextQuery | undefined): Query {
  if (text?.minimumShouldMatch === undefined) return scored
  return { bool: { must: [scored], should: text.must.map((word) => ({ constant_score: { filter: unscored(word) } })) } }
}

/**
 * Returns the query that selects the products.
 * @param isScored whether the text also gives each product a score
 */
export function selecting(text: TextQuery | undefined, filters: readonly Query[], isScored: boolean): Query {
  if (text === undefined) return { bool: { filter: [IS_PUBLIC, ...filters] } }
  const { must, minimumShouldMatch, should } = text
  const matching = isScored ? must : must.map(unscored)
  const required = minimumShouldMatch === undefined ? matching : [{ bool: { should: matching, minimum_should_match: minimumShouldMatch } }]
  // The index stores words of public products only, so a search for words needs no filter that excludes other products.
  return isScored ? { bool: { must: required, should, filter: filters } } : { bool: { filter: [...required, ...filters] } }
}
