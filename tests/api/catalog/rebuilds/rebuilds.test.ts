import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { rebuildsPart } from '../../../../api/catalog/rebuilds/part.ts'
import { openRebuilds } from '../../../../api/catalog/rebuilds/table.ts'
import { isDecimalUserId } from '../../../../api/kit/auth/authorize.ts'
import type { Holding } from '../../../../api/kit/small-table/holding.ts'
import type { IndexRebuildStatus } from '../../../../schemas/catalog/types.ts'
import { testApp } from '../../kit/harness.ts'

const NOW = Date.parse('2026-03-01T10:00:00Z')

async function opened() {
  const clock = { now: NOW }
  const known = new Map<string, IndexRebuildStatus>()
  const published: { topic: string; key: string }[] = []
  const stored = new Map<string, IndexRebuildStatus>()
  const changes = { arrived: () => {} }
  const facts = {
    async publish(topic: { name: string }, key: unknown, value: unknown) {
      published.push({ topic: topic.name, key: String(key) })
      if (topic.name === 'index-rebuilds') stored.set(String(key), value as IndexRebuildStatus)
    },
  }
  /** A table in which a stored record appears only after a first read has not found it. */
  const table = {
    entries() {
      const missing = [...stored]
      setImmediate(() => {
        for (const [id, status] of missing) {
          known.set(id, status)
          stored.delete(id)
        }
        changes.arrived()
      })
      return known
    },
    probes: [],
    close: async () => undefined,
  }
  const rebuilds = await openRebuilds({
    async smallTables(_topic: unknown, { onChange }: Holding<unknown, unknown>) {
      changes.arrived = onChange!
      return table
    },
  } as unknown as Parameters<typeof openRebuilds>[0])
  const { routes } = rebuildsPart({ facts, rebuilds, now: () => clock.now })
  const { app, bearer } = await testApp({
    services: [{ name: 'catalog', description: '', isUserId: isDecimalUserId, errors: [], probes: [], routes }],
  })
  async function ask(method: string, path = '', headers: Record<string, string> = {}) {
    const response = await app.request(`/api/v1/index/rebuilds${path}`, {
      method,
      headers: { ...(await bearer({ sub: '1', scope: 'admin' })), ...headers },
    })
    return { status: response.status, body: await response.json() }
  }
  return { ask, app, bearer, known, published, clock }
}

test('an administrator requests a rebuild, and sees its progress', async () => {
  const { ask, known, published } = await opened()
  const { status, body } = await ask('POST')
  expect([status, body]).toMatchObject([202, { index: 'catalog-products', state: 'requested', progress: 0, started_at: null }])
  expect(await ask('GET', `/${body.rebuild_id}`)).toEqual({ status: 200, body })
  // The API must publish the status before it publishes the request, because the worker that executes the request
  // overwrites the status.
  expect(published).toEqual([
    { topic: 'index-rebuilds', key: body.rebuild_id },
    { topic: 'index.rebuild', key: 'catalog-products' },
  ])
  const status2 = { ...(known.get(body.rebuild_id) as IndexRebuildStatus), state: 'filling', done: 30, total: 40, started_at: NOW } as const
  known.set(body.rebuild_id, status2)
  expect((await ask('GET', `/${body.rebuild_id}`)).body).toMatchObject({ state: 'filling', progress: 0.75, completed_at: null })
  known.set(body.rebuild_id, { ...status2, state: 'complete', done: 0, total: 0, updated_at: NOW + 5_000 })
  expect((await ask('GET', `/${body.rebuild_id}`)).body).toMatchObject({ progress: 1, completed_at: '2026-03-01T10:00:05.000Z' })
  expect((await ask('GET', '/other')).status).toBe(404)
})

test('a repeated request gets the id of the same rebuild', async () => {
  const { ask, known, published, clock } = await opened()
  const key = { 'idempotency-key': 'once' }
  const first = await ask('POST', '', key)
  const id = first.body.rebuild_id
  clock.now += 1_000
  expect(await ask('POST', '', key)).toEqual(first)
  // The repeated request publishes both records again, because one of them may have been lost the first time.
  expect(published).toHaveLength(4)
  await nextTurn()
  known.set(id, { ...(known.get(id) as IndexRebuildStatus), state: 'complete' })
  expect((await ask('POST', '', key)).body).toMatchObject({ rebuild_id: id, state: 'complete' })
  expect(published).toHaveLength(4)
  expect((await ask('POST')).body.rebuild_id).not.toBe(id)
})

test('only administrators may request or read rebuilds', async () => {
  const { app, bearer } = await opened()
  const path = '/api/v1/index/rebuilds'
  const ask = async (headers: Record<string, string>) => [
    (await app.request(path, { method: 'POST', headers })).status,
    (await app.request(`${path}/any`, { headers })).status,
  ]
  expect(await ask({})).toEqual([401, 401])
  expect(await ask(await bearer({ sub: '1', scope: 'seller' }))).toEqual([403, 403])
})
