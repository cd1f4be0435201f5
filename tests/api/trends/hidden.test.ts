import { describe, expect, test } from 'vitest'
import { isUnsafe } from '../../../api/trends/hidden/unsafe.ts'
import { UNSAFE_ANYWHERE, UNSAFE_WORDS } from '../../../api/trends/hidden/unsafe-words.ts'
import { foldTerm } from '../../../schemas/trends/term.ts'
import { TRENDS_VIEW } from '../../../state/views/trends/trends.ts'
import { entry } from '../../state/views/entries.ts'
import { START } from '../kit/harness.ts'
import { terms, trendsApi } from './harness.ts'

const BLOCKED = '/v1/admin/trends/blocked'
const REASON = { reason: 'names a victim' }
const AT = new Date(START).toISOString()

async function world() {
  const api = await trendsApi()
  const admin = await api.bearer({ sub: 'ada', scope: 'admin' })
  const block = (name: string) => api.send('PUT', `${BLOCKED}/${encodeURIComponent(name)}`, REASON, admin)
  const unblock = (name: string) => api.app.request(`${BLOCKED}/${encodeURIComponent(name)}`, { method: 'DELETE', headers: admin })
  const termsOf = async (path: string, headers = {}): Promise<string[]> =>
    (await api.get(path, headers)).body.trends.map(({ term }: { term: string }) => term)
  return { ...api, admin, block, unblock, termsOf }
}

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => `term${from + index}`)

describe('a blocked term', () => {
  test('disappears from the list, so that the following terms move up, and returns when it is unblocked', async () => {
    const { putList, termsOf, block, unblock, get } = await world()
    putList()
    const before = await get('/v1/trends')
    expect(await block('#Term2')).toMatchObject({ status: 200, body: { term: 'term2', name: '#Term2', ...REASON, blocked_by: 'ada' } })
    const after = await get('/v1/trends')
    expect(after.body.trends.map(({ term }: { term: string }) => term)).toEqual(['term1', ...range(3, 31)])
    expect(after.body.trends.map(({ rank }: { rank: number }) => rank)).toEqual(Array.from({ length: 30 }, (_, index) => index + 1))
    expect(after.headers.get('etag')).not.toBe(before.headers.get('etag'))
    expect(await termsOf('/v1/trends?limit=2')).toEqual(['term1', 'term3'])
    expect((await unblock('TERM2')).status).toBe(204)
    expect((await get('/v1/trends')).text).toBe(before.text)
  })

  test('disappears from later lists', async () => {
    const { putList, termsOf, block, clock } = await world()
    putList()
    await block('term1')
    clock.now += 30_000
    putList({ entries: terms(3) })
    expect(await termsOf('/v1/trends')).toEqual(['term2', 'term3'])
  })

  test('is replaced by candidates of the new list, even if a personalized list was read just before the new list was stored', async () => {
    const { putList, termsOf, block, bearer, clock } = await world()
    const reader = await bearer({ sub: '42' })
    await block('term2')
    putList()
    expect(await termsOf('/v1/trends?limit=3')).toEqual(['term1', 'term3', 'term4'])
    // A list of another location changes the position of the partition, so that every list in the partition is read
    // again.
    clock.now += 30_000
    putList({ woeid: 23424977 })
    await termsOf('/v1/trends?personalized=true', reader)
    putList({ entries: [entry('new', { score: 99 }), ...terms(40)] })
    await termsOf('/v1/trends?limit=3')
    clock.now += 2_000
    expect(await termsOf('/v1/trends?limit=3')).toEqual(['new', 'term1', 'term3'])
  })

  test('never shortens a list because Redis was emptied: readers get not_ready until the candidates can be read', async () => {
    const { putList, termsOf, block, get, redis, clock } = await world()
    putList()
    expect(await termsOf('/v1/trends')).toHaveLength(30)
    redis.flush()
    await block('term2')
    expect(await get('/v1/trends')).toMatchObject({ status: 503, body: { error: 'not_ready' } })
    redis.caughtUp(TRENDS_VIEW, 4)
    putList()
    clock.now += 1_000
    expect(await termsOf('/v1/trends')).toEqual(['term1', ...range(3, 31)])
  })

  test('disappears from personalized and past lists', async () => {
    const { putList, termsOf, block, bearer, table } = await world()
    putList()
    table.rows = ['term1', 'term2'].map((term) => [START / 1000, term, term, 1, 1, '', [], 1, 1, START, 1, []])
    expect(await termsOf(`/v1/trends/1/past?at=${AT}`)).toEqual(['term1', 'term2'])
    await block('term1')
    expect(await termsOf(`/v1/trends/1/past?at=${AT}`)).toEqual(['term2'])
    const personal = await termsOf('/v1/trends?personalized=true', await bearer({ sub: '42' }))
    expect(personal).toEqual(range(2, 31))
  })

  test('disappears from the variants of other trends, and the ETags of their lists change', async () => {
    const { putList, get, block, bearer, table } = await world()
    const topic = { variants: ['#Victim', 'other'], related: ['victim'] }
    putList({ entries: [entry('term1', { ...topic, score: 40 }), ...terms(40).slice(1)] })
    table.rows = [[START / 1000, 'term1', 'term1', 1, 1, '', [], 1, 1, START, 1, topic.variants]]
    const before = await get('/v1/trends')
    expect(before.body.trends[0]).toMatchObject(topic)
    await block('#victim')
    const after = await get('/v1/trends')
    const shown = { term: 'term1', variants: ['other'], related: [] }
    expect(after.body.trends[0]).toMatchObject(shown)
    expect(after.body.trends).toHaveLength(30)
    expect(after.headers.get('etag')).not.toBe(before.headers.get('etag'))
    expect((await get('/v1/trends?personalized=true', await bearer({ sub: '42' }))).body.trends[0]).toMatchObject(shown)
    expect((await get(`/v1/trends/1/past?at=${AT}`)).body.trends[0]).toMatchObject({ term: 'term1', variants: ['other'] })
    // Blocks a second term that is itself an entry of the list, not only a variant.
    await block('term2')
    expect((await get('/v1/trends')).body.trends).toMatchObject([shown, { term: 'term3' }, ...new Array(28).fill({})])
  })

  test('makes the list shorter while the candidates belong to another version of the list', async () => {
    const { putList, termsOf, get, block, redis, bearer } = await world()
    putList()
    for (const partition of [0, 1, 2, 3])
      redis.apply([{ op: 'setIfNewer', key: `{trends:${partition}}:list:1`, version: Number.MAX_SAFE_INTEGER, value: Buffer.alloc(9) }])
    await block('term2')
    expect(await termsOf('/v1/trends')).toEqual(['term1', ...range(3, 30)])
    const personal = await get('/v1/trends?personalized=true', await bearer({ sub: '42' }))
    expect(personal).toMatchObject({ status: 503, body: { error: 'not_ready' } })
  })

  test('still has its history', async () => {
    const { block, get, table } = await world()
    await block('term1')
    table.rows = [[START / 1000, 3]]
    expect((await get('/v1/trends/term1/history?hours=1')).body.data_points.at(-1).volume).toBe(3)
  })

  test('invalidates the responses that the server has cached', async () => {
    const { app, answers, putList, block, clock } = await world()
    putList()
    await app.request('/v1/trends', {}, { incoming: { url: '/v1/trends' } })
    expect(answers.get('/v1/trends', clock.now)).toBeDefined()
    await block('elsewhere')
    expect(answers.get('/v1/trends', clock.now)).toBeUndefined()
  })

  test('is replaced by a candidate, and the candidates are read once for all readers', async () => {
    const { putList, get, block, redis, clock } = await world()
    putList()
    await block('term2')
    await Promise.all(range(1, 20).map((_, index) => get(`/v1/trends?limit=${index + 1}`)))
    const { reads } = redis.state
    clock.now += 900
    await get('/v1/trends')
    expect(redis.state.reads).toBe(reads)
    // The positions, the list and the candidates are read once, each with its version and caught-up flag.
    expect(reads).toBeLessThanOrEqual(12)
  })
})

test('no list is served before the blocked terms have been read', async () => {
  const { putList, get, blocked, table } = await world()
  putList()
  table.rows = [[START / 1000, 'a', 'a', 1, 1, '', [], 1, 1, START, 1, []]]
  blocked.isLoaded = false
  for (const path of ['/v1/trends', '/v1/trends?safe=true', `/v1/trends/1/past?at=${AT}`])
    expect(await get(path)).toMatchObject({ status: 503, body: { error: 'not_ready' } })
  blocked.isLoaded = true
  blocked.revision++
  expect((await get('/v1/trends')).status).toBe(200)
})

describe('/v1/admin/trends/blocked', () => {
  test('lists the blocked terms in alphabetical order', async () => {
    const { get, block, unblock, admin } = await world()
    for (const name of ['tea', '#Café', 'b/c', 'gone']) await block(name)
    await unblock('gone')
    const { status, headers, body } = await get(BLOCKED, admin)
    expect([status, headers.get('cache-control')]).toEqual([200, 'private, no-store'])
    expect(body.terms.map(({ term, name }: { term: string; name: string }) => [term, name])).toEqual([
      ['b/c', 'b/c'],
      ['café', '#Café'],
      ['tea', 'tea'],
    ])
    expect(body.terms[0]).toMatchObject({ ...REASON, blocked_by: 'ada', blocked_at: AT })
  })

  test('lists the blocked terms in pages', async () => {
    const { get, blocked, admin } = await world()
    for (let i = 10; i < 35; i++) blocked.apply(`t${i}`, { name: `t${i}`, ...REASON, blocked_by: 'ada', blocked_at: START })
    const page = async (query = '') => (await get(`${BLOCKED}${query}`, admin)).body
    const first = await page()
    expect([first.terms.length, first.terms[0].term, first.page, first.limit, first.total]).toEqual([20, 't10', 1, 20, 25])
    expect((await page('?page=2')).terms.map(({ term }: { term: string }) => term)).toEqual(['t30', 't31', 't32', 't33', 't34'])
    expect(await page('?page=3&limit=10')).toMatchObject({ terms: new Array(5).fill({}), page: 3, limit: 10, total: 25 })
    expect((await page('?page=9')).terms).toEqual([])
    for (const query of ['?page=0', '?limit=0', '?limit=101', '?page=x']) expect((await get(`${BLOCKED}${query}`, admin)).status).toBe(400)
  })

  test('answers 202 while this process has not read the change', async () => {
    const { block, kafka, get, admin } = await world()
    kafka.sink = false
    expect((await block('tea')).status).toBe(202)
    expect((await get(BLOCKED, admin)).body.terms).toEqual([])
  })

  test('stores changes while this process has not read the blocked terms at all', async () => {
    const { block, unblock, blocked, published } = await world()
    blocked.isLoaded = false
    expect((await block('tea')).status).toBe(202)
    expect((await unblock('tea')).status).toBe(204)
    expect(published.map(({ key }) => key)).toEqual(['tea', 'tea'])
  })

  test('needs the scope admin', async () => {
    const { app, send, get, bearer } = await world()
    for (const [headers, status] of [[{}, 401] as const, [await bearer({ sub: '42', scope: 'internal' }), 403] as const]) {
      expect((await send('PUT', `${BLOCKED}/tea`, REASON, headers)).status).toBe(status)
      expect((await get(BLOCKED, headers)).status).toBe(status)
      expect((await app.request(`${BLOCKED}/tea`, { method: 'DELETE', headers })).status).toBe(status)
    }
  })

  test.each([
    ['#', REASON],
    ['x'.repeat(141), REASON],
    ['tea', {}],
    ['tea', { reason: '' }],
    ['tea', { reason: 'x'.repeat(501) }],
    ['tea', { reason: 'x', extra: 1 }],
  ])('rejects the term "%s" with %o', async (name, body) => {
    const { send, admin, published } = await world()
    const answered = await send('PUT', `${BLOCKED}/${encodeURIComponent(name)}`, body, admin)
    expect(answered).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
    expect(published).toEqual([])
  })

  test('answers unavailable without Kafka', async () => {
    const { block, kafka } = await world()
    kafka.down = true
    expect(await block('tea')).toMatchObject({ status: 503, body: { error: 'unavailable' } })
  })
})

describe('safe=true', () => {
  test('leaves out unsafe terms, and fills their places with the next terms', async () => {
    const { putList, termsOf, table, bearer } = await world()
    const [unsafe, ...others] = terms(32)
    putList({ entries: [entry('holy shit', { score: unsafe.score }), ...others] })
    expect((await termsOf('/v1/trends'))[0]).toBe('holy shit')
    expect(await termsOf('/v1/trends?safe=true')).toEqual(range(2, 31))
    expect((await termsOf('/v1/trends?safe=false'))[0]).toBe('holy shit')
    expect(await termsOf('/v1/trends?safe=true&personalized=true', await bearer({ sub: '42' }))).not.toContain('holy shit')
    table.rows = ['holy shit', 'tea'].map((term) => [START / 1000, term, term, 1, 1, '', [], 1, 1, START, 1, []])
    expect(await termsOf(`/v1/trends/1/past?at=${AT}&safe=true`)).toEqual(['tea'])
  })

  test.each(['holy shit', '#WhatTheFuck', 'merde!', 'PÜTA', 'so-sexy', 'encülé'])('"%s" is unsafe', (name) => {
    expect(isUnsafe(foldTerm(name)!)).toBe(true)
  })

  test.each(['scunthorpe', 'assassin', 'essex', 'cocktail', '#Titanic', 'dickens', 'sussex', 'class', 'shiitake', 'therapist'])(
    '"%s" is safe',
    (name) => {
      expect(isUnsafe(foldTerm(name)!)).toBe(false)
    },
  )

  test('each listed word counts as unsafe, and is listed once', () => {
    const all = [...UNSAFE_WORDS, ...UNSAFE_ANYWHERE]
    expect(all.filter((word) => !isUnsafe(foldTerm(word)!))).toEqual([])
    expect(UNSAFE_ANYWHERE.filter((part) => !isUnsafe(`the${part}day`))).toEqual([])
    expect(new Set(all).size).toBe(all.length)
  })
})
