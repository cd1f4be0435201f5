import type { CatalogDocument } from '../../../schemas/catalog/types.ts'
import { requireSuccess } from '../../../state/indexes/answers.ts'
import { PRODUCTS_INDEX, productSourceOf, productsMappings, productsSettings } from '../../../state/indexes/catalog/products.ts'
import { productsIndex } from '../../../state/indexes/catalog/products-index.ts'
import type { SearchClient } from '../../../state/indexes/client.ts'
import { definitionOf } from '../../../state/indexes/search-index.ts'
import { FULL_PACE } from '../../../state/indexes/writer.ts'

const TIMEOUT_MS = 120_000
const LEAST_PRICE_CENTS = 100
const PRICES = 90_000
/**
 * Factor that turns a time in ms into a version. No index accepts this many changes per ms, so the first version of a
 * run is always higher than the last version of an earlier run.
 */
const VERSIONS_PER_MS = 1_000
const DEFINITION = definitionOf(productsIndex)

export type IndexLoad = ReturnType<typeof indexLoad>

/** Fills and changes a benchmark's index in the same way as the sink, but without Kafka. */
export function indexLoad(client: SearchClient, make: (number: number) => CatalogDocument, name = PRODUCTS_INDEX) {
  // Versions start from the current time, so that they are higher than the versions of an earlier run. The index of
  // that run may still exist.
  let version = Date.now() * VERSIONS_PER_MS

  async function call(method: 'PUT' | 'POST', path: string, body?: object | string): Promise<void> {
    requireSuccess(await client.call({ method, path, body, timeoutMs: TIMEOUT_MS }), `${method} ${path}`)
  }

  async function write(products: readonly CatalogDocument[]): Promise<void> {
    const lines = products.map((product) => {
      const action = { index: { _id: String(product.product_id), version: ++version, version_type: 'external_gte' } }
      return `${JSON.stringify(action)}\n${JSON.stringify(productSourceOf(product))}\n`
    })
    await call('POST', `/${name}/_bulk`, lines.join(''))
  }

  /** Returns whether an index with `count` products exists and has the current definition. */
  async function isFilled(count: number): Promise<boolean> {
    const index = await client.call({ method: 'GET', path: `/${name}` })
    if (index.body[name]?.mappings._meta?.definition !== DEFINITION) return false
    // A server that has just started is still recovering the index. This request waits until the recovery is complete.
    await client.call({ method: 'GET', path: `/_cluster/health/${name}?wait_for_status=yellow&timeout=60s`, timeoutMs: TIMEOUT_MS })
    const counted = await client.call({ method: 'GET', path: `/${name}/_count`, timeoutMs: TIMEOUT_MS })
    return counted.body.count === count
  }

  return {
    isFilled,
    /**
     * Creates the index and fills it. An existing index is deleted first.
     * @param signal stops the filling early
     * @returns the number of products that were written
     */
    async fill(count: number, pace = FULL_PACE, signal?: AbortSignal): Promise<number> {
      await client.call({ method: 'DELETE', path: `/${name}` })
      const settings = { ...productsSettings, refresh_interval: '-1' }
      const mappings = { dynamic: 'strict', ...productsMappings, _meta: { definition: DEFINITION } }
      await call('PUT', `/${name}`, { settings, mappings })
      let next = 0
      const writer = async () => {
        while (next < count && signal?.aborted !== true) {
          const from = next
          next += pace.documentsPerBulk
          const some = Array.from({ length: Math.min(pace.documentsPerBulk, count - from) }, (_, at) => make(from + at))
          await pace.inTurn(() => write(some))
        }
      }
      await Promise.all(Array.from({ length: pace.bulksInFlight }, writer))
      await call('POST', `/${name}/_refresh`)
      await call('PUT', `/${name}/_settings`, { index: { refresh_interval: '1s' } })
      return Math.min(next, count)
    },
    remove: () => client.call({ method: 'DELETE', path: `/${name}` }),
    /** Gives products new prices, and returns the changed documents. */
    async change(numbers: readonly number[]): Promise<readonly CatalogDocument[]> {
      const changed = numbers.map((number, at) => ({ ...make(number), price_cents: LEAST_PRICE_CENTS + ((version + at) % PRICES) }))
      await write(changed)
      return changed
    },
  }
}
