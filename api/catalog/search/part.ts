import { productSearches } from '../../../schemas/catalog/search/topics.ts'
import type { ProductSearch } from '../../../schemas/catalog/types.ts'
import { jsonAnswer } from '../../kit/answer.ts'
import { ApiError, errors } from '../../kit/errors.ts'
import { factBuffer } from '../../kit/fact-buffer.ts'
import { PRIVATE } from '../../kit/headers.ts'
import { bind } from '../../kit/route.ts'
import { shortCache } from '../../kit/short-cache.ts'
import type { ServiceKit } from '../../service.ts'
import type { CategoryTable } from '../categories/table.ts'
import type { CatalogPart } from '../part.ts'
import type { CatalogSettings } from '../settings.ts'
import { atMost } from './engine/at-most.ts'
import { type ProductIndex, searchProbe } from './engine/product-index.ts'
import { salesPercentile } from './engine/sales-percentile.ts'
import type { SearchParameters } from './request/parameters.ts'
import { readRequest } from './request/read-request.ts'
import { answerOf, type SearchAnswerBody, searchRecord } from './results/answer.ts'
import { searchRoute, suggestRoute } from './routes.ts'
import { type Found, searcher } from './searcher.ts'
import { sellerNames } from './seller-names.ts'
import { suggester } from './suggest/suggest.ts'
import { synonymsPart } from './synonyms/part.ts'
import { openSynonyms } from './synonyms/table.ts'

export interface SearchDeps
  extends Pick<ServiceKit, 'facts' | 'sharedViews' | 'smallTables' | 'metrics' | 'publicUrl' | 'log' | 'now' | 'monotonic'>,
    Pick<CatalogSettings, 'currency'> {
  readonly index: ProductIndex
  readonly categories: CategoryTable
}

/**
 * Maximum number of search records that wait for Kafka. Further records are dropped, because no caller should wait for
 * them.
 */
const MOST_WAITING_RECORDS = 10_000
/**
 * How long callers who send the same search share an answer. This time is so short that changes still appear almost at
 * once.
 */
export const SHARED_MS = 200
/**
 * Maximum number of searches that run at once. Further searches are refused. With a million products, two cores answer
 * 100 searches a second, so this many searches take about a second.
 */
export const MOST_AT_ONCE = 100
/** Maximum number of shared answers. Each answer takes about 50 KB. */
const MOST_SHARED = 200
/** How long a stopping process waits for Kafka to accept the last search records. */
const CLOSING_MS = 2_000

export interface SearchPart extends CatalogPart {
  /** Runs a search and records it. Throws the ApiErrors that the search route declares. */
  search(parameters: SearchParameters): Promise<SearchAnswerBody>
}

/** Creates the routes for searches, suggestions and synonyms. */
export async function searchPart(deps: SearchDeps): Promise<SearchPart> {
  const { index, facts, metrics, now, monotonic, publicUrl } = deps
  const table = await openSynonyms(deps)
  const categories = () => deps.categories.tree
  const find = searcher({ index, now, synonyms: () => table.synonyms, percentile: salesPercentile(index, now) })
  const shared = shortCache<string, Found>({
    load: atMost(MOST_AT_ONCE, (parameters) => find(readRequest(JSON.parse(parameters), categories))),
    keptMs: SHARED_MS,
    maxEntries: MOST_SHARED,
    now,
  })
  const suggest = suggester({ index, categories })
  const names = sellerNames(deps)
  const searches = factBuffer<string, ProductSearch>({
    open: () => facts.openLog(productSearches),
    capacity: MOST_WAITING_RECORDS,
    registry: metrics.registry,
    name: 'catalog_searches',
    log: deps.log,
  })

  async function search(parameters: SearchParameters): Promise<SearchAnswerBody> {
    const startedAt = monotonic()
    const request = readRequest(parameters, categories)
    const found = await shared.get(JSON.stringify(parameters))
    const body = await answerOf(request, found, { currency: deps.currency, categories, sellerNames: names, publicUrl, now })
    searches.offer(request.q ?? '', searchRecord(request, body, monotonic() - startedAt, now()))
    return body
  }

  const { routes, probes = [], close } = synonymsPart({ facts, table })
  return {
    search,
    probes: [...probes, searchProbe(index)],
    close: () => Promise.all([close?.(), searches.close(CLOSING_MS)]),
    routes: [
      bind(searchRoute, async ({ query, caller }) => {
        if (query.explain && !caller?.scopes.has('admin'))
          throw new ApiError(errors.forbidden, { message: 'Only administrators may ask for explanations.' })
        return jsonAnswer(200, await search(query), PRIVATE)
      }),
      bind(suggestRoute, async ({ query: { q, limit } }) => jsonAnswer(200, await suggest(q, limit), PRIVATE)),
      ...routes,
    ],
  }
}
