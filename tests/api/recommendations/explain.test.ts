import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { insertItem, NO_ITEMS } from '../../../schemas/recommendations/events/packed-items.ts'
import { groupMetrics, groupsOf, interactionGroup } from '../../../schemas/recommendations/models/run-metrics.ts'
import { RANKING_FEATURES } from '../../../schemas/recommendations/ranking/ranking-features.ts'
import { START } from '../kit/harness.ts'
import { recommendationsApi, SOME_USER } from './harness.ts'

const HOSTILE = '<img src=x onerror=alert(1)>'
const GENRES = ['Comedy', 'Drama']

let api: Awaited<ReturnType<typeof recommendationsApi>>
beforeEach(async () => {
  api = await recommendationsApi()
  for (let id = 1n; id <= 40n; id++) {
    api.putItem(id, { title: id === 2n ? HOSTILE : `Item ${id}`, attributes: { genres: GENRES[Number(id) % 2] } })
    api.putStats(id, 200)
  }
  api.putTrending('all', [20n, 21n, 22n, 23n, 24n, 25n, 26n, 27n, 28n])
  api.putNeighbours(1n, [
    { itemId: 2n, weight: 5 },
    { itemId: 3n, weight: 3 },
  ])
  const viewed = insertItem(NO_ITEMS, 1n, START - 60_000, 10)
  const self = { ...SOME_USER, viewed, session: viewed }
  api.putUser('42:self', { page: null, self })
})

async function open(path: string, options: { scope?: string | null; subject?: string; cookie?: string } = {}) {
  const { scope = 'internal', subject = '7', cookie } = options
  const anonymous: Record<string, string> = cookie === undefined ? {} : { cookie }
  const headers = scope === null ? anonymous : await api.bearer({ sub: subject, scope })
  const response = await api.app.request(`/recommendations/${path}`, { headers })
  return { status: response.status, headers: response.headers, html: await response.text() }
}

test('the page shows the user, the list, which items were moved, and all candidates', async () => {
  const { status, headers, html } = await open('explain?user_id=42')
  expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
  expect(headers.get('cache-control')).toBe('private, no-store')
  expect(headers.get('content-security-policy')).toContain("default-src 'none'; style-src 'self'")
  expect(html).not.toContain('<script')
  expect(html).toContain('<dt>Interactions</dt><dd>30</dd>')
  expect(html).toContain('<dt>Model</dt><dd>rules-1</dd>')
  expect(html).toContain('<li>Item 1 <span class="soft">1</span></li>')
  expect(html).toContain('Because you watched “Item 1”')
  // Item texts are escaped.
  expect(html).toContain('&lt;img src=x onerror=alert(1)&gt;')
  expect(html).not.toContain('<img')
  // At most three items of a genre may be among the first 20. For this list, items were moved, and the limit was still
  // exceeded.
  expect(html).toContain('Fewer than 20 items were left within the limit per genre')
  expect(html).toMatch(/<td class="number">\d+ down<\/td>/)
  expect(html).toMatch(/<th scope="row">neighbours<\/th><td class="number">2<\/td><td class="number">2<\/td>/)
  for (const name of RANKING_FEATURES) expect(html).toContain(`>${name.replaceAll('_', ' ')}</th>`)
})

test('a page with hundreds of numbers creates no Intl.NumberFormat object', async () => {
  const created = vi.spyOn(Intl, 'NumberFormat')
  onTestFinished(() => created.mockRestore())
  const { html } = await open('explain?user_id=42')
  expect(html.match(/class="number">[\d.]+</g)!.length).toBeGreaterThan(500)
  expect(created).not.toHaveBeenCalled()
})

test('every caller with the scope internal may see the page, even if the subject of the token is not a user id', async () => {
  const { status, html } = await open('explain?user_id=42', { subject: 'analyst@example.com' })
  expect([status, html.includes('Signed in as')]).toEqual([200, true])
})

test('the page explains the list that the API returns, and records nothing as served', async () => {
  const answer = await api.send('GET', '/api/v1/recommendations?user_id=42&limit=50', { user: '7', scope: 'internal' })
  const before = api.published.length
  const { html } = await open('explain?user_id=42')
  const [, list] = html.split('id="list"')
  const places = answer.body.recommendations.map(({ item_id }: { item_id: string }) => list.indexOf(`<span class="soft">${item_id}</span>`))
  expect(places.length).toBeGreaterThan(5)
  expect(places).toEqual(places.toSorted((a: number, b: number) => a - b))
  expect(places[0]).toBeGreaterThan(0)
  expect(api.published).toHaveLength(before)
})

test('without a token, the page redirects to the sign-in with the same query, and other scopes are not sufficient', async () => {
  const anonymous = await open('explain?user_id=42&context=homepage', { scope: null })
  expect([anonymous.status, anonymous.headers.get('location')]).toEqual([303, '/recommendations/sign-in?user_id=42&context=homepage'])
  const { status, html } = await open('explain?user_id=42', { scope: 'admin' })
  expect(status).toBe(403)
  expect(html).not.toContain('Interactions')
  // A sign-in with another token returns to the list that the user wanted to see.
  expect(html).toContain('<a href="/recommendations/sign-in?user_id=42">Sign in with another token</a>')
  const signIn = await open('sign-in', { scope: null })
  expect([signIn.status, signIn.headers.get('content-security-policy')]).toEqual([200, expect.stringContaining("script-src 'self'")])
})

test('a browser whose session has ended is redirected to the sign-in, and its cookie is deleted', async () => {
  const { authorization } = await api.bearer({ sub: '7', scope: 'internal', exp: START - 60_000 })
  const cookie = `millrace-session=${authorization.slice('Bearer '.length)}`
  const { status, headers } = await open('explain?user_id=42', { scope: null, cookie })
  expect([status, headers.get('location')]).toEqual([303, '/recommendations/sign-in?user_id=42'])
  expect(headers.get('set-cookie')).toContain('millrace-session=; Expires=Thu, 01 Jan 1970')
})

test('an analyst of another service, whose subject is not a user id, gets 403 and an offer to sign in with another token', async () => {
  const { status, headers, html } = await open('explain', { subject: 'ann', scope: 'fraud:analyst' })
  expect([status, headers.get('content-type')]).toEqual([403, 'text/html; charset=utf-8'])
  expect(html).toContain('Sign in with another token')
})

test.each([
  ['user_id=abc', 'user_id must be a whole number'],
  ['user_id=0', 'user_id must be a whole number'],
  ['user_id=42&context=sofa', 'context must be one of'],
  ['user_id=42&rec_type=x', 'rec_type must be one of'],
  ['user_id=42&item_id=-1', 'item_id must be a whole number'],
  ['user_id=42&diversity=maybe', 'diversity must be true or false'],
])('the page says what is wrong with %s', async (query, message) => {
  const { status, html } = await open(`explain?${query}`)
  expect(status).toBe(400)
  expect(html).toContain(message)
})

test('if no kind of list is requested, the page explains the kind that the API returns by default in the same context', async () => {
  for (const [context, kind] of [
    ['homepage', 'personalized'],
    ['product_page', 'similar'],
    ['post_play', 'because_you_watched'],
  ]) {
    const { html } = await open(`explain?user_id=42&context=${context}`)
    expect(html).toContain(`<option value="${kind}" selected>`)
    expect(html).toContain(`<a href="/recommendations/sign-in?user_id=42&amp;context=${context}">change</a>`)
  }
})

test('an empty form is not an error, and an unknown user also gets a list', async () => {
  expect((await open('explain?user_id=&item_id=')).status).toBe(200)
  const { html } = await open('explain?user_id=99')
  expect(html).toContain('It is not known which items this user has viewed.')
  expect(html).toContain('Trending now')
})

test('the page names the parts of a list that are missing without Redis', async () => {
  api.state.isRedisAway = true
  const { status, html } = await open('explain?user_id=42')
  expect(status).toBe(200)
  expect(html).toContain('<dt>Missing</dt><dd>features, titles</dd>')
})

test('the page compares the metrics of trained versions and, for the newest run with metrics, the metrics per group of users', async () => {
  const metrics = { ndcg_candidate: 0.3, ndcg_in_force: 0.2, ...groupMetrics({ from: 10, questions: 55, candidate: 0.4, inForce: 0.35 }) }
  api.state.runs = [
    ['r3', [], 'FAILED', 'no Python', null, null, START, START, null, {}],
    ['r2', [], 'IN_FORCE', '', 'v2', 'v1', START, START, START, metrics],
    ['r1', [], 'REFUSED', '', 'v1', null, START - 1, START, START, { ndcg_candidate: 0.1, ndcg_in_force: 0.2 }],
  ]
  const { html } = await open('explain')
  expect(html).toContain('<th scope="row">v2 (put in force)</th>')
  expect(html).toContain('<th scope="row">v1 (refused)</th>')
  expect(html).toContain('<th scope="row">10 to 49 (55 questions)</th>')
  expect(html).toContain('<th scope="col">Earlier interactions</th>')
  expect(html).toContain('<rect class="candidate" x="0" y="0" width="400"')
  expect(html).toContain('<rect class="in-force" x="0" y="12" width="267"')
  api.state.runs = []
  expect((await open('explain')).html).toContain('No recent training run has compared models.')
  api.state.isClickHouseAway = true
  expect((await open('explain')).html).toContain('The training runs cannot be read now.')
})

test('each group of users is identified by its minimum number of interactions, and its metrics are read back unchanged', () => {
  expect([0, 1, 9, 10, 49, 50, 5_000].map(interactionGroup)).toEqual([0, 1, 1, 10, 10, 50, 50])
  const groups = [
    { from: 0, questions: 3, candidate: 0.1, inForce: 0 },
    { from: 50, questions: 8, candidate: 0.5, inForce: 0.6 },
  ]
  expect(groupsOf(Object.assign({}, ...groups.map(groupMetrics)))).toEqual(groups)
})
