import { expect, test } from 'vitest'
import { categoriesPart } from '../../../../api/catalog/categories/part.ts'
import type { CategoryTable } from '../../../../api/catalog/categories/table.ts'
import { categoryTree } from '../../../../api/catalog/categories/tree.ts'
import { isDecimalUserId } from '../../../../api/kit/auth/authorize.ts'
import type { Category } from '../../../../schemas/catalog/types.ts'
import { testApp } from '../../kit/harness.ts'

/** Opens the category routes with a table that shows every change immediately. */
async function opened(initial: Category[] = []) {
  const byId = new Map(initial.map((one) => [one.category_id, one]))
  const table: CategoryTable = {
    get tree() {
      return categoryTree(byId.values())
    },
    untilSeen: async () => undefined,
    probes: [],
    close: async () => undefined,
  }
  const facts = {
    async publish(_topic: unknown, key: unknown, value: unknown) {
      byId.set(Number(key), value as Category)
    },
  }
  const { routes } = categoriesPart({ facts, categories: table })
  const { app, bearer } = await testApp({
    services: [{ name: 'catalog', description: '', isUserId: isDecimalUserId, errors: [], probes: [], routes }],
  })
  const admin = await bearer({ sub: '1', scope: 'admin' })
  async function ask(method: string, path: string, body?: unknown, headers: Record<string, string> = admin) {
    const init = {
      method,
      headers: { ...headers, 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    }
    const response = await app.request(`/api/v1/categories${path}`, init)
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) }
  }
  return { ask, bearer, byId }
}

test('an administrator creates categories, and anybody can read them', async () => {
  const { ask } = await opened()
  expect(await ask('PUT', '/1', { name: 'Tools', slug: 'tools' })).toMatchObject({
    status: 200,
    body: { category_id: 1, parent_id: null, name: 'Tools', slug: 'tools', path: 'tools', category_path: ['Tools'] },
  })
  expect(await ask('PUT', '/2', { name: ' Saws ', slug: 'saws', parent_id: 1 })).toMatchObject({
    status: 200,
    body: { name: 'Saws', path: 'tools/saws', category_path: ['Tools', 'Saws'] },
  })
  const list = await ask('GET', '?limit=1&page=2', undefined, {})
  expect(list.body).toMatchObject({ total: 2, page: 2, categories: [{ category_id: 2 }] })
  expect((await ask('GET', '', undefined, { 'if-none-match': (await ask('GET', '', undefined, {})).headers.get('etag')! })).status).toBe(
    304,
  )
  expect((await ask('GET', '/1', undefined, {})).body).toMatchObject({ path: 'tools', children: [{ category_id: 2 }] })
  expect((await ask('GET', '/9', undefined, {})).status).toBe(404)
})

test('cycles, unknown parents and duplicate paths are refused', async () => {
  const { ask, byId } = await opened()
  await ask('PUT', '/1', { name: 'A', slug: 'a' })
  await ask('PUT', '/2', { name: 'B', slug: 'b', parent_id: 1 })
  const before = structuredClone(byId)
  const refused = (error: string, path: string) =>
    expect.objectContaining({ status: 400, body: expect.objectContaining({ error, details: [expect.objectContaining({ path })] }) })
  expect(await ask('PUT', '/1', { name: 'A', slug: 'a', parent_id: 2 })).toEqual(refused('invalid_request', 'body.parent_id'))
  expect(await ask('PUT', '/1', { name: 'A', slug: 'a', parent_id: 1 })).toEqual(refused('invalid_request', 'body.parent_id'))
  expect(await ask('PUT', '/3', { name: 'C', slug: 'c', parent_id: 9 })).toEqual(refused('unknown_category', 'body.parent_id'))
  expect(await ask('PUT', '/3', { name: 'C', slug: 'a' })).toEqual(refused('invalid_request', 'body.slug'))
  expect(byId).toEqual(before)
})

test.each([
  ['/0', { name: 'A', slug: 'a' }],
  ['/2147483648', { name: 'A', slug: 'a' }],
  ['/x', { name: 'A', slug: 'a' }],
  ['/1', { name: '', slug: 'a' }],
  ['/1', { name: 'x'.repeat(201), slug: 'a' }],
  ['/1', { name: 'A', slug: 'Not a slug' }],
  ['/1', { name: 'A', slug: '12' }],
  ['/1', { name: 'A', slug: 'a'.repeat(101) }],
  ['/1', { name: 'A', slug: 'a', parent_id: 1.5 }],
  ['/1', { name: 'A', slug: 'a', other: 1 }],
  ['/1', { name: 'A\0', slug: 'a' }],
])('PUT %s with the body %j gets 400', async (path, body) => {
  const { ask, byId } = await opened()
  expect((await ask('PUT', path, body)).status).toBe(400)
  expect(byId.size).toBe(0)
})

test('only administrators change categories', async () => {
  const { ask, bearer } = await opened()
  expect((await ask('PUT', '/1', { name: 'A', slug: 'a' }, {})).status).toBe(401)
  expect((await ask('PUT', '/1', { name: 'A', slug: 'a' }, await bearer({ sub: '7', scope: 'seller' }))).status).toBe(403)
})
