import { type ProductIndex, productIndex } from '../../../api/catalog/search/engine/product-index.ts'
import { SALES_HALF_LIFE_MS } from '../../../schemas/catalog/documents/sales.ts'
import type { CatalogDocument } from '../../../schemas/catalog/types.ts'
import { requireSuccess } from '../../../state/indexes/answers.ts'
import { productsMappings, productsSettings } from '../../../state/indexes/catalog/products.ts'
import type { SearchClient } from '../../../state/indexes/client.ts'
import { indexReader } from '../../../state/indexes/reader.ts'
import { productMaker } from '../search/products.ts'
import { generatedTitles } from '../search/titles.ts'

const BULK = 1_000
const PERCENTILE_UNITS = 450
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

/**
 * The definition of an index that has only titles. Apart from the number of replicas, it uses the server's defaults.
 */
export const STOCK_FORM = { settings: { number_of_replicas: 0 }, mappings: { properties: { title: { type: 'text' } } } }

export const PRODUCTS_FORM = { settings: productsSettings, mappings: { dynamic: 'strict', ...productsMappings } }

/** Returns a product that differs from others only in its id and title, so that only the text affects the order. */
export function titleOnly(id: string, title: string, now: number): CatalogDocument {
  return {
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
}

/**
 * Returns the assumed sales of a product at the 99th percentile, in the form of `sales_log`.
 * @param now epoch ms
 */
export function drawnPercentile(now: number): number {
  return now / SALES_HALF_LIFE_MS + Math.log2(PERCENTILE_UNITS)
}

/**
 * Returns a function that makes products with random sales, stars, seller ratings, age and stock. Equal ids give equal
 * products.
 * @param now epoch ms
 */
export function withDrawnFactors(now: number): (id: string, title: string) => CatalogDocument {
  const make = productMaker(generatedTitles, now)
  return function makeProduct(id, title) {
    const { created_at, rating_sum, rating_count, in_stock, sales_log, seller_rating } = make(Number(id))
    return { ...titleOnly(id, title, now), created_at, rating_sum, rating_count, in_stock, sales_log, seller_rating }
  }
}
