import { expect, test } from 'vitest'
import type { SearchRequest } from '../../../../api/catalog/search/request/search-request.ts'
import { searcher } from '../../../../api/catalog/search/searcher.ts'
import { NO_SYNONYMS } from '../../../../api/catalog/search/text/synonyms.ts'
import { productsSettings } from '../../../../state/indexes/catalog/products.ts'

interface Body {
  readonly from?: number
  readonly size?: number
}

test.each([0, 20_000])(
  'if hits and facets are read by separate searches when at least %d products match, the last numbered page reads up to 10,001 products, and the index allows this',
  async (many) => {
    const asked: Body[] = []
    const answer = { hits: { total: { value: 10_002 }, hits: [], max_score: 1 }, _shards: { total: 1 }, aggregations: {} }
    const index = {
      async search(body: Body) {
        asked.push(body)
        return answer
      },
      async searchAll(bodies: readonly Body[]) {
        asked.push(...bodies)
        return bodies.map(() => answer)
      },
    }
    const search = searcher({ index, percentile: async () => null, synonyms: () => NO_SYNONYMS, now: () => 0, many })
    const request: SearchRequest = {
      q: undefined,
      filters: { brands: [], attributes: new Map() },
      category: undefined,
      sort: 'relevance',
      place: { kind: 'page', page: 100 },
      pageSize: 100,
      explain: false,
    }
    await search(request)
    const reached = asked.map(({ from = 0, size = 0 }) => from + size)
    expect(Math.max(...reached)).toBe(10_001)
    expect(productsSettings.max_result_window).toBeGreaterThanOrEqual(10_001)
  },
)
