import { PRODUCTS_INDEX } from '../../../../state/indexes/catalog/products.ts'
import type { IndexReader } from '../../../../state/indexes/reader.ts'
import { NOT_COMPLETE } from '../../../../state/indexes/reader.ts'
import { TargetUnavailableError } from '../../../../state/unavailable.ts'
import { ApiError, errors } from '../../../kit/errors.ts'
import type { Query } from './query.ts'

/** Searches the products of the catalogue. */
export interface ProductIndex {
  /**
   * @returns the search server's answer, which covers all products. Its form depends on the search.
   * @throws ApiError `unavailable` when the server is away, `not_ready` when the index is not complete
   */
  // biome-ignore lint/suspicious/noExplicitAny: the form of the answer depends on the search
  search(body: Query): Promise<any>
}

export function productIndex(reader: IndexReader): ProductIndex {
  return {
    async search(body) {
      const answer = await reader.search(PRODUCTS_INDEX, body).catch(asApiError)
      if (answer === NOT_COMPLETE)
        throw new ApiError(errors.not_ready, { message: 'The index of products is being built. Try again shortly.' })
      return answer
    },
  }
}

function asApiError(error: unknown): never {
  if (error instanceof TargetUnavailableError)
    throw new ApiError(errors.unavailable, { message: 'Search is unavailable now. Try again shortly.' })
  throw error
}
