import { expect, test } from 'vitest'
import type { SearchRequest } from '../../../../api/catalog/search/request/search-request.ts'
import { searcher } from '../../../../api/catalog/search/searcher.ts'
import { NO_SYNONYMS, synonymsOf } from '../../../../api/catalog/search/text/synonyms.ts'

test('a query that found enough products only through a synonym is widened as soon as the synonym is removed', async () => {
  // Products have the word "couch" in their titles, and the word "sofa" only in their descriptions.
  function answer(body: object) {
    const query = JSON.stringify(body)
    const value = query.includes('"couch"') || query.includes('"description"') ? 50 : 0
    return { hits: { total: { value }, hits: [], max_score: 1 }, _shards: { total: 1 }, aggregations: {} }
  }
  const index = { search: async (body: object) => answer(body), searchAll: async (bodies: readonly object[]) => bodies.map(answer) }
  let synonyms = synonymsOf([{ terms: ['sofa', 'couch'], one_way: false }])
  const search = searcher({ index, percentile: async () => null, synonyms: () => synonyms, now: () => 0 })
  const request: SearchRequest = {
    q: 'sofa',
    filters: { brands: [], attributes: new Map() },
    category: undefined,
    sort: 'relevance',
    place: { kind: 'page', page: 1 },
    pageSize: 20,
    explain: false,
  }
  expect((await search(request)).plan?.breadth).toBe('all')
  synonyms = NO_SYNONYMS
  expect((await search(request)).plan?.breadth).toBe('described')
})
