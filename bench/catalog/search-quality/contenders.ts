import { selecting } from '../../../api/catalog/search/engine/hits.ts'
import type { ProductIndex } from '../../../api/catalog/search/engine/product-index.ts'
import { searcher } from '../../../api/catalog/search/searcher.ts'
import { planOf } from '../../../api/catalog/search/text/plan.ts'
import { textQuery } from '../../../api/catalog/search/text/query.ts'
import { NO_SYNONYMS } from '../../../api/catalog/search/text/synonyms.ts'
import { wordsOf } from '../../../state/indexes/catalog/words.ts'
import { drawnPercentile } from './indexes.ts'
import { DEPTH } from './ndcg.ts'

/** A search method in the comparison. */
export interface Contender {
  readonly name: string
  /** Returns the ids of the top search results, best first. */
  search(query: string): Promise<readonly string[]>
}

interface Answer {
  readonly hits: { readonly hits: readonly { readonly _id: string }[] }
}

/**
 * Returns the contenders. The first contender uses a search server's default settings. Each of the next four contenders
 * adds one step to the previous contender, and the fifth is this service's search. The last contender is the same
 * search, with all factors except the text drawn at random.
 * @param stock an index with the server's default settings, for the first contender
 * @param products an index with the service's settings and mappings
 * @param drawn the same, but all factors of a product except its text are random
 */
export function contenders(stock: ProductIndex, products: ProductIndex, drawn: ProductIndex, now: number): readonly Contender[] {
  async function ids(index: ProductIndex, query: object): Promise<string[]> {
    const answer: Answer = await index.search({ query, size: DEPTH, _source: false, track_total_hits: false })
    return answer.hits.hits.map(({ _id }) => _id)
  }
  const spelled = (query: string) =>
    wordsOf(query)
      .map(({ text }) => text)
      .join(' ')
  const search = found(products, null, now)
  const drawnSearch = found(drawn, drawnPercentile(now), now)

  return [
    { name: 'multi_match of a new index', search: (query) => ids(stock, { multi_match: { query, fields: ['title'] } }) },
    { name: 'with our words and units', search: (query) => ids(products, { match: { 'words.exact': spelled(query) } }) },
    { name: 'with stems', search: (query) => ids(products, { match: { words: spelled(query) } }) },
    {
      name: 'with pairs, forms and names of products',
      async search(query) {
        const plan = planOf(query, NO_SYNONYMS)
        return plan === undefined ? [] : ids(products, selecting(textQuery({ ...plan, breadth: 'half' }), [], true))
      },
    },
    { name: 'search, with corrections', search },
    { name: 'the same, with all other factors drawn at random', search: drawnSearch },
  ]
}

/** Returns a function that searches an index as the service does. */
function found(index: ProductIndex, salesPercentile: number | null, now: number): Contender['search'] {
  const search = searcher({ index, percentile: async () => salesPercentile, synonyms: () => NO_SYNONYMS, now: () => now })
  const filters = { brands: [], attributes: new Map<string, string[]>() }
  return async function firstIds(q) {
    if (wordsOf(q).length === 0) return []
    const place = { kind: 'page', page: 1 } as const
    const { hits } = await search({ q, filters, category: undefined, sort: 'relevance', place, pageSize: DEPTH, explain: false })
    return hits.slice(0, DEPTH).map(({ source }) => String(source.product_id))
  }
}
