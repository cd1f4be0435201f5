import { PRODUCTS_INDEX } from '../../../../state/indexes/catalog/products.ts'
import type { IndexReader, SearchOptions } from '../../../../state/indexes/reader.ts'
import { NOT_COMPLETE } from '../../../../state/indexes/reader.ts'
import { TargetUnavailableError } from '../../../../state/unavailable.ts'
import { ApiError, errors, reasonOf } from '../../../kit/errors.ts'
import type { ReadinessProbe } from '../../../kit/readiness.ts'
import type { Query } from './query.ts'

/** Searches the products of the catalogue. */
export interface ProductIndex {
  /**
   * Runs a search on all products.
   * @returns the answer of the search server. Its form depends on the search.
   * @throws ApiError `unavailable` if the server does not respond, `not_ready` if the index is not complete
   */
  // biome-ignore lint/suspicious/noExplicitAny: the form of the answer depends on the search
  search(body: Query): Promise<any>
  /**
   * Sends several searches in one request.
   * @returns the answers, in the order of the searches
   * @throws the same errors as `search`
   */
  // biome-ignore lint/suspicious/noExplicitAny: the form of the answers depends on the searches
  searchAll(bodies: readonly Query[]): Promise<any[]>
}

/**
 * Opens an index of products for searches.
 * @param name name of an index with the same fields as the product index
 */
export function productIndex(reader: IndexReader, name = PRODUCTS_INDEX, options: SearchOptions = {}): ProductIndex {
  return {
    search: async (body) => complete(await reader.search(name, body, options).catch(asApiError)),
    searchAll: async (bodies) => complete(await reader.searchAll(name, bodies, options).catch(asApiError)),
  }
}

function complete<T>(answer: T | typeof NOT_COMPLETE): T {
  if (answer === NOT_COMPLETE) throw new ApiError(errors.not_ready, { message: 'The index of products is being built. Try again shortly.' })
  return answer
}

function asApiError(cause: unknown): never {
  if (cause instanceof TargetUnavailableError)
    throw new ApiError(errors.unavailable, { message: 'Search is unavailable now. Try again shortly.', cause })
  throw cause
}

/** Creates the probe of the index. The process stays ready without the index, because only searches need it. */
export function searchProbe(index: Pick<ProductIndex, 'search'>): ReadinessProbe {
  return {
    name: 'search',
    optional: true,
    async check() {
      try {
        await index.search({ size: 0, track_total_hits: false, terminate_after: 1 })
        return undefined
      } catch (error) {
        return reasonOf(error)
      }
    },
  }
}
