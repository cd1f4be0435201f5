import type { ProductSource } from '../../../../state/indexes/catalog/products.ts'
import { lastWordAsTyped, wordsOf } from '../../../../state/indexes/catalog/words.ts'
import type { CategoryTree } from '../../categories/tree.ts'
import { atMost } from '../engine/at-most.ts'
import { IS_PUBLIC } from '../engine/filters.ts'
import type { ProductIndex } from '../engine/product-index.ts'
import { categoryNames } from './category-names.ts'

const MOST_BRANDS = 5
const MOST_CATEGORIES = 5
const COUNTED_BRANDS = 50
/**
 * Maximum number of requests for suggestions that run at once. Further requests are refused, so that searches are not
 * crowded out.
 */
const MOST_AT_ONCE = 100

export interface SuggestDeps {
  readonly index: ProductIndex
  readonly categories: () => CategoryTree
}

interface Answer {
  readonly hits: { readonly hits: readonly { readonly _source: Pick<ProductSource, 'product_id' | 'title'> }[] }
  readonly aggregations: { readonly brands: { readonly buckets: readonly { readonly key: string }[] } }
}

/**
 * Suggests titles, brands and categories for a query whose last word may be incomplete. The titles of the best products
 * come first. Throws ApiError `not_ready`, and `unavailable`, for example while too many suggestions are running.
 */
export function suggester({ index, categories }: SuggestDeps) {
  const namesIn = categoryNames()
  return atMost(MOST_AT_ONCE, async function suggest(q: string, limit: number) {
    const readings = readingsOf(q)
    if (readings.length === 0) return { suggestions: [], brands: [], categories: [] }
    const should = readings.map((words) => ({
      match_bool_prefix: { 'words.exact': { query: words.join(' '), operator: 'and' } },
    }))
    const answer: Answer = await index.search({
      query: { bool: { filter: [IS_PUBLIC, { bool: { should } }] } },
      sort: [{ quality: 'desc' }, { product_id: 'asc' }],
      // Reads more products than the number of titles to suggest, because several products may have the same title.
      size: 2 * limit,
      _source: ['product_id', 'title'],
      track_total_hits: false,
      aggs: { brands: { terms: { field: 'brand', size: COUNTED_BRANDS } } },
    })
    const titles = new Map<string, number>()
    for (const { _source: source } of answer.hits.hits) if (!titles.has(source.title)) titles.set(source.title, source.product_id)
    const tree = categories()
    const named = await namesIn(tree)
    return {
      suggestions: [...titles].slice(0, limit).map(([text, product_id]) => ({ text, product_id })),
      brands: answer.aggregations.brands.buckets
        .map(({ key }) => key)
        .filter((name) => startsAny(name, readings.flat()))
        .slice(0, MOST_BRANDS),
      categories: named
        .values()
        .filter((category) => readings.some((words) => startsAll(category.words, words)))
        .take(MOST_CATEGORIES)
        .map(({ category: { category_id, name } }) => ({ category_id, name, path: tree.slugPathOf(category_id) ?? '' }))
        .toArray(),
    }
  })
}

/**
 * Returns the lists of words that a query may mean; none if it has no words. There are two lists if the last word
 * follows no number and is an alternative spelling of a unit: `foot` may stand for `ft` or be the beginning of
 * `footrest`.
 */
function readingsOf(q: string): string[][] {
  const found = wordsOf(q)
  const words = found.filter(({ kind }) => kind !== 'measure').map(({ text }) => text)
  if (words.length === 0) return []
  const typed = lastWordAsTyped(q)
  const isRespelled = found.at(-1)?.kind !== 'measure' && typed !== undefined && typed !== words.at(-1)
  return isRespelled ? [words, [...words.slice(0, -1), typed]] : [words]
}

/** Returns whether each word of the query is the beginning of a word in the name. */
function startsAll(name: readonly string[], words: readonly string[]): boolean {
  return words.every((word) => name.some((part) => part.startsWith(word)))
}

function startsAny(name: string, words: readonly string[]): boolean {
  const parts = wordsOf(name).map(({ text }) => text)
  return words.some((word) => parts.some((part) => part.startsWith(word)))
}
