import { beforeEach, expect, test } from 'vitest'
import { NEW_USER, selfOf, withPreferences } from '../../../pipelines/recommendations/users/user-state.ts'
import { START } from '../kit/harness.ts'
import { recommendationsApi } from './harness.ts'

let api: Awaited<ReturnType<typeof recommendationsApi>>
beforeEach(async () => {
  api = await recommendationsApi()
})

const DAY_MS = 86_400_000
const iso = (time: number) => new Date(time).toISOString()
const put = (path: string, body: object, scope: string) => api.send('PUT', path, { user: 'service', scope, body })

test('an item with an older updated_at has no effect, and an item with the same updated_at replaces the stored item', async () => {
  const item = (title: string, updated_at: number) => put('/internal/items/5', { title, updated_at: iso(updated_at) }, 'internal')
  const titles = () => api.published.filter(({ topic }) => topic === 'items').map(({ value }) => (value as { title: string }).title)
  for (const [title, at] of [
    ['new', START],
    ['old', START - 1],
    ['newer', START],
  ] as const)
    expect((await item(title, at)).status).toBe(204)
  expect(titles()).toEqual(['new', 'newer'])
})

test('properties of a user with an older updated_at have no effect, and properties with the same updated_at replace the stored ones', async () => {
  const self = selfOf({ ...NEW_USER, user_updated_at: START })
  api.putUser('5:self', { page: null, self })
  const user = (country: string, updated_at: number) => put('/internal/users/5', { country, updated_at: iso(updated_at) }, 'internal')
  for (const [country, at] of [
    ['DE', START - 1],
    ['FR', START],
  ] as const)
    expect((await user(country, at)).status).toBe(204)
  expect(api.published.map(({ value }) => value.country)).toEqual(['FR'])
  api.state.isRedisAway = true
  expect((await user('ES', START - 1)).status).toBe(204)
  expect(api.published).toHaveLength(2)
})

test('texts that are compared with each other are normalised to NFC', async () => {
  const [decomposed, composed] = ['Come\u0301die', 'Com\u00e9die']
  await put('/internal/items/5', { title: decomposed, category_path: decomposed, attributes: { [decomposed]: decomposed } }, 'internal')
  const texts = { title: composed, category_path: composed, attributes: { [composed]: composed } }
  expect(api.published.at(-1)?.value).toMatchObject(texts)
  const preferencesOf = (text: string) => ({ preferences: [{ category: text, value: text, weight: 1 }] })
  const { body } = await api.send('PUT', '/api/v1/me/preferences', { user: '42', body: preferencesOf(decomposed) })
  expect(body).toEqual(preferencesOf(composed))
  expect(api.published.at(-1)?.value).toMatchObject(preferencesOf(composed))
})

test('the lengths of texts are limited in code points', async () => {
  const texts = { title: '😀'.repeat(500), category_path: '😀'.repeat(500), attributes: { n: '😀'.repeat(500) } }
  expect((await put('/internal/items/5', texts, 'internal')).status).toBe(204)
  for (const [name, value] of Object.entries({ title: '😀'.repeat(501), attributes: { n: '😀'.repeat(501) } }))
    expect((await put('/internal/items/5', { ...texts, [name]: value }, 'internal')).status).toBe(400)
  const preference = { category: '😀'.repeat(50), value: '😀'.repeat(100), weight: 1 }
  expect((await api.send('PUT', '/api/v1/me/preferences', { user: '42', body: { preferences: [preference] } })).status).toBe(200)
})

test('an item or a user without updated_at is stored, even if a process whose clock is ahead stored the previous version', async () => {
  const ahead = START + 2_000
  await put('/internal/items/5', { title: 'Earlier', updated_at: iso(ahead) }, 'internal')
  await put('/internal/items/5', { title: 'Corrected' }, 'internal')
  expect(api.published.at(-1)).toMatchObject({ topic: 'items', value: { title: 'Corrected', updated_at: ahead } })
  const self = selfOf({ ...NEW_USER, user_updated_at: ahead })
  api.putUser('5:self', { page: null, self })
  await put('/internal/users/5', { country: 'FR' }, 'internal')
  expect(api.published.at(-1)).toMatchObject({ topic: 'recommendation-users', value: { country: 'FR', updated_at: ahead } })
})

test('an item that is sent again without created_at keeps the time at which it was created', async () => {
  const created_at = START - 400 * DAY_MS
  await put('/internal/items/5', { title: 'First', created_at: iso(created_at) }, 'internal')
  await put('/internal/items/5', { title: 'Again' }, 'internal')
  expect(api.published.at(-1)).toMatchObject({ topic: 'items', value: { title: 'Again', created_at } })
  await put('/internal/items/6', { title: 'New' }, 'internal')
  expect(api.published.at(-1)).toMatchObject({ topic: 'items', value: { title: 'New', created_at: START } })
})

test('preferences are stored even if a process whose clock is ahead stored the previous ones', async () => {
  const ahead = START + 5 * 60_000
  api.putUser('42:self', { page: null, self: selfOf({ ...NEW_USER, preferences_updated_at: ahead }) })
  const preferences = [{ category: 'genre', value: 'Comedy', weight: 1 }]
  const send = () => api.send('PUT', '/api/v1/me/preferences', { user: '42', body: { preferences } })
  expect((await send()).status).toBe(200)
  expect(withPreferences({ ...NEW_USER, preferences_updated_at: ahead }, api.published.at(-1)!.value)).toMatchObject({ preferences })
  api.state.isRedisAway = true
  expect((await send()).status).toBe(200)
  expect(api.published).toHaveLength(2)
})

test('an item is accepted if each of its fields is at its limit', async () => {
  const attributes = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`${at}`.padEnd(50, 'n'), 'v'.repeat(500)]))
  const texts = { title: 't'.repeat(500), description: 'd'.repeat(20_000), category_path: 'c'.repeat(500) }
  const thumbnail_url = `https://example.com/${'x'.repeat(2_028)}`
  expect((await put('/internal/items/5', { ...texts, attributes, thumbnail_url, popularity: 1 }, 'internal')).status).toBeLessThan(300)
})

test.each([
  [{ title: '' }],
  [{ title: 't'.repeat(501) }],
  [{ title: 't', description: 'd'.repeat(20_001) }],
  [{ title: 't', category_path: 'c'.repeat(501) }],
  [{ title: 't', popularity: 1.01 }],
  [{ title: 't', status: 'DELETED' }],
  [{ title: 't', thumbnail_url: 'javascript:alert(1)' }],
  [{ title: 't', thumbnail_url: 'https:example.com/1.png' }],
  [{ title: 't', thumbnail_url: `https://example.com/${'x'.repeat(2_029)}` }],
  [{ title: 't', thumbnail_url: 'http:/example.com/1.png' }],
  [{ title: 't', attributes: Object.fromEntries(Array.from({ length: 51 }, (_, at) => [`n${at}`, 'v'])) }],
  [{ title: 't', attributes: { ['n'.repeat(51)]: 'v' } }],
  [{ title: 't', attributes: { n: 'v'.repeat(501) } }],
  [{ title: 't', created_at: 'yesterday' }],
  [{ title: 't', price: 1 }],
])('an item is refused: %j', async (body) => {
  expect(await put('/internal/items/5', body, 'internal')).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
  expect(api.published).toEqual([])
})

test.each([
  [{ thumbnail_url: 'ftp://example.com/1.png' }, 'body.thumbnail_url', 'must be an http or https URL'],
  [{ attributes: { ['n'.repeat(51)]: 'v' } }, `body.attributes.${'n'.repeat(51)}`, 'names must have 1 to 50 characters'],
  [{ created_at: '2026-01-15T12:00:00+02:00' }, 'body.created_at', 'must be a UTC time such as 2026-01-15T12:00:00.000Z'],
])('the error for an item with %j says what is allowed', async (fields, path, message) => {
  const { body } = await put('/internal/items/5', { title: 't', ...fields }, 'internal')
  expect(body.details).toEqual([{ path, message }])
})

test('an editorial list without a start may end before 1970, because only a list with a start can end before its start', async () => {
  const list = { kind: 'LIST', item_ids: ['1'], ends_at: '1960-01-01T00:00:00.000Z' }
  const { status, body } = await put('/api/v1/editorial-lists/picks', list, 'admin')
  expect([status, body.is_running]).toEqual([200, false])
})

test('editorial lists are shown even if another program has written times that a Date cannot represent', async () => {
  const times = { starts_at: Number.MIN_SAFE_INTEGER, ends_at: Number.MAX_SAFE_INTEGER }
  api.putEditorial('picks', { kind: 'LIST', item_ids: [1n], contexts: [], factor: null, max_age_days: null, ...times })
  const { status, body } = await api.send('GET', '/api/v1/editorial-lists', { user: 'editor', scope: 'admin' })
  expect(status).toBe(200)
  expect(body.lists).toMatchObject([{ starts_at: '-271821-04-20T00:00:00.000Z', ends_at: '+275760-09-13T00:00:00.000Z', is_running: true }])
})

test.each([
  ['an end before its start', { kind: 'LIST', item_ids: ['1'], starts_at: iso(START), ends_at: iso(START) }],
  ['no items', { kind: 'LIST', item_ids: [] }],
  ['501 items', { kind: 'LIST', item_ids: Array.from({ length: 501 }, () => '1') }],
  ['an unknown context', { kind: 'LIST', item_ids: ['1'], contexts: ['lobby'] }],
  ['an unknown kind', { kind: 'BAN', item_ids: ['1'] }],
  ['a factor of 11', { kind: 'NEW_RELEASE_BOOST', factor: 11, max_age_days: 30 }],
])('an editorial list with %s is refused', async (_what, body) => {
  expect(await put('/api/v1/editorial-lists/picks', body, 'admin')).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
  expect(api.published).toEqual([])
})

test.each([
  ['picks', { kind: 'NEW_RELEASE_BOOST', factor: 2, max_age_days: 30 }],
  ['new-releases', { kind: 'LIST', item_ids: ['1'] }],
])('the editorial list %s is refused with %j, because it would have no effect or would end the boost of new items', async (name, body) => {
  const refused = await put(`/api/v1/editorial-lists/${name}`, body, 'admin')
  expect(refused).toMatchObject({ status: 400, body: { error: 'invalid_request', details: [{ path: 'body.kind' }] } })
  expect(api.published).toEqual([])
})

test('a deletion of an editorial list is published even if the process has not read the list yet and answers 404', async () => {
  const remove = () => api.send('DELETE', '/api/v1/editorial-lists/picks', { user: 'service', scope: 'admin' })
  const tombstone = { topic: 'editorial-lists', key: 'picks', value: null }
  expect(await remove()).toMatchObject({ status: 404, body: { error: 'editorial_list_not_found' } })
  expect(api.published).toEqual([tombstone])
  await put('/api/v1/editorial-lists/picks', { kind: 'LIST', item_ids: ['1'] }, 'admin')
  expect((await remove()).status).toBe(204)
  expect(api.published.at(-1)).toEqual(tombstone)
})

test('an invalid list name and a caller without the scope are refused', async () => {
  const body = { kind: 'LIST', item_ids: ['1'] }
  expect((await put('/api/v1/editorial-lists/Picks', body, 'admin')).status).toBe(400)
  expect((await put('/api/v1/editorial-lists/picks', body, 'internal')).status).toBe(403)
  expect((await put('/internal/items/5', { title: 't' }, 'admin')).status).toBe(403)
  expect((await put('/internal/users/5', { country: 'DE' }, 'admin')).status).toBe(403)
})

test.each([
  [{ preferences: Array.from({ length: 101 }, () => ({ category: 'genre', value: 'Comedy', weight: 1 })) }],
  [{ preferences: [{ category: 'genre', value: 'Comedy', weight: 1.1 }] }],
  [{ preferences: [{ category: 'c'.repeat(51), value: 'Comedy', weight: 1 }] }],
  [{ preferences: [{ category: 'genre', value: 'v'.repeat(101), weight: 1 }] }],
  [{ preferences: [{ category: 'genre', value: 'Comedy' }] }],
])('preferences are refused: %j', async (body) => {
  expect((await api.send('PUT', '/api/v1/me/preferences', { user: '42', body })).status).toBe(400)
  expect(api.published).toEqual([])
})

test.each([
  [{ country: 'GERMAN' }],
  [{ language: 'l'.repeat(11) }],
  [{ age_bucket: 'a'.repeat(11) }],
  [{ sub_tier: 'gold' }],
  [{ signup_date: '2026-02-30' }],
])('properties of a user are refused: %j', async (body) => {
  expect((await put('/internal/users/42', body, 'internal')).status).toBe(400)
  expect(api.published).toEqual([])
})
