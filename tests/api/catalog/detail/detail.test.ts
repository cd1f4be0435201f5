import { expect, test } from 'vitest'
import { categoryTree } from '../../../../api/catalog/categories/tree.ts'
import { detailPart } from '../../../../api/catalog/detail/part.ts'
import { catalogErrors } from '../../../../api/catalog/errors.ts'
import { isDecimalUserId } from '../../../../api/kit/auth/authorize.ts'
import type { StoredProduct } from '../../../../schemas/catalog/products/stored.ts'
import { packNeighbours } from '../../../../schemas/recommendations/signals/packed-neighbours.ts'
import { testApp } from '../../kit/harness.ts'
import { stored } from './stored.ts'

/**
 * The views that a page needs. If one of them were incomplete, a page would lack data, or show data that has changed
 * since.
 */
const VIEWS = ['catalog-products', 'catalog-stock', 'catalog-details', 'sellers', 'category-leaders'] as const

/**
 * Creates the detail route on in-memory views, and counts the turns of the event loop in which the route reads from
 * them.
 */
async function opened() {
  const values = new Map<string, string>()
  const hashes = new Map<string, Record<string, string>>()
  const buffers = new Map<string, Buffer>()
  let turns = 0
  let isAsked = false
  function asked(): void {
    if (isAsked) return
    isAsked = true
    turns++
    setImmediate(() => {
      isAsked = false
    })
  }
  async function reply<T>(value: T): Promise<T> {
    asked()
    await new Promise((resolve) => setImmediate(resolve))
    return value
  }
  const views = {
    get: (key: string) => reply(values.get(key) ?? null),
    hget: (key: string, field: string) => reply(hashes.get(key)?.[field] ?? null),
    hgetall: (key: string) => reply(hashes.get(key) ?? {}),
    getBuffer: (key: string) => reply(buffers.get(key) ?? null),
  }
  const facts = { partitionOf: () => 0, partitionsOf: () => 1 }
  const categories = {
    tree: categoryTree([
      { category_id: 1, parent_id: null, name: 'Tools', slug: 'tools' },
      { category_id: 2, parent_id: 1, name: 'Saws', slug: 'saws' },
    ]),
  }
  let readAt = 0
  /** Number of changes that the views have reported; undefined while they do not report changes. */
  const reports: { count: number | undefined } = { count: undefined }
  const watchedViews = {
    begin() {
      const { count } = reports
      return { ...views, unchangedAt: () => (count !== undefined && reports.count === count ? readAt : undefined) }
    },
  }
  const deps = {
    ...{ views, sharedViews: views, watchedViews, facts, categories },
    publicUrl: 'http://localhost:8080',
    currency: 'USD',
    now: () => readAt,
  }
  const part = detailPart(deps as unknown as Parameters<typeof detailPart>[0])
  const service = { name: 'catalog', description: '', isUserId: isDecimalUserId, errors: Object.values(catalogErrors), probes: [] }
  const test = await testApp({ services: [{ ...service, routes: part.routes }] })
  readAt = test.clock.now
  for (const view of VIEWS) values.set(`{${view}:0}:caught-up`, '1')

  let revision = 0

  function put(product: StoredProduct): void {
    revision++
    values.set(`{catalog-products:0}:product:${product.product_id}`, JSON.stringify({ ...product, revision }))
  }

  async function get(id: number | string, headers: Record<string, string> = {}, isSameMoment = false) {
    turns = 0
    // The API keeps responses to readers without a token for a second, so the clock must advance before the next
    // request.
    if (!isSameMoment) readAt += 1_000
    const response = await test.app.request(`/api/v1/products/${id}`, { headers })
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text), turns }
  }

  return { get, put, values, hashes, buffers, reports, bearer: test.bearer }
}

test('a product is shown with its seller, stock and reviews, and the best sellers of its category', async () => {
  const { get, put, values, hashes } = await opened()
  put(stored())
  values.set('{sellers:0}:7', JSON.stringify({ name: 'Shop', rating: 4.5 }))
  values.set('{category-leaders:0}:2', '[5,6]')
  values.set('{catalog-details:0}:5', JSON.stringify({ stars: [0, 0, 0, 0, 2], badges: ['bestseller'] }))
  hashes.set('{catalog-stock:0}:variant:1281', { w1: '4 0 1', w2: '3 1 9' })
  expect(await get(5)).toMatchObject({
    status: 200,
    body: {
      category_path: ['Tools', 'Saws'],
      seller: { id: 7, name: 'Shop', rating: 4.5 },
      reviews_summary: { avg: 5, count: 2 },
      related_products: [6],
      badges: ['new', 'bestseller'],
      variants: [{ inventory: { status: 'in_stock', quantity_hint: '6-10' } }],
    },
  })
})

test('a request reads from Redis in one turn of the event loop, and needs a second turn only for a seller, a category or variants that are not known yet', async () => {
  const { get, put, values } = await opened()
  put(stored())
  expect((await get(5)).turns).toBe(2)
  expect((await get(5)).turns).toBe(1)
  put(stored({ category_id: 1 }))
  values.set('{category-leaders:0}:1', '[8]')
  expect(await get(5)).toMatchObject({ turns: 2, body: { category_path: ['Tools'], related_products: [8] } })
  expect((await get(5)).turns).toBe(1)
})

test('a product whose category, seller, reviews and stock are unknown is shown with defaults', async () => {
  const { get, put } = await opened()
  put(stored({ category_id: 99 }))
  expect(await get(5)).toMatchObject({
    status: 200,
    body: {
      category_path: [],
      seller: { name: 'seller-7', rating: null },
      reviews_summary: { avg: 0, count: 0 },
      related_products: [],
      variants: [{ inventory: { status: 'out_of_stock', quantity_hint: 'none' } }],
    },
  })
})

test.each(['DRAFT', 'INACTIVE'] as const)('a product that is %s is shown to its seller and to administrators only', async (status) => {
  const { get, put, bearer } = await opened()
  put(stored({ status }))
  for (const headers of [{}, await bearer({ sub: '7' }), await bearer({ sub: '8', scope: 'seller' })])
    expect(await get(5, headers)).toMatchObject({ status: 404, body: { error: 'product_not_found' } })
  for (const headers of [await bearer({ sub: '7', scope: 'seller' }), await bearer({ sub: 'ops', scope: 'admin' })]) {
    const answer = await get(5, headers)
    expect(answer).toMatchObject({ status: 200, body: { status } })
    expect(answer.headers.get('cache-control')).toBe('private, no-cache')
  }
})

test('a request with the ETag of an unchanged product gets 304', async () => {
  const { get, put } = await opened()
  put(stored())
  const etag = (await get(5)).headers.get('etag')!
  expect((await get(5, { 'if-none-match': etag })).status).toBe(304)
  put(stored({ title: 'Better saw' }))
  expect((await get(5, { 'if-none-match': etag })).status).toBe(200)
})

test('an unknown product gets 404, or 503 while the products are being loaded', async () => {
  const { get, values } = await opened()
  expect(await get(5)).toMatchObject({ status: 404, body: { error: 'product_not_found' } })
  values.delete('{catalog-products:0}:caught-up')
  expect(await get(5)).toMatchObject({ status: 503, body: { error: 'not_ready' } })
})

test.each(VIEWS)('a product gets 503 while the view %s is being loaded', async (view) => {
  const { get, put, values } = await opened()
  put(stored())
  values.delete(`{${view}:0}:caught-up`)
  expect(await get(5)).toMatchObject({ status: 503, body: { error: 'not_ready' } })
})

test.each(['0', '-1', 'x', '1.5', String(2 ** 45), '99999999999999999999'])('the id %s gets 400', async (id) => {
  const { get } = await opened()
  expect((await get(id)).status).toBe(400)
})

test('readers without a token share an answer for a second, and sellers see their writes at once', async () => {
  const { get, put, bearer } = await opened()
  put(stored())
  await get(5)
  put(stored({ title: 'Better saw' }))
  expect(await get(5, {}, true)).toMatchObject({ turns: 0, body: { title: 'Saw' } })
  expect((await get(5, await bearer({ sub: '7', scope: 'seller' }), true)).body.title).toBe('Better saw')
  expect((await get(5)).body.title).toBe('Better saw')
})

test('while the views report no change, readers get the kept page, and only the seller of the product and administrators get newly read data', async () => {
  const { get, put, reports, bearer } = await opened()
  reports.count = 0
  put(stored())
  for (const turns of [2, 1, 0]) expect(await get(5)).toMatchObject({ turns, body: { title: 'Saw' } })
  expect(await get(5, await bearer({ sub: '8', scope: 'seller' }))).toMatchObject({ turns: 0, body: { title: 'Saw' } })
  put(stored({ title: 'Better saw' }))
  expect((await get(5, await bearer({ sub: '7', scope: 'seller' }))).body.title).toBe('Better saw')
  put(stored({ title: 'Best saw' }))
  expect((await get(5, await bearer({ sub: '1', scope: 'admin' }))).body.title).toBe('Best saw')
  put(stored({ title: 'Saw again' }))
  expect(await get(5)).toMatchObject({ turns: 0, body: { title: 'Best saw' } })
  reports.count++
  expect((await get(5)).body.title).toBe('Saw again')
})

test('among related products, those that buyers view together come before best sellers, and only public products are shown', async () => {
  const { get, put, values, buffers } = await opened()
  put(stored())
  values.set('{category-leaders:0}:2', '[5,6]')
  const near = [8n, 9n, 6n].map((itemId, place) => ({ itemId, weight: 3 - place }))
  buffers.set('{item-neighbours:0}:of:5', packNeighbours(near))
  values.set('{item-neighbours:0}:caught-up', '1')
  values.set('{catalog-details:0}:8', JSON.stringify({ stars: [], badges: [] }))
  // Item 9 is active, but it is not a product. It could be a film.
  values.set('{recommendation-items:0}:item:9', JSON.stringify({ status: 'ACTIVE' }))
  expect((await get(5)).body.related_products).toEqual([8, 6])
})
