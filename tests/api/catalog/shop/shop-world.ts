import { categoryTree } from '../../../../api/catalog/categories/tree.ts'
import { catalogErrors } from '../../../../api/catalog/errors.ts'
import type { SearchParameters } from '../../../../api/catalog/search/request/parameters.ts'
import type { SearchAnswerBody } from '../../../../api/catalog/search/results/answer.ts'
import { shopPart } from '../../../../api/catalog/shop/part.ts'
import { isDecimalUserId } from '../../../../api/kit/auth/authorize.ts'
import { sharedFiles } from '../../../../api/kit/page/shared.ts'
import type { StoredProduct } from '../../../../schemas/catalog/products/stored.ts'
import { testApp } from '../../kit/harness.ts'

export const HOSTILE = '<img src=x onerror=alert(1)>"\'&'

const result = (product_id: number, fields: Partial<SearchAnswerBody['results'][number]> = {}) =>
  ({
    product_id,
    title: `Saw ${product_id}`,
    brand: 'Acme',
    price: { amount: 19.99, currency: 'USD', was: 25 },
    rating: { avg: 4.5, count: 2 },
    thumbnail_url: null,
    badges: ['top_rated'],
    in_stock: true,
    stock: 'in_stock',
    category: { category_id: 2, name: 'Saws' },
    seller: { id: '7', name: 'Shop' },
    ...fields,
  }) as SearchAnswerBody['results'][number]

/** Returns a search result. A test may replace some of its fields. */
export function found(fields: Partial<SearchAnswerBody> = {}): SearchAnswerBody {
  return {
    results: [result(5), result(6, { title: HOSTILE, stock: 'out_of_stock', in_stock: false })],
    facets: {
      brands: [
        { name: 'Acme', count: 2 },
        { name: 'Smith & Sons, Ltd', count: 1 },
      ],
      price_ranges: [
        { range: '0-25', count: 2 },
        { range: '500+', count: 1 },
      ],
      price_stats: { min: 1, max: 2, avg: 1.5 },
      categories: [{ category_id: 2, name: 'Saws', path: 'tools/saws', count: 2 }],
      ratings: [{ min: 4, count: 2 }],
      attributes: [{ name: 'colour', values: [{ value: 'red', count: 1 }] }],
    },
    total: 45,
    page: 1,
    page_size: 20,
    next_cursor: null,
    did_you_mean: null,
    matched: 'all',
    ...fields,
  } as SearchAnswerBody
}

/** Opens the shop on in-memory views. Its search returns `answer` and records the queries. */
export async function shopWorld() {
  const views = ['catalog-products', 'catalog-stock', 'catalog-details', 'sellers', 'category-leaders']
  const values = new Map<string, string>(views.map((view) => [`{${view}:0}:caught-up`, '1']))
  const asked: SearchParameters[] = []
  const world = { answer: async (): Promise<SearchAnswerBody> => found(), now: 0 }
  const reader = {
    get: async (key: string) => values.get(key) ?? null,
    hget: async () => null,
    hgetall: async () => ({}),
    getBuffer: async () => null,
  }
  const categories = {
    tree: categoryTree([
      { category_id: 1, parent_id: null, name: 'Tools', slug: 'tools' },
      { category_id: 2, parent_id: 1, name: 'Saws', slug: 'saws' },
    ]),
  }
  const deps = {
    ...{ views: reader, sharedViews: reader, facts: { partitionOf: () => 0, partitionsOf: () => 1 }, categories },
    ...{ publicUrl: 'http://localhost:8080', currency: 'USD', now: () => world.now },
    async search(parameters: SearchParameters) {
      asked.push(parameters)
      return await world.answer()
    },
  }
  const part = shopPart(deps as unknown as Parameters<typeof shopPart>[0])
  const service = { name: 'catalog', description: '', isUserId: isDecimalUserId, errors: Object.values(catalogErrors), probes: [] }
  const test = await testApp({ services: [{ ...service, routes: [...part.routes, sharedFiles()] }] })
  world.now = test.clock.now
  return {
    ...test,
    asked,
    world,
    put(product: StoredProduct): void {
      values.set(`{catalog-products:0}:product:${product.product_id}`, JSON.stringify(product))
    },
    values,
  }
}
