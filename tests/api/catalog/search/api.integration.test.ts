import { randomUUID } from 'node:crypto'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { categoryTree } from '../../../../api/catalog/categories/tree.ts'
import { catalogErrors } from '../../../../api/catalog/errors.ts'
import { productIndex } from '../../../../api/catalog/search/engine/product-index.ts'
import { type SearchPart, searchPart } from '../../../../api/catalog/search/part.ts'
import { isDecimalUserId } from '../../../../api/kit/auth/authorize.ts'
import { productMaker } from '../../../../bench/catalog/search/products.ts'
import type { CatalogDocument, SynonymGroup } from '../../../../schemas/catalog/types.ts'
import { requireSuccess } from '../../../../state/indexes/answers.ts'
import { productSourceOf, productsMappings, productsSettings } from '../../../../state/indexes/catalog/products.ts'
import { TEXT_HALF } from '../../../../state/indexes/catalog/relevance.ts'
import { searchClient } from '../../../../state/indexes/client.ts'
import { indexReader } from '../../../../state/indexes/reader.ts'
import { testStack } from '../../../stack/index.ts'
import { START, testApp } from '../../kit/harness.ts'

const SETUP_TIMEOUT_MS = 120_000
const SHARED_MS = 200

const name = `search-api-${randomUUID()}`
const make = productMaker(() => 'unused', START)
const product = (at: number, fields: Partial<CatalogDocument>): CatalogDocument => ({
  ...make(at),
  category_id: 2,
  brand: null,
  in_stock: 'in_stock',
  rating_sum: 0,
  rating_count: 0,
  ...fields,
})
const documents = [
  product(1, { title: 'Cordless drill 18 V', brand: 'Makita', rating_sum: 100, rating_count: 20 }),
  product(2, { title: 'Cordless drill 18 V', brand: 'Makita' }),
  product(3, { title: 'Cordial glass', brand: 'Cordova Works' }),
  product(4, { title: 'Leather sofa' }),
  product(5, { title: 'Velvet couch' }),
  product(6, { title: '', is_public: false, attributes: [] }),
  product(7, { title: 'Padded footrest', brand: 'Gardenia' }),
]

let api: Awaited<ReturnType<typeof testApp>>
let part: SearchPart
let admin: Record<string, string>
/** The clock, epoch ms. Tests advance it so far that a search does not reuse the result of an earlier, equal search. */
let now = START

beforeAll(async () => {
  const client = searchClient(await testStack().search())
  const call = async (method: 'PUT' | 'POST', path: string, body: object | string) =>
    requireSuccess(await client.call({ method, path, body, timeoutMs: 60_000 }), path)
  await call('PUT', `/${name}`, { settings: productsSettings, mappings: { dynamic: 'strict', ...productsMappings } })
  const lines = documents.map((one) => `{"index":{"_id":"${one.product_id}"}}\n${JSON.stringify(productSourceOf(one))}\n`)
  await call('POST', `/${name}/_bulk?refresh=true`, lines.join(''))

  const groups = new Map<string, SynonymGroup>()
  let changed: () => void = () => undefined
  const deps = {
    index: productIndex(indexReader(client), name, { timeoutMs: 20_000 }),
    categories: { tree: categoryTree([{ category_id: 2, parent_id: null, name: 'Cordless tools', slug: 'cordless' }]) },
    facts: {
      partitionOf: () => 0,
      openLog: async () => ({ append: async () => undefined }),
      async publish(_topic: unknown, key: string, value: SynonymGroup | null) {
        if (value === null) groups.delete(key)
        else groups.set(key, value)
        changed()
      },
    },
    async smallTables(_topic: unknown, { onChange }: { onChange(): void }) {
      changed = onChange
      return { entries: () => groups, probes: [], close: async () => undefined }
    },
    sharedViews: { get: async () => null },
    metrics: { registry: new Registry() },
    log: { warn: () => undefined, error: () => undefined },
    ...{ publicUrl: 'http://localhost:8080', currency: 'USD', now: () => now, monotonic: () => now },
  }
  part = await searchPart(deps as unknown as Parameters<typeof searchPart>[0])
  const service = { name: 'catalog', description: '', isUserId: isDecimalUserId, probes: [], errors: Object.values(catalogErrors) }
  api = await testApp({ services: [{ ...service, routes: [...part.routes] }] })
  admin = await api.bearer({ sub: '1', scope: 'admin' })
}, SETUP_TIMEOUT_MS)

afterAll(async () => {
  await searchClient(await testStack().search()).call({ method: 'DELETE', path: `/${name}` })
})

async function ask(path: string, { method = 'GET', body, headers = {} }: { method?: string; body?: object; headers?: object } = {}) {
  now += SHARED_MS
  const response = await api.app.request(`/api/v1/${path}`, {
    method,
    headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
    body: body && JSON.stringify(body),
  })
  const text = await response.text()
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
}

const titles = async (q: string) =>
  (await ask(`products/search?q=${encodeURIComponent(q)}`)).body.results.map((one: { title: string }) => one.title).sort()

test('suggestions complete the last word, begin with the best products, and contain each title once', async () => {
  expect(await ask('products/suggest?q=cordl')).toEqual({
    status: 200,
    body: {
      suggestions: [{ text: 'Cordless drill 18 V', product_id: documents[0].product_id }],
      brands: [],
      categories: [{ category_id: 2, name: 'Cordless tools', path: 'cordless' }],
    },
  })
  const { suggestions, brands } = (await ask('products/suggest?q=cord')).body
  expect(suggestions.map(({ text }: { text: string }) => text)).toEqual(['Cordless drill 18 V', 'Cordial glass'])
  expect(brands).toEqual(['Cordova Works'])
  expect((await ask('products/suggest?q=cord&limit=1')).body.suggestions).toHaveLength(1)
})

test.each(['cordless dri', 'DRILL cord', 'drill  18 v', 'córdless'])('the suggestion for %s matches all of its words', async (q) => {
  const { suggestions } = (await ask(`products/suggest?q=${encodeURIComponent(q)}`)).body
  expect(suggestions).toMatchObject([{ text: 'Cordless drill 18 V' }])
})

test.each(['ga', 'foot', 'padded foot'])('the last word of %s is completed, although it is also a unit', async (q) => {
  const { suggestions, brands } = (await ask(`products/suggest?q=${encodeURIComponent(q)}`)).body
  expect(suggestions).toMatchObject([{ text: 'Padded footrest' }])
  expect(brands).toEqual(q === 'ga' ? ['Gardenia'] : [])
})

test.each(['drill glass', '"', '* OR title:x', '%2B-'])('there is nothing to suggest for %s', async (q) => {
  expect(await ask(`products/suggest?q=${encodeURIComponent(q)}`)).toMatchObject({ status: 200, body: { suggestions: [] } })
})

test.each(['', 'q=', 'q=%20', `q=${'x'.repeat(101)}`, 'q=a&q=b', 'q=a&limit=0', 'q=a&limit=21', 'q=a&limit=x'])(
  'an invalid request for suggestions is refused: %s',
  async (query) => {
    expect(await ask(`products/suggest?${query}`)).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
  },
)

test('synonyms apply immediately, until they are removed', async () => {
  expect(await titles('couch')).toEqual(['Velvet couch'])
  const group = { terms: ['sofa', 'couch'] }
  expect(await ask('search/synonyms/seats', { method: 'PUT', body: group, headers: admin })).toEqual({
    status: 200,
    body: { name: 'seats', terms: ['sofa', 'couch'], one_way: false },
  })
  expect(await titles('couch')).toEqual(['Leather sofa', 'Velvet couch'])
  expect(await titles('sofa')).toEqual(['Leather sofa', 'Velvet couch'])

  await ask('search/synonyms/seats', { method: 'PUT', body: { ...group, one_way: true }, headers: admin })
  expect(await titles('sofa')).toEqual(['Leather sofa', 'Velvet couch'])
  expect(await titles('couch')).toEqual(['Velvet couch'])
  expect((await ask('search/synonyms', { headers: admin })).body.groups).toEqual([{ name: 'seats', ...group, one_way: true }])

  expect((await ask('search/synonyms/seats', { method: 'DELETE', headers: admin })).status).toBe(204)
  expect(await titles('sofa')).toEqual(['Leather sofa'])
  expect((await ask('search/synonyms/seats', { method: 'DELETE', headers: admin })).status).toBe(204)
})

test.each([
  { terms: ['sofa'] },
  { terms: ['sofa', ''] },
  { terms: ['sofa', '+-*'] },
  { terms: ['sofa', 'a b c d e'] },
  { terms: ['sofa', 'x'.repeat(101)] },
  { terms: Array.from({ length: 21 }, (_, at) => `word${at}`) },
  { terms: ['sofa', 'couch'], two_way: true },
])('an invalid group of synonyms is refused: %o', async (body) => {
  expect(await ask('search/synonyms/seats', { method: 'PUT', body, headers: admin })).toMatchObject({
    status: 400,
    body: { error: 'invalid_request' },
  })
})

test('only administrators may change synonyms and request explanations of results', async () => {
  const seller = await api.bearer({ sub: '7', scope: 'seller' })
  for (const method of ['PUT', 'DELETE']) {
    const body = method === 'PUT' ? { terms: ['sofa', 'couch'] } : undefined
    expect((await ask('search/synonyms/seats', { method, body, headers: seller })).status).toBe(403)
    expect((await ask('search/synonyms/seats', { method, body })).status).toBe(401)
  }
  expect((await ask('search/synonyms', { headers: seller })).status).toBe(403)
  const refused = { status: 403, body: { message: 'Only administrators may ask for explanations.' } }
  expect(await ask('products/search?q=drill&explain=true', { headers: seller })).toMatchObject(refused)
  expect(await ask('products/search?q=drill&explain=true')).toMatchObject(refused)
})

test('an explanation names each factor with its weight, and the weighted sum is the relevance', async () => {
  const { status, body } = await ask('products/search?q=drill&explain=true', { headers: admin })
  expect(status).toBe(200)
  const weights = { text: 0.3, sales: 0.25, rating: 0.2, seller: 0.1, recency: 0.05, stock: 0.1 }
  expect(body.results).toHaveLength(2)
  for (const { explanation } of body.results) {
    const factors = explanation.factors as Record<string, { value: number; weight: number }>
    expect(Object.fromEntries(Object.entries(factors).map(([factor, { weight }]) => [factor, weight]))).toEqual(weights)
    expect(explanation.relevance).toBeCloseTo(
      Object.values(factors).reduce((sum, { value, weight }) => sum + value * weight, 0),
      4,
    )
    expect(factors.text.value).toBeCloseTo(explanation.text_score / (explanation.text_score + TEXT_HALF), 4)
  }
  expect((await ask('products/search?q=drill', { headers: admin })).body.results[0].explanation).toBeUndefined()
})
