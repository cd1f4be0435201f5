import { afterAll, beforeAll, expect, test } from 'vitest'
import { waitUntil } from '../../../../deploy/local/wait.ts'
import { FUZZ_TIMEOUT_MS, fuzz } from '../../../stack/fuzzer.ts'
import { AT_FIRST_TRY } from '../../../stack/index.ts'
import { type Asked, type CatalogStack, catalogStack, SOON } from '../stack.ts'

const SETUP_TIMEOUT_MS = 120_000
const CATEGORY = 12
const BULK = '/api/v1/seller/products/bulk'

let stack: CatalogStack
let seller: Record<string, string>
let other: Record<string, string>

beforeAll(async () => {
  stack = await catalogStack({ apiCount: 2 })
  seller = await stack.bearer('7', 'seller')
  other = await stack.bearer('8', 'seller')
  const admin = await stack.bearer('1', 'admin')
  for (const api of [0, 1]) {
    const category = { name: 'Shoes', slug: 'shoes', parent_id: null }
    expect((await stack.send('PUT', `categories/${CATEGORY}`, { body: category, headers: admin, api })).status).toBeLessThan(300)
  }
}, SETUP_TIMEOUT_MS)
afterAll(() => stack.finish(), SETUP_TIMEOUT_MS)

const bodyOf = (sku: string, more: object = {}) => ({
  title: 'Shoe',
  category_id: CATEGORY,
  variants: [{ sku, price_cents: 1_000 }],
  ...more,
})

function create(sku: string, options: { headers?: Record<string, string>; api?: number; more?: object } = {}): Promise<Asked> {
  const { headers = seller, api, more } = options
  return stack.send('POST', 'seller/products', { body: bodyOf(sku, more), headers, api })
}

test('both API processes show a write at once, and ClickHouse gets every version and price', async () => {
  const made = await create('first')
  expect(made.status).toBe(201)
  const { product_id, variants } = made.body
  const path = `seller/products/${product_id}`
  for (const api of [0, 1]) {
    expect((await stack.send('GET', path, { headers: seller, api })).body).toEqual(made.body)
    const { body } = await stack.send('GET', 'seller/products', { headers: seller, api })
    expect(body.products.map((listed: { product_id: number }) => listed.product_id)).toContain(product_id)
  }
  const price = (price_cents: number) =>
    stack.send('PATCH', `seller/variants/${variants[0].variant_id}/price`, { body: { price_cents }, headers: seller })
  expect(await price(1_600)).toMatchObject({ status: 422, body: { error: 'price_out_of_range', lowest: 5, highest: 15 } })
  expect(await price(1_100)).toMatchObject({ status: 200, body: { variants: [{ price: 11 }] } })
  const replaced = await stack.send('PUT', path, { body: bodyOf('first', { title: 'Boot' }), headers: { ...seller, 'if-match': '"1"' } })
  expect(replaced).toMatchObject({ status: 200, body: { title: 'Boot', version: 2 } })
  expect((await stack.send('GET', path, { headers: seller, api: 1 })).body).toMatchObject({ title: 'Boot', version: 2 })

  const versions = () =>
    stack.query(`SELECT version, title, variants.sku FROM product_versions FINAL WHERE product_id = ${product_id} ORDER BY version`)
  const prices = () =>
    stack.query(
      `SELECT old_price_cents, new_price_cents, reason FROM price_history FINAL WHERE product_id = ${product_id} ORDER BY revision`,
    )
  await waitUntil(async () => (await versions()).length === 2 && (await prices()).length === 3, { what: 'the tables', ...SOON })
  expect(await versions()).toEqual([
    [1, 'Shoe', ['first']],
    [2, 'Boot', ['first']],
  ])
  expect((await prices()).map((row) => row.map(String))).toEqual([
    ['null', '1000', 'LISTED'],
    ['1000', '1100', 'CHANGED'],
    ['1100', '1000', 'CHANGED'],
  ])
})

test('if several requests claim a sku at once, one of them gets it, and deleting the new product frees the sku', AT_FIRST_TRY, async () => {
  const wanted = await Promise.all([0, 1, 0, 1, 0, 1].map((api, i) => create('wanted', { api, headers: i % 2 === 0 ? seller : other })))
  expect(wanted.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409, 409])
  expect(wanted.filter(({ status }) => status === 409).every(({ body }) => body.error === 'sku_taken' && body.sku === 'wanted')).toBe(true)
  const winner = wanted.findIndex(({ status }) => status === 201)
  const owner = winner % 2 === 0 ? seller : other
  expect((await stack.send('DELETE', `seller/products/${wanted[winner].body.product_id}`, { headers: owner })).status).toBe(204)
  await waitUntil(async () => (await create('wanted')).status === 201, { what: 'the freed sku', ...SOON })
})

test('if a creation was not decided in time, repeating the request completes it exactly once', async () => {
  await stack.worker.kill()
  const headers = { ...seller, 'idempotency-key': 'while-away' }
  const undecided = await create('away', { headers })
  expect(undecided).toMatchObject({ status: 503, body: { command_id: 'while-away' } })
  await stack.worker.restart()
  let repeated = undecided
  await waitUntil(
    async () => {
      repeated = await create('away', { headers, api: 1 })
      return repeated.status !== 503
    },
    { what: 'an answer', ...SOON },
  )
  expect(repeated.status).toBe(201)
  expect((await create('away', { headers })).body).toEqual(repeated.body)
  expect(await create('away', { headers: other })).toMatchObject({ status: 409, body: { error: 'sku_taken' } })
})

test('a seller creates at most 100 products per minute, even in bulk requests', async () => {
  const many = await stack.bearer('9', 'seller')
  const bulk = (from: number, count: number) =>
    stack.send('POST', 'seller/products/bulk', {
      body: { products: Array.from({ length: count }, (_, i) => bodyOf(`bulk-${from + i}`)) },
      headers: many,
    })
  const first = await bulk(0, 60)
  expect(first.status).toBe(200)
  expect(first.body.results.map(({ status }: { status: number }) => status)).toEqual(Array(60).fill(201))
  expect(await bulk(100, 60)).toMatchObject({ status: 429, body: { error: 'rate_limit_exceeded' } })
  expect((await stack.send('GET', 'seller/products', { headers: many })).body.total).toBe(60)
})

test(
  'every route for sellers answers any request as documented',
  async () => {
    // This user has not created anything in this minute, so the rate limit does not refuse the fuzzer's first requests.
    const { authorization } = await stack.bearer('10', 'seller admin')
    const target = { url: stack.apis[0].url, authorization, folder: stack.folder.path }
    await fuzz({ ...target, routes: ['--include-path-regex', '^/api/v1/seller/', '--exclude-path', BULK] })
    // This check is left out because a bulk request with an invalid product violates the schema, but gets the
    // documented 200 with a 400 for this product.
    await fuzz({ ...target, routes: ['--include-path', BULK], leftOut: ['negative_data_rejection'] })
  },
  FUZZ_TIMEOUT_MS,
)
