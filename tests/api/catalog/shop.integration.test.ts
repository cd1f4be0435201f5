import sharp from 'sharp'
import { beforeAll, expect, test } from 'vitest'
import { ensureDevelopmentKey, mintToken } from '../../../api/kit/auth/development-key.ts'
import { waitUntil } from '../../../deploy/local/wait.ts'
import { testStack, uniqueName } from '../../stack/index.ts'
import { picture } from './images/pictures.ts'
import { type InventorySystem, inventorySystem } from './inventory-system.ts'

const SOON = { timeoutMs: 60_000, intervalMs: 50 }
const SETUP_MS = 180_000
const ADMIN = { subject: '1', scope: 'admin' }
const SELLER = { subject: '7', scope: 'seller' }
const USER = { subject: '42', scope: '' }
const SHOP = { subject: 'shop', scope: 'internal' }

let system: InventorySystem
let categories = 0

beforeAll(async () => {
  system = await inventorySystem({ apiCount: 1, reservationSeconds: 900, products: [], registry: await testStack().registry() })
}, SETUP_MS)

async function ask(as: typeof ADMIN | undefined, method: string, path: string, body?: unknown) {
  const headers: Record<string, string> = {}
  if (as !== undefined) headers.authorization = `Bearer ${await tokenOf(as)}`
  if (body !== undefined && !(body instanceof FormData)) headers['content-type'] = 'application/json'
  const sent = body instanceof FormData ? body : body === undefined ? undefined : JSON.stringify(body)
  const response = await fetch(`${system.apis[0].url}/api/v1/${path}`, { method, headers, body: sent })
  const bytes = Buffer.from(await response.arrayBuffer())
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true
  return { status: response.status, headers: response.headers, bytes, body: isJson ? JSON.parse(bytes.toString()) : undefined }
}

async function tokenOf(as: typeof ADMIN): Promise<string> {
  const key = await ensureDevelopmentKey(system.folder.path)
  return await mintToken(key, { ...as, issuer: 'millrace', audience: 'millrace', lifetimeSeconds: 3_600, now: Date.now() })
}

test(
  'a seller lists a product with a picture, and buyers see the product, buy it and review it',
  async () => {
    // A repeated run uses other categories and skus, because those of the first run still exist.
    const [tools, saws] = [++categories, ++categories]
    expect((await ask(ADMIN, 'PUT', `categories/${tools}`, { name: 'Tools', slug: `tools-${tools}` })).status).toBe(200)
    expect((await ask(ADMIN, 'PUT', `categories/${saws}`, { name: 'Saws', slug: `saws-${saws}`, parent_id: tools })).status).toBe(200)
    expect((await ask(ADMIN, 'PUT', 'sellers/7', { name: 'Miller & Sons', rating: 4.5, rating_count: 90 })).status).toBe(200)

    const form = new FormData()
    const product = {
      title: 'Saw',
      category_id: saws,
      variants: [{ sku: uniqueName('saw'), attributes: { colour: 'red' }, price_cents: 1_999 }],
    }
    form.append('product', JSON.stringify(product))
    form.append('images', new Blob([Uint8Array.from(await picture({ width: 900, height: 600, orientation: 6 }))]), 'saw.jpg')
    const made = await ask(SELLER, 'POST', 'seller/products', form)
    expect(made).toMatchObject({ status: 201, body: { images: [{ width: 600, height: 900 }] } })
    const { product_id } = made.body
    const [{ variant_id }] = made.body.variants
    const detail = async () => (await ask(undefined, 'GET', `products/${product_id}`)).body

    // The product can be read immediately.
    expect(await detail()).toMatchObject({
      title: 'Saw',
      category_path: ['Tools', 'Saws'],
      variants: [{ colour: 'red', price: 19.99, inventory: { status: 'out_of_stock', quantity_hint: 'none' } }],
    })
    const widths = await Promise.all(
      [150, 300, 600, 1200].map(async (width) => {
        const address = new URL((await detail()).images[0].urls[width]).pathname.replace('/api/v1/', '')
        const { bytes, headers } = await ask(undefined, 'GET', address)
        expect(headers.get('cache-control')).toContain('immutable')
        return (await sharp(bytes).metadata()).width
      }),
    )
    expect(widths).toEqual([150, 300, 600, 600])

    const stock = (body: object) => ask(SHOP, 'PATCH', `inventory/${variant_id}`, { warehouse_id: 'w1', ...body })
    expect((await stock({ operation: 'RECEIVE', quantity_delta: 9 })).status).toBe(200)
    expect((await stock({ operation: 'RESERVE', quantity_delta: 4 })).status).toBe(200)
    expect((await stock({ operation: 'DEDUCT', quantity_delta: 4 })).status).toBe(200)
    expect((await ask(USER, 'POST', `products/${product_id}/reviews`, { stars: 2 })).status).toBe(201)
    expect((await ask(USER, 'POST', `products/${product_id}/reviews`, { stars: 4 })).status).toBe(201)
    await waitUntil(async () => (await detail()).reviews_summary.avg === 4, { what: 'the review', ...SOON })
    await waitUntil(async () => (await detail()).badges.includes('low_stock'), { what: 'the stock', ...SOON })
    expect(await detail()).toMatchObject({
      seller: { id: 7, name: 'Miller & Sons', rating: 4.5 },
      reviews_summary: { avg: 4, count: 1, distribution: { 2: 0, 4: 1 } },
      variants: [{ inventory: { status: 'low_stock', quantity_hint: 'only 5 left' } }],
    })

    // The sold product appears among the related products of another product in the same category.
    const other = await ask(SELLER, 'POST', 'seller/products', {
      ...product,
      title: 'Other',
      variants: [{ sku: uniqueName('saw'), price_cents: 500 }],
    })
    const related = async () => (await ask(undefined, 'GET', `products/${other.body.product_id}`)).body.related_products
    await waitUntil(async () => (await related()).includes(product_id), { what: 'the best seller', timeoutMs: 90_000, intervalMs: 200 })
    await waitUntil(async () => (await detail()).badges.includes('bestseller'), {
      what: 'the badge of the best seller',
      timeoutMs: 90_000,
      intervalMs: 200,
    })

    expect((await ask(SELLER, 'PATCH', `seller/products/${product_id}/status`, { status: 'INACTIVE' })).status).toBe(200)
    expect((await ask(SELLER, 'GET', `products/${product_id}`)).body.status).toBe('INACTIVE')
    const gone = async () => (await ask(undefined, 'GET', `products/${product_id}`)).status === 404
    await waitUntil(gone, { what: 'the last cached answer to expire', ...SOON })
    await waitUntil(async () => (await related()).length === 0, { what: 'the best sellers', ...SOON })
    expect((await ask(USER, 'POST', `products/${product_id}/reviews`, { stars: 4 })).status).toBe(404)
  },
  SETUP_MS,
)
