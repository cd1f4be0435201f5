import { expect, test } from 'vitest'
import { catalogErrors } from '../../../../api/catalog/errors.ts'
import { reviewsPart } from '../../../../api/catalog/reviews/part.ts'
import { isDecimalUserId } from '../../../../api/kit/auth/authorize.ts'
import type { StoredProduct } from '../../../../schemas/catalog/products/stored.ts'
import { remembered } from '../../kit/commands/remembered.ts'
import { testApp } from '../../kit/harness.ts'
import { stored } from '../detail/stored.ts'

const NOW = Date.parse('2026-03-01T10:00:00Z')

async function opened() {
  const published: unknown[] = []
  const opens: unknown[] = []
  const once = remembered()
  const values = new Map([['{catalog-products:0}:caught-up', '1']])
  const deps = {
    views: { get: async (key: string) => values.get(key) ?? null },
    facts: {
      partitionOf: () => 0,
      async publish(_topic: unknown, key: unknown, value: unknown) {
        published.push([key, value])
      },
    },
    commands: {
      async open({ idempotencyKey }: { readonly idempotencyKey?: string }, request: unknown) {
        opens.push(request)
        return { once: (name: string, compute: () => unknown) => once(idempotencyKey, name, compute) }
      },
    },
  }
  const { routes } = reviewsPart({ ...deps, now: () => NOW } as unknown as Parameters<typeof reviewsPart>[0])
  const service = { name: 'catalog', description: '', isUserId: isDecimalUserId, errors: Object.values(catalogErrors), probes: [], routes }
  const { app, bearer } = await testApp({ services: [service] })
  const user = await bearer({ sub: '9' })
  async function post(id: string, body: unknown, headers: Record<string, string> = user) {
    const init = { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(body) }
    const response = await app.request(`/api/v1/products/${id}/reviews`, init)
    return { status: response.status, body: await response.json() }
  }
  const put = (product: StoredProduct) => values.set('{catalog-products:0}:product:5', JSON.stringify(product))
  return { post, put, values, published, opens, user }
}

test('a user rates a product with stars', async () => {
  const { post, put, published, opens } = await opened()
  put(stored())
  expect(await post('5', { stars: 5 })).toEqual({ status: 201, body: { product_id: 5, stars: 5, at: '2026-03-01T10:00:00.000Z' } })
  expect(published).toEqual([['5', { product_id: 5, user_id: 9n, stars: 5, at: NOW }]])
  expect(opens).toEqual([['reviewProduct', 5, 5]])
})

test.each<[string, object]>([
  ['5', {}],
  ['5', { stars: 0 }],
  ['5', { stars: 6 }],
  ['5', { stars: -1 }],
  ['5', { stars: 2.5 }],
  ['5', { stars: '5' }],
  ['5', { stars: 5, text: 'Good.' }],
  ['0', { stars: 5 }],
  ['x', { stars: 5 }],
  [String(2 ** 45), { stars: 5 }],
])('the review of product %s with %j is refused', async (id, body) => {
  const { post, put, published } = await opened()
  put(stored())
  expect(await post(id, body)).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
  expect(published).toEqual([])
})

test('a product that is not for sale gets no review, and an unknown product gets 503 while the view is being filled', async () => {
  const { post, put, values, published } = await opened()
  expect(await post('5', { stars: 5 })).toMatchObject({ status: 404, body: { error: 'product_not_found' } })
  put(stored({ status: 'DRAFT' }))
  expect((await post('5', { stars: 5 })).status).toBe(404)
  values.clear()
  expect(await post('5', { stars: 5 })).toMatchObject({ status: 503, body: { error: 'not_ready' } })
  expect(published).toEqual([])
})

test('a repeated review gets the first response, even if the product has been removed since', async () => {
  const { post, put, values, user } = await opened()
  put(stored())
  const repeated = { ...user, 'idempotency-key': 'one' }
  const first = await post('5', { stars: 5 }, repeated)
  expect(first.status).toBe(201)
  values.delete('{catalog-products:0}:product:5')
  expect(await post('5', { stars: 5 }, repeated)).toEqual(first)
  expect((await post('5', { stars: 5 })).status).toBe(404)
})

test('a review without a token is refused', async () => {
  const { post, put } = await opened()
  put(stored())
  expect((await post('5', { stars: 5 }, {})).status).toBe(401)
})
