import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { createProductRoute, replaceProductRoute } from '../../../../api/catalog/products/routes.ts'
import { productWriter } from '../../../../api/catalog/products/write.ts'
import type { OpenCommand } from '../../../../api/kit/commands/commands.ts'
import { productIdOf } from '../../../../schemas/catalog/ids.ts'
import { CATALOG_LIMITS } from '../../../../schemas/catalog/limits.ts'
import { imageIdOf } from '../../../../schemas/catalog/products/image-id.ts'
import type { CatalogProductCommand } from '../../../../schemas/catalog/types.ts'
import { content } from '../../../pipelines/catalog/requests.ts'
import { CATEGORY, productsApi } from './world.ts'

const NEW_PRODUCT = { title: 'Shoe', category_id: CATEGORY, variants: [{ sku: 'a', price_cents: 1_000 }] }

function form(product: unknown, ...files: string[]): FormData {
  const body = new FormData()
  body.append('product', JSON.stringify(product))
  for (const [index, file] of files.entries()) body.append('images', new Blob([file]), `${index}.png`)
  return body
}

const hashOf = (file: string) => createHash('sha256').update(file).digest('hex')

test('a product is created with images, in the order of its list', async () => {
  const { send } = await productsApi()
  const images = [
    { upload: 1, alt_text: 'back' },
    { upload: 0, sku: NEW_PRODUCT.variants[0].sku },
  ]
  const { status, body } = await send('POST', 'products', { body: form({ ...NEW_PRODUCT, images }, 'front', 'back') })
  expect(status).toBe(201)
  const [{ variant_id }] = body.variants
  expect(body.images).toMatchObject([
    { image_id: imageIdOf(body.product_id, hashOf('back')), variant_id: null, position: 0, alt_text: 'back', width: 4, height: 3 },
    { image_id: imageIdOf(body.product_id, hashOf('front')), variant_id, position: 1, alt_text: null },
  ])
  expect(body.images[0].urls[300]).toBe(`http://localhost:8080/api/v1/images/${hashOf('back')}/300.webp`)
})

test('a replacement can keep, remove and add images', async () => {
  const { send } = await productsApi()
  const { body: made } = await send('POST', 'products', { body: form(NEW_PRODUCT, 'one', 'two') })
  const path = `products/${made.product_id}`
  const [one, two] = made.images
  expect((await send('PUT', path, { body: { ...NEW_PRODUCT, title: 'Other' } })).body.images).toEqual([one, two])
  const mixed = form({ ...NEW_PRODUCT, images: [{ upload: 0 }, { image_id: two.image_id, alt_text: 'kept' }] }, 'three')
  expect((await send('PUT', path, { body: mixed })).body.images).toMatchObject([
    { image_id: imageIdOf(made.product_id, hashOf('three')), position: 0 },
    { image_id: two.image_id, position: 1, alt_text: 'kept' },
  ])
  expect((await send('PUT', path, { body: { ...NEW_PRODUCT, images: [] } })).body.images).toEqual([])
  const unknown = await send('PUT', path, { body: { ...NEW_PRODUCT, images: [{ image_id: one.image_id }] } })
  expect(unknown).toMatchObject({ status: 400, body: { details: [{ path: 'body.images[0].image_id' }] } })
})

test('if the id of a new product is taken, the product gets another id, and the ids of its images are computed from that id', async () => {
  const sent: { readonly key: string; readonly body: CatalogProductCommand }[] = []
  const open = {
    id: 'k1',
    async run(_flow: unknown, key: string, body: CatalogProductCommand) {
      sent.push({ key, body })
      return sent.length === 1 ? { outcome: 'taken' } : { outcome: 'done', product: {} }
    },
  }
  const writer = productWriter({ claim: async () => 0, release: async () => undefined })
  const content_hash = hashOf('one')
  const image = { image_id: 1, sku: null, alt_text: null, content_hash, content_type: 'image/png', width: 4, height: 3 }
  const written = { actor: '7', seller_id: 7n, content: { ...content([]), images: [image] }, status: null, mayForce: false }
  await writer.create(open as unknown as OpenCommand, written)
  const keys = [0, 1].map((attempt) => productIdOf(open.id, attempt))
  expect(sent.map(({ key }) => Number(key))).toEqual(keys)
  expect(sent.map(({ body }) => body.content?.images)).toEqual(keys.map((id) => [{ ...image, image_id: imageIdOf(id, content_hash) }]))
})

test('a repeated form gets the first response, and a different form with the same key is a conflict', async () => {
  const { send } = await productsApi()
  const headers = { 'idempotency-key': 'k1' }
  const first = await send('POST', 'products', { body: form(NEW_PRODUCT, 'one'), headers })
  expect((await send('POST', 'products', { body: form(NEW_PRODUCT, 'one'), headers })).body).toEqual(first.body)
  expect((await send('POST', 'products', { body: form(NEW_PRODUCT, 'two'), headers })).body.error).toBe('idempotency_conflict')
})

test('a repeated replacement that names images gets the first response, even if the images no longer exist', async () => {
  const { send } = await productsApi()
  const { body: made } = await send('POST', 'products', { body: form(NEW_PRODUCT, 'one', 'two') })
  const path = `products/${made.product_id}`
  const [, two] = made.images
  const naming = { body: { ...NEW_PRODUCT, images: [{ image_id: two.image_id }] }, headers: { 'idempotency-key': 'k2' } }
  const first = await send('PUT', path, naming)
  expect(first).toMatchObject({ status: 200, body: { version: 2, images: [{ image_id: two.image_id }] } })
  expect((await send('PUT', path, { body: { ...NEW_PRODUCT, images: [] } })).status).toBe(200)
  expect(await send('PUT', path, naming)).toMatchObject({ status: 200, body: first.body })
  expect((await send('GET', path)).body).toMatchObject({ version: 3, images: [] })
  expect((await send('DELETE', path)).status).toBe(204)
  expect(await send('PUT', path, naming)).toMatchObject({ status: 200, body: first.body })
  const late = { ...naming, headers: { 'idempotency-key': 'k3' } }
  expect(await send('PUT', path, late)).toMatchObject({ status: 404, body: { error: 'product_not_found' } })
})

test('images of a replacement are not read if the product belongs to another seller', async () => {
  const { send, kept } = await productsApi()
  const { body: made } = await send('POST', 'products', { body: NEW_PRODUCT })
  const other = { sub: '8', scope: 'seller' }
  const answer = await send('PUT', `products/${made.product_id}`, { body: form(NEW_PRODUCT, 'one'), as: other })
  expect(answer).toMatchObject({ status: 403, body: { error: 'forbidden', message: 'This product belongs to another seller.' } })
  expect(kept).toEqual([])
})

test('replacements have a separate rate limit', () => {
  const patterns = CATALOG_LIMITS.map(({ endpoint_pattern }) => endpoint_pattern)
  const [path] = replaceProductRoute.path.split('{')
  expect(patterns.slice(0, 2)).toEqual([`POST ${createProductRoute.path}`, `PUT ${path}*`])
})

test.each([
  ['a bad image', form(NEW_PRODUCT, 'bad'), 400, 'invalid_image'],
  ['a file that its list does not mention', form({ ...NEW_PRODUCT, images: [] }, 'one'), 400, 'invalid_request'],
  ['a field that is not valid', form({ ...NEW_PRODUCT, title: '' }, 'one'), 400, 'invalid_request'],
  ['a sku that no variant has', form({ ...NEW_PRODUCT, images: [{ upload: 0, sku: 'none' }] }, 'one'), 400, 'invalid_request'],
])('a form with %s creates nothing', async (_what, body, status, error) => {
  const { send, ran } = await productsApi()
  expect(await send('POST', 'products', { body })).toMatchObject({ status, body: { error } })
  expect(ran).toEqual([])
})

test('a media type other than JSON and forms gets 415, and JSON above 1 MiB gets 413', async () => {
  const { send } = await productsApi()
  const text = await send('POST', 'products', { body: NEW_PRODUCT, headers: { 'content-type': 'text/plain' } })
  expect(text).toMatchObject({
    status: 415,
    body: { error: 'unsupported_media_type', message: expect.stringContaining('multipart/form-data') },
  })
  const large = await send('POST', 'products', { body: { ...NEW_PRODUCT, description: 'x'.repeat(1_100_000) } })
  expect(large).toMatchObject({ status: 413, body: { error: 'content_too_large' } })
})

test('products in a bulk request cannot refer to uploaded files', async () => {
  const { send } = await productsApi()
  const products = [NEW_PRODUCT, { ...NEW_PRODUCT, images: [{ upload: 0 }] }]
  const { body } = await send('POST', 'products/bulk', { body: { products } })
  expect(body.results[1]).toMatchObject({ status: 400, details: [{ path: 'body.products[1].images[0].upload' }] })
})
