import type { Filters, SearchRequest } from '../../../api/catalog/search/request/search-request.ts'
import { wordsOf } from '../../../state/indexes/catalog/words.ts'
import { integer, pick, type Random } from '../../../tools/random/random.ts'

const PAGE_SIZE = 24
const FALLBACK = 'lamp'

/**
 * Returns a function that makes random searches of three kinds: whole queries, the first one to three words of titles,
 * and single words of queries. Half of the searches have a filter.
 */
export function requestMaker(queries: readonly string[], titles: readonly string[]) {
  function wordsFor(random: Random): string {
    const kind = random()
    if (kind < 0.6) return pick(random, queries)
    if (kind < 0.8)
      return pick(random, titles)
        .split(' ')
        .slice(0, 1 + integer(random, 3))
        .join(' ')
    return pick(random, pick(random, queries).split(' '))
  }

  return function makeRequest(random: Random): SearchRequest {
    const words = wordsFor(random)
    const filters = random() < 0.5 ? filtersFor(random) : {}
    return {
      q: wordsOf(words).length > 0 ? words : FALLBACK,
      filters: { brands: [], attributes: new Map(), ...filters },
      category: filters.categories === undefined ? undefined : Number(filters.categories[0]),
      sort: 'relevance',
      place: { kind: 'page', page: 1 },
      pageSize: PAGE_SIZE,
      explain: false,
    }
  }
}

function filtersFor(random: Random): Partial<Filters> {
  return pick<() => Partial<Filters>>(random, [
    () => ({ brands: [`Brand ${integer(random, 50)}`] }),
    () => ({ priceMin: 2_500, priceMax: 10_000 }),
    () => ({ ratingMin: 4 }),
    () => ({ categories: [String(1 + integer(random, 100))] }),
    () => ({ attributes: new Map([['colour', ['red']]]) }),
  ])()
}
