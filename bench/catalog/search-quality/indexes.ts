import { type ProductIndex, productIndex } from '../../../api/catalog/search/engine/product-index.ts'
import type { CatalogDocument } from '../../../schemas/catalog/types.ts'
import { requireSuccess } from '../../../state/indexes/answers.ts'
import { productSourceOf, productsMappings, productsSettings } from '../../../state/indexes/catalog/products.ts'
import type { SearchClient } from '../../../state/indexes/client.ts'
import { indexReader } from '../../../state/indexes/reader.ts'

const BULK = 1_000
const TIMEOUT_MS = 60_000

/** Creates and fills an index that only the benchmark uses. Searches name the index directly, without an alias. */
export async function filledIndex(
  client: SearchClient,
  name: string,
  form: object,
  documents: ReadonlyMap<string, object>,
): Promise<ProductIndex> {
  const call = async (method: 'PUT' | 'POST', path: string, body?: object | string) =>
    requireSuccess(await client.call({ method, path, body, timeoutMs: TIMEOUT_MS }), `${method} ${path}`)
  await call('PUT', `/${name}`, form)
  const lines = [...documents].map(([id, document]) => `${JSON.stringify({ index: { _id: id } })}\n${JSON.stringify(document)}\n`)
  for (let from = 0; from < lines.length; from += BULK) await call('POST', `/${name}/_bulk`, lines.slice(from, from + BULK).join(''))
  // Merges the index into one segment, so that results do not depend on how its documents were split into segments.
  await call('POST', `/${name}/_forcemerge?max_num_segments=1`)
  await call('POST', `/${name}/_refresh`)
  return productIndex(indexReader(client), name, { timeoutMs: TIMEOUT_MS })
}

/** The form of an index that has only titles. Apart from the number of replicas, it uses the server's defaults. */
export const STOCK_FORM = { settings: { number_of_replicas: 0 }, mappings: { properties: { title: { type: 'text' } } } }

export const PRODUCTS_FORM = { settings: productsSettings, mappings: { dynamic: 'strict', ...productsMappings } }

/**
 * Returns a product that differs from other products only in its id and title, so that only the text affects the order.
 */
export function titleOnly(id: string, title: string, now: number): object {
  const document: CatalogDocument = {
    product_id: Number(id),
    is_public: true,
    revision: 1,
    seller_id: 1n,
    category_id: 1,
    title,
    description: '',
    brand: null,
    attributes: [],
    price_cents: 100,
    was_cents: null,
    created_at: now,
    thumbnail: null,
    rating_sum: 0,
    rating_count: 0,
    stars: [],
    in_stock: 'in_stock',
    sales_log: null,
    seller_rating: null,
    badges: [],
  }
  return productSourceOf(document)
}
