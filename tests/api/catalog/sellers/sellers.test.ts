import { expect, test } from 'vitest'
import { sellersPart } from '../../../../api/catalog/sellers/part.ts'
import { isDecimalUserId } from '../../../../api/kit/auth/authorize.ts'
import { testApp } from '../../kit/harness.ts'

async function opened() {
  const published: unknown[] = []
  const facts = {
    async publish(_topic: unknown, key: unknown, value: unknown) {
      published.push([key, value])
    },
  }
  const { routes } = sellersPart({ facts })
  const service = { name: 'catalog', description: '', isUserId: isDecimalUserId, errors: [], probes: [], routes }
  const { app, bearer } = await testApp({ services: [service] })
  const admin = await bearer({ sub: 'ops', scope: 'admin' })
  async function put(id: string, body: unknown, headers: Record<string, string> = admin) {
    const init = { method: 'PUT', headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(body) }
    const response = await app.request(`/api/v1/sellers/${id}`, init)
    return { status: response.status, body: await response.json() }
  }
  return { put, bearer, published }
}

test('an administrator describes a seller, whose id may exceed 53 bits', async () => {
  const { put, published } = await opened()
  const id = '9223372036854775807'
  expect(await put(id, { name: ' Cafe\u0301 ', rating: 4.6, rating_count: 120 })).toEqual({
    status: 200,
    body: { seller_id: id, name: 'Café', rating: 4.6, rating_count: 120 },
  })
  expect(published).toEqual([[id, { seller_id: BigInt(id), name: 'Café', rating: 4.6, rating_count: 120 }]])
  expect((await put('7', { name: '𠮷'.repeat(200) })).body).toMatchObject({ rating: null, rating_count: 0 })
})

test.each<[string, object]>([
  ['0', {}],
  ['-7', {}],
  ['7.5', {}],
  ['9223372036854775808', {}],
  ['7', { name: undefined }],
  ['7', { name: '  ' }],
  ['7', { name: '𠮷'.repeat(201) }],
  ['7', { name: 'a\0b' }],
  ['7', { rating: 0.9 }],
  ['7', { rating: 5.1 }],
  ['7', { rating: '4' }],
  ['7', { rating_count: -1 }],
  ['7', { rating_count: 1.5 }],
  ['7', { rating: null, rating_count: 3 }],
  ['7', { rating: 4, rating_count: 0 }],
  ['7', { rating: 4, rating_count: undefined }],
  ['7', { stars: 4 }],
])('the seller %s with %j is refused', async (id, more) => {
  const { put, published } = await opened()
  expect((await put(id, { name: 'Shop', rating: 4, rating_count: 3, ...more })).status).toBe(400)
  expect(published).toEqual([])
})

test('only administrators describe sellers', async () => {
  const { put, bearer } = await opened()
  expect((await put('7', { name: 'Shop' }, {})).status).toBe(401)
  expect((await put('7', { name: 'Shop' }, await bearer({ sub: '7', scope: 'seller' }))).status).toBe(403)
})
