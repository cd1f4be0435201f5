import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { variantIdOf } from '../../../../schemas/catalog/ids.ts'
import { ADMIN, CATEGORY, OTHER, productsApi, SELLER } from './world.ts'

const MINUTE_MS = 60_000
const variant = (sku: string, more: object = {}) => ({ sku, price_cents: 1_000, ...more })
const many = (count: number) => Array.from({ length: count }, (_, i) => variant(`s${i}`))

test('a seller creates a product and can immediately read it by its id and in the list', async () => {
  const { create, send } = await productsApi()
  const attributes = { colour: 'blue', größe: 'M' }
  const made = await create({
    title: '  Cafe\u0301 ',
    description: 'Two\nlines.',
    brand: 'Acme',
    variants: [variant('a', { attributes, compare_price_cents: 1_250, weight_grams: 300 }), variant('b', { price_cents: 999 })],
  })
  expect(made).toMatchObject({
    status: 201,
    body: { seller_id: '7', title: 'Café', category_path: ['Shoes'], status: 'ACTIVE', version: 1, currency: 'EUR', images: [] },
  })
  const { product_id } = made.body
  expect(made.body.variants).toEqual([
    {
      variant_id: variantIdOf(product_id, 1),
      sku: 'a',
      ...attributes,
      price: 10,
      was: 12.5,
      compare_price: 12.5,
      weight_grams: 300,
      inventory: { status: 'out_of_stock', quantity_hint: 'none' },
      images: [],
      status: 'ACTIVE',
      periods: [],
    },
    expect.objectContaining({ variant_id: variantIdOf(product_id, 2), price: 9.99, compare_price: null }),
  ])
  expect(made.headers.get('etag')).toBe('"1"')
  expect((await send('GET', `products/${product_id}`)).body).toEqual(made.body)
  expect((await send('GET', 'products')).body).toMatchObject({
    total: 1,
    page: 1,
    limit: 20,
    products: [{ product_id, price: 9.99, variants: 2 }],
  })
})

test('a seller sees what buyers see: stock, seller, reviews, badges and related products', async () => {
  const { create, send, redis } = await productsApi()
  const { product_id } = (await create()).body
  const set = (key: string, value: unknown) => redis.apply([{ op: 'set', key, value: JSON.stringify(value) }])
  const stock = `{catalog-stock:0}:variant:${variantIdOf(product_id, 1)}`
  redis.apply([{ op: 'hset', key: stock, fields: { w1: '2 0 1', w2: '1 0 1' } }])
  set('{sellers:0}:7', { name: 'Shop', rating: 4.5 })
  set(`{category-leaders:0}:${CATEGORY}`, [product_id, 6])
  set(`{catalog-details:0}:${product_id}`, { stars: [0, 0, 0, 0, 2], badges: ['low_stock'] })
  expect((await send('GET', `products/${product_id}`)).body).toMatchObject({
    seller_id: '7',
    seller: { id: 7, name: 'Shop', rating: 4.5 },
    badges: ['new', 'low_stock'],
    reviews_summary: { avg: 5, count: 2 },
    related_products: [6],
    variants: [{ was: null, inventory: { status: 'low_stock', quantity_hint: 'only 3 left' } }],
  })
})

test('a seller also sees the stock of inactive variants', async () => {
  const { create, replace, send, redis } = await productsApi()
  const { product_id } = (await create({ variants: [variant('a'), variant('b')] })).body
  const stock = `{catalog-stock:0}:variant:${variantIdOf(product_id, 1)}`
  redis.apply([{ op: 'hset', key: stock, fields: { w1: '20 0 1' } }])
  const inventory = { status: 'in_stock', quantity_hint: '10+' }
  expect((await replace(product_id, { variants: [variant('b')] })).body.variants[0]).toMatchObject({
    sku: 'a',
    status: 'INACTIVE',
    inventory,
  })
  expect((await send('GET', `products/${product_id}`)).body.variants[0]).toMatchObject({ sku: 'a', inventory })
})

test('a sku belongs to one variant across all sellers, and a refused request claims nothing', async () => {
  const { create, send } = await productsApi()
  const first = await create()
  expect(await create({ variants: [variant('b'), variant('a'), variant('c')] }, { as: OTHER })).toMatchObject({
    status: 409,
    body: { error: 'sku_taken', sku: 'a' },
  })
  expect((await create({ variants: [variant('b'), variant('c'), variant('A')] })).status).toBe(201)
  expect((await send('DELETE', `products/${first.body.product_id}`)).status).toBe(204)
  expect((await create({}, { as: OTHER })).status).toBe(201)
})

test('if a product is refused, the skus that were claimed for it are free at once', async () => {
  const { create, replace, ran } = await productsApi()
  const { product_id } = (await create({ variants: many(40) })).body
  const others = Array.from({ length: 50 }, (_, i) => variant(`t${i}`))
  for (const from of [0, 50, 100, 150])
    await replace(product_id, { variants: others.map((one) => ({ ...one, sku: `u${from}${one.sku}` })) })
  ran.length = 0
  expect(await replace(product_id, { variants: others })).toMatchObject({ status: 400, body: { error: 'too_many_variants' } })
  expect(ran.filter((step) => step.includes('release'))).not.toEqual([])
  expect((await create({ variants: [others[0], others[49]] }, { as: OTHER })).status).toBe(201)
})

test('a product that is larger than 256 KiB is refused before any sku is claimed', async () => {
  const { create, ran } = await productsApi()
  const long = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`${i}-${'n'.repeat(40)}`, '字'.repeat(200)]))
  const variants = Array.from({ length: 50 }, (_, i) => variant(`s${i}`, { attributes: long }))
  expect(await create({ variants })).toMatchObject({ status: 413, body: { error: 'content_too_large' } })
  expect(ran).toEqual([])
})

test('a repeated request returns the product that the first request created, and the same key with another body is refused', async () => {
  const { create } = await productsApi()
  const headers = { 'idempotency-key': 'k' }
  const made = await create({}, { headers })
  expect((await create({}, { headers })).body).toEqual(made.body)
  expect(await create({ title: 'Other' }, { headers })).toMatchObject({ status: 409, body: { error: 'idempotency_conflict' } })
})

test('a request that stopped after claiming its skus can be completed an hour later, with a new claim', async () => {
  const { create, faults, advance, ran } = await productsApi()
  const headers = { 'idempotency-key': 'k' }
  faults.lost = 'claim'
  expect((await create({}, { headers })).status).toBe(503)
  advance(60 * MINUTE_MS)
  faults.lost = undefined
  ran.length = 0
  expect((await create({}, { headers })).status).toBe(201)
  // The first claim of the sku was made an hour ago and has expired, so the first attempt to create the product is
  // refused.
  expect(ran.map((step) => step.replace(/-\d$/, ''))).toEqual([
    'catalog-skus 0.0-claim',
    'catalog-products 0.0-create',
    'catalog-skus 0.1-claim',
    'catalog-products 0.1-create',
  ])
})

test('an expired claim does not take a sku from the seller who has it now', async () => {
  const { create, faults, advance } = await productsApi()
  const headers = { 'idempotency-key': 'k' }
  faults.lost = 'claim'
  await create({}, { headers })
  faults.lost = undefined
  advance(60 * MINUTE_MS)
  expect((await create({}, { as: OTHER })).status).toBe(201)
  expect(await create({}, { headers })).toMatchObject({ status: 409, body: { error: 'sku_taken', sku: 'a' } })
})

test('a replacement creates the next version, and claims only new skus', async () => {
  const { create, replace, ran } = await productsApi()
  const { product_id } = (await create({ variants: [variant('a'), variant('b')] })).body
  ran.length = 0
  const replaced = await replace(product_id, { title: 'Boot', variants: [variant('b'), variant('c')] })
  expect(replaced).toMatchObject({ status: 200, body: { title: 'Boot', version: 2 } })
  expect(replaced.headers.get('etag')).toBe('"2"')
  expect(replaced.body.variants.map((one: { sku: string; status: string }) => [one.sku, one.status])).toEqual([
    ['a', 'INACTIVE'],
    ['b', 'ACTIVE'],
    ['c', 'ACTIVE'],
  ])
  expect(ran).toHaveLength(2)
  ran.length = 0
  expect((await replace(product_id, { variants: [variant('a')] })).body.version).toBe(3)
  expect(ran).toHaveLength(1)
})

test('a request with If-Match succeeds only if the product has that version', async () => {
  const { create, replace, send } = await productsApi()
  const { product_id } = (await create()).body
  const ifMatch = (tag: string) => ({ headers: { 'if-match': tag } })
  expect(await replace(product_id, {}, ifMatch('"2"'))).toMatchObject({ status: 409, body: { error: 'version_conflict', version: 1 } })
  expect((await replace(product_id, {}, ifMatch('"1"'))).status).toBe(200)
  expect((await replace(product_id, {}, ifMatch('*'))).status).toBe(200)
  expect(await replace(product_id, {}, ifMatch('abc'))).toMatchObject({ status: 400, body: { details: [{ path: 'header.if-match' }] } })
  expect((await send('DELETE', `products/${product_id}`, ifMatch('"1"'))).status).toBe(409)
  for (const tag of ['"0"', '"2147483648"', `"${'9'.repeat(15)}"`]) {
    expect(await replace(product_id, {}, ifMatch(tag))).toMatchObject({ status: 409, body: { error: 'version_conflict', version: 3 } })
    expect((await send('DELETE', `products/${product_id}`, ifMatch(tag))).status).toBe(409)
  }
})

test('an unchanged version is not enough for a 304, because prices and stock change without a new version', async () => {
  const { create, send } = await productsApi()
  const { product_id, variants } = (await create()).body
  const { headers } = await send('GET', `products/${product_id}`)
  expect(headers.get('etag')).toBe('"1"')
  await send('PATCH', `variants/${variants[0].variant_id}/price`, { body: { price_cents: 1_100 } })
  const again = await send('GET', `products/${product_id}`, { headers: { 'if-none-match': '"1"' } })
  expect(again).toMatchObject({ status: 200, body: { version: 1, variants: [{ price: 11 }] } })
})

test('the status follows the documented transitions', async () => {
  const { create, send } = await productsApi()
  const { product_id } = (await create({ status: 'DRAFT' })).body
  const set = (status: string) => send('PATCH', `products/${product_id}/status`, { body: { status } })
  expect(await set('INACTIVE')).toMatchObject({ status: 409, body: { error: 'status_transition', status: 'DRAFT' } })
  expect(await set('ACTIVE')).toMatchObject({ status: 200, body: { status: 'ACTIVE', version: 2 } })
  expect((await set('GONE')).status).toBe(400)
  expect((await set('DELETED')).status).toBe(200)
  expect(await set('ACTIVE')).toMatchObject({ status: 404, body: { error: 'product_not_found' } })
  expect((await send('GET', `products/${product_id}`)).status).toBe(404)
  expect((await send('GET', 'products')).body).toMatchObject({ total: 0, products: [] })
})

test('a price must be in the allowed range unless an administrator forces it', async () => {
  const { create, send } = await productsApi()
  const { variants } = (await create()).body
  const path = `variants/${variants[0].variant_id}/price`
  expect(await send('PATCH', path, { body: { price_cents: 1_600 } })).toMatchObject({
    status: 422,
    body: { error: 'price_out_of_range', sku: 'a', lowest: 5, highest: 15 },
  })
  expect((await send('PATCH', path, { body: { price_cents: 1_100, compare_price_cents: 1_300 } })).body).toMatchObject({
    version: 1,
    variants: [{ price: 11, compare_price: 13 }],
  })
  expect((await send('PATCH', path, { body: { price_cents: 9_000, force: true } })).status).toBe(403)
  expect((await send('PATCH', path, { body: { price_cents: 9_000, force: true }, as: ADMIN })).status).toBe(200)
})

test('when the period of a price ends, the regular price applies again', async () => {
  const { create, send, advance } = await productsApi()
  const { product_id, variants, created_at } = (await create()).body
  const path = `variants/${variants[0].variant_id}/price`
  const at = (minutes: number) => new Date(Date.parse(created_at) + minutes * MINUTE_MS).toISOString()
  const period = { price_cents: 800, starts_at: at(10), ends_at: at(20) }
  expect((await send('PATCH', path, { body: period })).body.variants[0]).toMatchObject({
    price: 10,
    periods: [{ starts_at: at(10), price: 8 }],
  })
  expect(await send('PATCH', path, { body: { ...period, starts_at: at(15), ends_at: at(30) } })).toMatchObject({
    status: 409,
    body: { error: 'price_period_overlaps', starts_at: at(10), ends_at: at(20) },
  })
  expect((await send('PATCH', path, { body: { ...period, starts_at: at(-10), ends_at: at(0) } })).body.details[0].path).toBe('body.ends_at')
  expect((await send('PATCH', path, { body: { price_cents: 800, starts_at: at(1) } })).status).toBe(400)
  const priceNow = async () => (await send('GET', `products/${product_id}`)).body.variants[0].price
  advance(10 * MINUTE_MS + 1_000)
  expect(await priceNow()).toBe(8)
  advance(10 * MINUTE_MS)
  expect(await priceNow()).toBe(10)
})

test('a price period can be cancelled before it begins, and ended while it runs', async () => {
  const { create, send, advance } = await productsApi()
  const { product_id, variants, created_at } = (await create()).body
  const path = `variants/${variants[0].variant_id}`
  const at = (minutes: number) => new Date(Date.parse(created_at) + minutes * MINUTE_MS).toISOString()
  const plan = (from: number, price_cents: number) =>
    send('PATCH', `${path}/price`, { body: { price_cents, starts_at: at(from), ends_at: at(from + 10) } })
  const cancel = (from: string, options = {}) => send('DELETE', `${path}/price-periods/${from}`, options)
  for (const [from, price] of [
    [10, 800],
    [20, 700],
  ])
    expect((await plan(from, price)).status).toBe(200)
  expect(await cancel(at(15))).toMatchObject({ status: 404, body: { error: 'not_found' } })
  expect((await cancel('tomorrow')).status).toBe(400)
  expect((await cancel(at(10), { as: OTHER })).status).toBe(403)
  expect((await send('DELETE', `variants/1/price-periods/${at(10)}`)).body.error).toBe('variant_not_found')
  expect((await cancel(at(10))).body.variants[0]).toMatchObject({ price: 10, periods: [{ starts_at: at(20) }] })
  const priceNow = async () => (await send('GET', `products/${product_id}`)).body.variants[0].price
  advance(10 * MINUTE_MS + 1_000)
  expect(await priceNow()).toBe(10)
  advance(10 * MINUTE_MS)
  expect(await priceNow()).toBe(7)
  expect((await cancel(at(20))).body.variants[0]).toMatchObject({ price: 10, periods: [] })
  expect(await priceNow()).toBe(10)
})

test('other sellers cannot change a product, and cannot find out about hidden products', async () => {
  const { create, replace, send } = await productsApi()
  const { product_id, variants } = (await create()).body
  const attempts = async () => [
    (await replace(product_id, {}, { as: OTHER })).status,
    (await send('PATCH', `products/${product_id}/status`, { body: { status: 'INACTIVE' }, as: OTHER })).status,
    (await send('PATCH', `variants/${variants[0].variant_id}/price`, { body: { price_cents: 1_000 }, as: OTHER })).status,
    (await send('DELETE', `products/${product_id}`, { as: OTHER })).status,
    (await send('GET', `products/${product_id}`, { as: OTHER })).status,
  ]
  expect(await attempts()).toEqual([403, 403, 403, 403, 403])
  expect((await send('GET', `products/${product_id}`, { as: OTHER })).body.error).toBe('forbidden')
  await send('PATCH', `products/${product_id}/status`, { body: { status: 'INACTIVE' }, as: ADMIN })
  expect(await attempts()).toEqual([404, 404, 404, 404, 404])
})

test('a seller needs the scope and a seller id as subject, and only an administrator can act for another seller', async () => {
  const { create, send, app } = await productsApi()
  expect((await app.request('/api/v1/seller/products')).status).toBe(401)
  expect((await create({}, { as: { sub: '7' } })).status).toBe(403)
  expect((await create({}, { as: { sub: 'seven', scope: 'seller' } })).status).toBe(403)
  expect((await create({ seller_id: '8' })).status).toBe(403)
  expect(await create({}, { as: ADMIN })).toMatchObject({ status: 400, body: { details: [{ path: 'body.seller_id' }] } })
  expect((await create({ seller_id: '8' }, { as: ADMIN })).body.seller_id).toBe('8')
  expect((await send('GET', 'products?seller_id=8', { as: ADMIN })).body.total).toBe(1)
  expect((await send('GET', 'products?seller_id=8')).status).toBe(403)
  expect((await send('GET', 'products', { as: OTHER })).body.total).toBe(1)
})

const attributesOf = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`n${i}`, 'v']))

test.each<[string, object]>([
  ['no title', { title: undefined }],
  ['an empty title', { title: '   ' }],
  ['a title of 501 characters', { title: '字'.repeat(501) }],
  ['a title of two lines', { title: 'a\nb' }],
  ['a description of 20,001 characters', { description: '字'.repeat(20_001) }],
  ['a brand of 201 characters', { brand: 'b'.repeat(201) }],
  ['a category of 0', { category_id: 0 }],
  ['no variants', { variants: [] }],
  ['a sku twice', { variants: [variant('a'), variant('a')] }],
  ['a sku of 51 characters', { variants: [variant('s'.repeat(51))] }],
  ['an empty sku', { variants: [variant(' ')] }],
  ['a price of 0', { variants: [variant('a', { price_cents: 0 })] }],
  ['a negative price', { variants: [variant('a', { price_cents: -1 })] }],
  ['a fractional price', { variants: [variant('a', { price_cents: 1.5 })] }],
  ['a huge price', { variants: [variant('a', { price_cents: 10 ** 11 + 1 })] }],
  ['a price as text', { variants: [variant('a', { price_cents: '100' })] }],
  ['a negative weight', { variants: [variant('a', { weight_grams: -1 })] }],
  ['a title with a C1 control character', { title: 'a\u0085b' }],
  ['21 attributes', { variants: [variant('a', { attributes: attributesOf(21) })] }],
  ['an attribute name of 51 characters', { variants: [variant('a', { attributes: { ['n'.repeat(51)]: 'v' } })] }],
  ['an attribute value of 201 characters', { variants: [variant('a', { attributes: { n: 'v'.repeat(201) } })] }],
  ['an attribute named like a field', { variants: [variant('a', { attributes: { Price: '1' } })] }],
  ['an attribute name with a colon', { variants: [variant('a', { attributes: { 'a:b': '1' } })] }],
  ['attribute names that differ in white space only', { variants: [variant('a', { attributes: { size: '1', ' size': '2' } })] }],
  ['attribute names that differ in case only', { variants: [variant('a', { attributes: { Size: '1', size: '2' } })] }],
  ['an unknown field', { price: 1 }],
  ['the status INACTIVE', { status: 'INACTIVE' }],
])('a new product with %s is refused', async (_what, more) => {
  const { create } = await productsApi()
  expect(await create(more)).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
})

test.each([0, 10 ** 11 + 1, 1.5])('the error about the price %d states the range of valid prices', async (price_cents) => {
  const { create } = await productsApi()
  const { body } = await create({ variants: [variant('a', { price_cents })] })
  const message = 'must be a whole number of cents from 1 to 100000000000'
  expect(body.details).toEqual([{ path: 'body.variants[0].price_cents', message }])
})

test.each<[string, object]>([
  ['no title', { title: undefined }],
  ['no variants', { variants: [] }],
  ['a sku twice', { variants: [variant('a'), variant('a')] }],
  ['a negative price', { variants: [variant('a', { price_cents: -1 })] }],
  ['a negative compare price', { variants: [variant('a', { compare_price_cents: -1 })] }],
  ['a fractional compare price', { variants: [variant('a', { compare_price_cents: 1.5 })] }],
  ['a huge compare price', { variants: [variant('a', { compare_price_cents: 10 ** 11 + 1 })] }],
  ['a huge weight', { variants: [variant('a', { weight_grams: 2 ** 31 })] }],
  ['the status DELETED', { status: 'DELETED' }],
  ['another seller', { seller_id: '8' }],
])('a replacement with %s is refused, and changes nothing', async (_what, more) => {
  const { create, replace, send } = await productsApi()
  const made = await create()
  const { product_id } = made.body
  expect(await replace(product_id, more)).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
  expect((await send('GET', `products/${product_id}`)).body).toEqual(made.body)
})

const NOON = '2026-01-15T12:00:00.000Z'

test.each<[string, object]>([
  ['no price', { price_cents: undefined }],
  ['a price of 0', { price_cents: 0 }],
  ['a negative price', { price_cents: -1_000 }],
  ['a fractional price', { price_cents: 999.5 }],
  ['a huge price', { price_cents: 10 ** 11 + 1 }],
  ['a price as text', { price_cents: '1000' }],
  ['a negative compare price', { compare_price_cents: -1 }],
  ['a fractional compare price', { compare_price_cents: 0.5 }],
  ['a huge compare price', { compare_price_cents: 10 ** 11 + 1 }],
  ['a start without an end', { starts_at: NOON }],
  ['an end without an offset', { ends_at: '2026-01-15T12:00:00' }],
  ['an end on a day that does not exist', { ends_at: '2026-02-30T12:00:00Z' }],
  ['an end before the start', { starts_at: '2027-01-15T12:00:00Z', ends_at: '2027-01-14T12:00:00Z' }],
  ['an unknown field', { price: 10 }],
])('a price change with %s is refused, and changes nothing', async (_what, more) => {
  const { create, send } = await productsApi()
  const made = await create()
  const sent = { body: { price_cents: 1_000, ...more } }
  expect(await send('PATCH', `variants/${made.body.variants[0].variant_id}/price`, sent)).toMatchObject({
    status: 400,
    body: { error: 'invalid_request' },
  })
  expect((await send('GET', `products/${made.body.product_id}`)).body).toEqual(made.body)
})

test.each(['0', '-7', '7.5', '9'.repeat(20), 'seven'])('%j is not a seller id', async (seller_id) => {
  const { create, send } = await productsApi()
  expect(await create({ seller_id }, { as: ADMIN })).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
  expect((await send('GET', `products?seller_id=${seller_id}`, { as: ADMIN })).status).toBe(400)
})

test('a compressed body is not decompressed', async () => {
  const { app, bearer, ran } = await productsApi()
  const bomb = gzipSync(Buffer.alloc(50_000_000, ' '))
  expect(bomb.length).toBeLessThan(100_000)
  const headers = { ...(await bearer(SELLER)), 'content-type': 'application/json', 'content-encoding': 'gzip' }
  const { status } = await app.request('/api/v1/seller/products', { method: 'POST', headers, body: bomb })
  expect(status).toBe(415)
  expect(ran).toEqual([])
})

test('an attribute whose name would set the prototype of an object is dropped', async () => {
  const { create } = await productsApi()
  const made = await create({ variants: [variant('a', { attributes: JSON.parse('{"__proto__":"x","n":"v"}') })] })
  expect(made.body.variants[0]).toMatchObject({ n: 'v', price: 10 })
  expect(Object.hasOwn(made.body.variants[0], '__proto__')).toBe(false)
})

test('a product may have texts, attributes and prices at their maximum', async () => {
  const { create } = await productsApi()
  const attributes = { ...attributesOf(19), ['n'.repeat(50)]: '字'.repeat(200) }
  const made = await create({
    title: '𠮷'.repeat(500),
    description: '字'.repeat(20_000),
    brand: 'b'.repeat(200),
    variants: [variant('s'.repeat(50), { attributes, price_cents: 10 ** 11, compare_price_cents: 10 ** 11 })],
  })
  expect(made.status).toBe(201)
})

test('a product with 51 variants, an unknown category or a NUL is refused', async () => {
  const { create, replace } = await productsApi()
  expect(await create({ variants: many(51) })).toMatchObject({ status: 400, body: { error: 'too_many_variants' } })
  expect(await create({ category_id: CATEGORY + 1 })).toMatchObject({ status: 400, body: { error: 'unknown_category' } })
  expect(await create({ title: 'a\0b' })).toMatchObject({ status: 400, body: { error: 'invalid_encoding' } })
  const { product_id } = (await create({ variants: many(50) })).body
  expect(await replace(product_id, { variants: many(51) })).toMatchObject({ status: 400, body: { error: 'too_many_variants' } })
})

test.each(['0', '-1', '042', '1e3', 'abc', '99999999999999999999'])('%s is neither a product id nor a variant id', async (id) => {
  const { send } = await productsApi()
  expect(await send('GET', `products/${id}`)).toMatchObject({ status: 404, body: { error: 'product_not_found' } })
  expect(await send('PATCH', `variants/${id}/price`, { body: { price_cents: 100 } })).toMatchObject({
    status: 404,
    body: { error: 'variant_not_found' },
  })
})

test('a bulk request creates each product separately', async () => {
  const { send } = await productsApi()
  const product = (sku: string, more: object = {}) => ({ title: 'Shoe', category_id: CATEGORY, variants: [variant(sku)], ...more })
  const products = [product('a'), product('a'), product('b', { title: '' }), 'nonsense', product('c')]
  const { status, body } = await send('POST', 'products/bulk', { body: { products } })
  expect(status).toBe(200)
  expect(body.results).toMatchObject([
    { status: 201, product: { version: 1 } },
    { status: 409, error: 'sku_taken', sku: 'a' },
    { status: 400, error: 'invalid_request', details: [{ path: 'body.products[2].title' }] },
    { status: 400, error: 'invalid_request' },
    { status: 201 },
  ])
  expect((await send('GET', 'products')).body.total).toBe(2)
  expect((await send('POST', 'products/bulk', { body: { products: [] } })).status).toBe(400)
  expect((await send('POST', 'products/bulk', { body: { products: Array(101).fill(product('x')) } })).status).toBe(400)
})

test('a repeated bulk request gets the results of the first request', async () => {
  const { send } = await productsApi()
  const sent = {
    body: { products: ['a', 'b'].map((sku) => ({ title: 'Shoe', category_id: CATEGORY, variants: [variant(sku)] })) },
    headers: { 'idempotency-key': 'k' },
    as: SELLER,
  }
  const first = await send('POST', 'products/bulk', sent)
  expect((await send('POST', 'products/bulk', sent)).body).toEqual(first.body)
})

test('the list is returned in pages, newest first', async () => {
  const { create, send, advance } = await productsApi()
  for (const sku of ['a', 'b', 'c']) {
    await create({ title: sku, variants: [variant(sku)] })
    advance(1_000)
  }
  const titles = async (query: string) =>
    (await send('GET', `products?${query}`)).body.products.map(({ title }: { title: string }) => title)
  expect(await titles('limit=2')).toEqual(['c', 'b'])
  expect(await titles('limit=2&page=2')).toEqual(['a'])
  expect((await send('GET', 'products?limit=101')).status).toBe(400)
  expect((await send('GET', 'products?limit=100&page=101')).status).toBe(400)
})
