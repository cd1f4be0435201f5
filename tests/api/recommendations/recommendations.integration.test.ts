import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { waitUntil } from '../../../deploy/local/wait.ts'
import { RANKING_WIDTH } from '../../../schemas/recommendations/ranking/ranking-features.ts'
import { pythonEnvironment } from '../../../scripts/python-environment.ts'
import { FUZZ_TIMEOUT_MS, fuzz } from '../../stack/fuzzer.ts'
import { TOOLS } from '../../stack/servers.ts'
import { type Asked, type CatalogStack, catalogStack, SOON } from '../catalog/stack.ts'

/** Time limit of the setup. The first run installs the Python packages. */
const SETUP_MS = 300_000
const TEST_MS = 120_000
const TRAINING_MS = 180_000
const GENRES = ['Comedy', 'Drama', 'Crime', 'Western', 'Musical', 'War', 'Horror', 'Sport'] as const
const ITEMS = 80

let stack: CatalogStack
let service: Record<string, string>

const idOf = (genre: number, place: number) => String(1_000 + genre * 100 + place)

beforeAll(async () => {
  const requirements = fileURLToPath(new URL('../../../tools/recommendations/python/requirements.txt', import.meta.url))
  const python = dirname(await pythonEnvironment({ name: 'recommendations', requirements, tools: TOOLS }))
  const env = { API_SERVICES: 'recommendations', RECOMMENDATIONS_TRAIN_HOURS: '0', RECOMMENDATIONS_PYTHON: python }
  stack = await catalogStack({ pipelines: 'recommendations', env })
  service = await stack.bearer('backend', 'internal')
  for (let item = 0; item < ITEMS; item++) {
    const genre = item % GENRES.length
    const body = { title: `${GENRES[genre]} ${item}`, attributes: { genres: `${GENRES[genre]}|Film` }, popularity: item / ITEMS }
    const id = idOf(genre, Math.floor(item / GENRES.length))
    const { url } = stack.apis[0]
    const headers = { 'content-type': 'application/json', ...service }
    const response = await fetch(`${url}/internal/items/${id}`, { method: 'PUT', headers, body: JSON.stringify(body) })
    expect(response.status).toBe(204)
  }
  // Three users like comedies, and one user likes crime films.
  for (const user of ['11', '12', '13']) for (let place = 0; place < 8; place++) await view(user, idOf(0, place))
  for (let place = 0; place < 6; place++) await view('14', idOf(2, place))
  await waitUntil(async () => (await list('11', 'limit=1')).body.recommendations?.length === 1, { what: 'items', ...SOON })
}, SETUP_MS)
afterAll(() => stack?.finish(), SETUP_MS)

async function view(user: string, item: string, more: object = {}): Promise<void> {
  const body = { item_id: item, event_type: 'VIEW', ...more }
  expect((await stack.send('POST', 'events', { body, headers: await stack.bearer(user, '') })).status).toBe(202)
}

async function list(user: string, query = ''): Promise<Asked> {
  return await stack.send('GET', `recommendations?${query}`, { headers: await stack.bearer(user, '') })
}

async function features(user: string): Promise<Asked['body']> {
  const response = await fetch(`${stack.apis[0].url}/internal/features/user/${user}`, { headers: service })
  expect(response.status).toBe(200)
  return await response.json()
}

test(
  'a new user gets a list with explanations, based on preferences if there are any, and no item is repeated on later pages',
  async () => {
    const { status, body } = await list('21')
    expect([status, body.model_version, body.degraded]).toEqual([200, 'rules-1', []])
    expect(body.recommendations).toHaveLength(20)
    for (const item of body.recommendations) expect(item).toMatchObject({ title: expect.any(String), explanation: expect.any(String) })

    const headers = await stack.bearer('21', '')
    const preferences = { preferences: [{ category: 'genre', value: 'Western', weight: 1 }] }
    expect((await stack.send('PUT', 'me/preferences', { body: preferences, headers })).status).toBe(200)
    await waitUntil(async () => (await list('21')).body.recommendations[0].explanation === 'Because you like Western', {
      what: 'the preference',
      ...SOON,
    })
    expect((await stack.send('GET', 'me/preferences', { headers })).body).toEqual(preferences)

    const seen: string[] = []
    let page = (await list('21', 'limit=15')).body
    for (;;) {
      seen.push(...page.recommendations.map(({ item_id }: { item_id: string }) => item_id))
      if (page.page_token === null) break
      page = (await list('21', `limit=15&page_token=${page.page_token}`)).body
    }
    expect(seen.length).toBe(50)
    expect(new Set(seen).size).toBe(50)
  },
  TEST_MS,
)

test(
  'after five views, the list contains none of the five items and names a viewed item as a reason',
  async () => {
    const views = [0, 1, 2, 3, 4].map((place) => idOf(0, place))
    for (const item of views) await view('22', item)
    const because = async () => {
      const { recommendations } = (await list('22')).body
      return recommendations.find(({ rec_type }: { rec_type: string }) => rec_type === 'because_you_watched')
    }
    const lastItems = async () => (await features('22')).real_time_features.last_5_items.join()
    await waitUntil(async () => (await lastItems()) === views.toReversed().join(), { what: 'the views', ...SOON })
    await waitUntil(async () => views.includes((await because())?.source_item_id), { what: 'the reason', ...SOON })
    const { recommendations } = (await list('22', 'limit=50')).body
    const ids = recommendations.map(({ item_id }: { item_id: string }) => item_id)
    expect(ids.filter((id: string) => views.includes(id))).toEqual([])
    expect((await because()).explanation).toMatch(/^Because you watched “Comedy /)

    expect(await features('22')).toMatchObject({
      user_id: '22',
      real_time_features: { last_5_items: views.toReversed(), session_genre_dist: { Comedy: 1 } },
      static_features: { country: null },
    })
    expect((await features('22')).embedding).toHaveLength(256)

    const similar = await stack.send('GET', `items/${views[0]}/similar?limit=5`)
    expect(similar.status).toBe(200)
    expect(similar.body.similar_items[0]).toMatchObject({ shared_attributes: expect.arrayContaining(['genre: Comedy']) })
  },
  TEST_MS,
)

test(
  'a hidden item does not appear in lists until the user unhides it',
  async () => {
    const headers = await stack.bearer('23', '')
    const first = async () => (await list('23', 'limit=50')).body.recommendations.map(({ item_id }: { item_id: string }) => item_id)
    const [item] = await first()
    expect((await stack.send('POST', 'me/not-interested', { body: { item_id: item }, headers })).status).toBe(202)
    await waitUntil(async () => !(await first()).includes(item), { what: 'a list without the hidden item', ...SOON })
    expect((await stack.send('DELETE', `me/not-interested/${item}`, { headers })).status).toBe(202)
    await waitUntil(async () => (await first()).includes(item), { what: 'a list with the item that was hidden', ...SOON })
  },
  TEST_MS,
)

test(
  'editors place items in lists, and an inactive item is neither listed nor found',
  async () => {
    const admin = await stack.bearer('1', 'admin')
    const item = idOf(7, 0)
    const body = { kind: 'LIST', item_ids: [item] }
    expect((await stack.send('PUT', 'editorial-lists/picks', { body, headers: admin })).status).toBe(200)
    const find = async () => (await list('24', 'limit=50')).body.recommendations.find((one: { item_id: string }) => one.item_id === item)
    await waitUntil(async () => (await find())?.explanation === 'Picked by our editors', { what: 'the pick', ...SOON })

    const inactive = { title: 'Gone', status: 'INACTIVE' }
    const headers = { 'content-type': 'application/json', ...service }
    await fetch(`${stack.apis[0].url}/internal/items/${item}`, { method: 'PUT', headers, body: JSON.stringify(inactive) })
    await waitUntil(async () => (await find()) === undefined, { what: 'a list without the inactive item', ...SOON })
    expect((await stack.send('GET', `items/${item}/similar`)).body.error).toBe('item_not_found')
    expect((await stack.send('DELETE', 'editorial-lists/picks', { headers: admin })).status).toBe(204)
  },
  TEST_MS,
)

test(
  'ClickHouse contains a repeated event once, and the items of a served list in their order',
  async () => {
    const timestamp = Math.floor(Date.now() / 1_000) - 3_600
    for (let time = 0; time < 3; time++) await view('25', idOf(1, 0), { event_id: 'same', timestamp })
    const { request_id, recommendations } = (await list('25', 'limit=7')).body
    const count = () => stack.query('SELECT count() FROM interactions FINAL WHERE user_id = 25')
    await waitUntil(async () => Number((await count())[0]?.[0]) === 1, { what: 'the event', ...SOON })
    const served = () =>
      stack.query(
        `SELECT toString(item_id), length(features) FROM recommendations_served FINAL WHERE request_id = '${request_id}' ORDER BY position`,
      )
    await waitUntil(async () => (await served()).length === 7, { what: 'the answer', ...SOON })
    const expected = recommendations.map(({ item_id }: { item_id: string }) => [item_id, RANKING_WIDTH])
    expect((await served()).map(([id, width]) => [id, Number(width)])).toEqual(expected)
  },
  TEST_MS,
)

/**
 * Sends the events of 30 users who have watched items in the last twelve hours. Each user prefers one genre.
 * @returns the number of events
 */
async function sendVisits(): Promise<number> {
  const now = Math.floor(Date.now() / 1_000)
  const events = Array.from({ length: 30 * 12 }, (_, index) => {
    const [user, step] = [index % 30, Math.floor(index / 30)]
    const genre = step % 4 === 3 ? (user + step) % GENRES.length : user % GENRES.length
    const item_id = idOf(genre, (user + step * 3) % (ITEMS / GENRES.length))
    return { user_id: String(500 + user), item_id, event_type: 'VIEW', timestamp: now - (12 - step) * 3_600 + user }
  })
  expect((await stack.send('POST', 'events/batch', { body: { events }, headers: service })).status).toBe(202)
  return events.length
}

async function models(): Promise<Asked['body']> {
  const response = await fetch(`${stack.apis[0].url}/internal/models`, { headers: service })
  expect(response.status).toBe(200)
  return await response.json()
}

async function change(action: string, body?: object): Promise<{ status: number; request_id?: string; error?: string }> {
  const headers = { ...service, ...(body && { 'content-type': 'application/json' }) }
  const response = await fetch(`${stack.apis[0].url}/internal/models/${action}`, {
    method: 'POST',
    headers,
    body: body && JSON.stringify(body),
  })
  return { status: response.status, ...(await response.json()) }
}

test(
  'a requested training run puts a model in force, and the model can be rolled back and promoted',
  async () => {
    expect(await models()).toMatchObject({ answering: 'rules-1', champion: null, versions: [], runs: [] })
    expect((await change('rollback')).error).toBe('no_earlier_model')
    const sent = await sendVisits()
    const stored = () => stack.query('SELECT count() FROM interactions FINAL WHERE user_id >= 500 AND user_id < 600')
    await waitUntil(async () => Number((await stored())[0]?.[0]) === sent, { what: 'the events in ClickHouse', ...SOON })

    const { status, request_id } = await change('train')
    expect(status).toBe(202)
    const run = async () => (await models()).runs.find(({ request_ids }: { request_ids: string[] }) => request_ids.includes(request_id!))
    const over = async () => ![undefined, 'RUNNING'].includes((await run())?.state)
    await waitUntil(over, { what: 'the training run', timeoutMs: TRAINING_MS, intervalMs: 200 })
    const { state, reason, version } = await run()
    expect({ state, reason }).toEqual({ state: 'IN_FORCE', reason: expect.stringMatching(/test cases are too few for a comparison$/) })

    const answering = async () => (await list('500')).body.model_version
    await waitUntil(async () => (await answering()) === version, { what: 'the model to answer', ...SOON })
    const { embedding, embedding_version } = await features('500')
    expect(embedding_version).toBe(1)
    expect(Math.hypot(...embedding)).toBeCloseTo(1, 3)

    expect((await change('promote', { version: 'another' })).error).toBe('model_not_found')
    expect((await change('challenger', { version, percent: 5 })).error).toBe('model_in_force')
    expect((await change('rollback')).status).toBe(202)
    await waitUntil(async () => (await answering()) === 'rules-1', { what: 'the rules to answer', ...SOON })
    expect((await change('challenger', { version, percent: 50 })).status).toBe(202)
    await waitUntil(async () => (await models()).challenger_percent === 50, { what: 'the challenger', ...SOON })
    expect((await change('promote', { version })).status).toBe(202)
    await waitUntil(async () => (await answering()) === version, { what: 'the model to answer again', ...SOON })
    expect(await models()).toMatchObject({ answering: version, champion: version, challenger: null, challenger_percent: 0 })
  },
  TRAINING_MS + TEST_MS,
)

test(
  'the requests of a fuzzer get documented answers',
  async () => {
    const { authorization } = await stack.bearer('31', 'internal admin')
    const paths = ['/api/v1/recommendations', '/api/v1/events', '/api/v1/items', '/api/v1/me', '/api/v1/editorial-lists', '/internal']
    const routes = paths.flatMap((path) => ['--include-path-regex', `^${path}`])
    await fuzz({ url: stack.apis[0].url, authorization, routes, folder: stack.folder.path })
  },
  FUZZ_TIMEOUT_MS,
)

test(
  'without Redis, lists are degraded, and they are complete again once Redis is back',
  async () => {
    const known = (await list('22')).body
    expect(known.degraded).toEqual([])
    await stack.redis.stop()
    const stranger = await list('26')
    expect([stranger.status, stranger.body.degraded]).toEqual([200, expect.arrayContaining(['features'])])
    expect(stranger.body.recommendations.length).toBeGreaterThan(0)
    // A user who has already received a complete list gets the same list again. A list of similar items is made without
    // the item's neighbours.
    const again = await list('22')
    expect([again.status, again.body.degraded]).toEqual([200, expect.arrayContaining(['features'])])
    const idsOf = ({ recommendations }: Asked['body']) => recommendations.map(({ item_id }: { item_id: string }) => item_id)
    expect(idsOf(again.body)).toEqual(idsOf(known))
    const about = await list('26', `rec_type=similar&item_id=${idOf(0, 0)}`)
    expect([about.status, about.body.degraded]).toEqual([200, expect.arrayContaining(['features', 'neighbours'])])
    expect(about.body.recommendations.length).toBeGreaterThan(0)
    expect((await stack.send('GET', `items/${idOf(0, 0)}/similar`)).status).toBe(200)
    await stack.redis.start()
    const isWhole = async (user: string) => (await list(user)).body.degraded.length === 0
    await waitUntil(async () => (await isWhole('22')) && (await isWhole('26')), { what: 'complete lists', ...SOON })
    const views = [4, 3, 2, 1, 0].map((place) => idOf(0, place))
    expect((await features('22')).real_time_features.last_5_items).toEqual(views)
  },
  TEST_MS,
)
