import { beforeEach, expect, test } from 'vitest'
import { insertItem, NO_ITEMS } from '../../../schemas/recommendations/events/packed-items.ts'
import { RANKING_FEATURES } from '../../../schemas/recommendations/ranking/ranking-features.ts'
import { HALF_LIFE_MS } from '../../../schemas/recommendations/signals/half-lives.ts'
import type { UserSelf } from '../../../schemas/recommendations/types.ts'
import { shownItemKey } from '../../../state/views/recommendations/items.ts'
import { START } from '../kit/harness.ts'
import { recommendationsApi, SOME_USER } from './harness.ts'

const GENRES = ['Comedy', 'Drama', 'Crime', 'Western', 'Musical', 'War', 'Horror', 'Sport', 'Family', 'Noir']

let api: Awaited<ReturnType<typeof recommendationsApi>>
beforeEach(async () => {
  api = await recommendationsApi()
  for (let id = 1n; id <= 100n; id++) {
    api.putItem(id, { attributes: { genres: GENRES[Number(id) % GENRES.length] } })
    api.putStats(id, 10)
  }
  api.putTrending('all', [90n, 91n, 92n])
})

function self(viewed: readonly bigint[], more: Partial<UserSelf> = {}): UserSelf {
  const packed = viewed.toReversed().reduce<Buffer>((list, id, index) => insertItem(list, id, START - 60_000 + index * 1_000, 10), NO_ITEMS)
  return { ...SOME_USER, viewed: packed, session: packed, ...more }
}

async function list(query = '', scope = '') {
  return (await api.send('GET', `/api/v1/recommendations?${query}`, { user: '42', scope })).body
}
const idsOf = (body: { recommendations: { item_id: string }[] }) => body.recommendations.map(({ item_id }) => item_id)

test('each neighbour of a recently viewed item names that item as its source, and trending items are marked as trending', async () => {
  api.putUser('42:self', { page: null, self: self([1n, 2n]) })
  api.putNeighbours(1n, [{ itemId: 33n, weight: 5 }])
  api.putNeighbours(2n, [{ itemId: 44n, weight: 2 }])
  const { recommendations } = await list('limit=50')
  const find = (id: string) => recommendations.find(({ item_id }: { item_id: string }) => item_id === id)
  expect(find('33')).toMatchObject({ rec_type: 'because_you_watched', source_item_id: '1', explanation: 'Because you watched “Item 1”' })
  expect(find('44')).toMatchObject({ source_item_id: '2' })
  expect(find('90')).toMatchObject({ rec_type: 'trending', explanation: 'Trending now', source_item_id: null })
  expect(recommendations[0].item_id).toBe('33')
})

test('at most three items of a genre are among the first 20, unless too few items of other genres are left', async () => {
  const body = await list('limit=20')
  const counts = new Map<string, number>()
  for (const id of idsOf(body)) counts.set(String(Number(id) % 10), (counts.get(String(Number(id) % 10)) ?? 0) + 1)
  expect(Math.max(...counts.values())).toBeLessThanOrEqual(3)
  expect(body.relaxed).toEqual([])
  for (let id = 1n; id <= 100n; id++) if (id % 10n > 2n) api.putItem(id, { status: 'INACTIVE' })
  const few = await list('limit=20')
  expect([few.recommendations.length, few.relaxed]).toEqual([20, ['genre_cap']])
})

test('the places reserved for new items go to the newest items that nobody has seen yet', async () => {
  // Some of these items are also among the 200 most popular ones.
  for (let id = 1_001n; id <= 1_300n; id++) api.putItem(id, {})
  api.putItem(1_298n, { created_at: START - 2 * 3_600_000 })
  api.putItem(1_250n, { created_at: START - 3_600_000 })
  const { recommendations } = await list('limit=20&explain=true', 'internal')
  const explored = recommendations.filter(({ explain }: { explain: { channel: string } }) => explain.channel === 'exploration')
  expect([recommendations.indexOf(explored[0]), ...idsOf({ recommendations: explored })]).toEqual([9, '1250', '1298'])
})

test('the default kind of list depends on the context, and a list about an item uses the last viewed item unless the request names an item', async () => {
  api.putUser('42:self', { page: null, self: self([1n, 2n]) })
  for (const [itemId, near] of [
    [1n, 33n],
    [2n, 44n],
    [3n, 55n],
  ] as const)
    api.putNeighbours(itemId, [{ itemId: near, weight: 5 }])
  const firstOf = async (query: string) => {
    const { item_id, rec_type, source_item_id } = (await list(query)).recommendations[0]
    return [item_id, rec_type, source_item_id]
  }
  expect(await firstOf('context=product_page')).toEqual(['33', 'similar', '1'])
  expect(await firstOf('context=product_page&item_id=3')).toEqual(['55', 'similar', '3'])
  expect(await firstOf('context=post_play')).toEqual(['33', 'because_you_watched', '1'])
  expect(await firstOf('context=post_play&item_id=2')).toEqual(['44', 'because_you_watched', '2'])
  const sourcesOf = async (query: string) =>
    (await list(query)).recommendations.map(({ source_item_id }: { source_item_id: string | null }) => source_item_id)
  expect(await sourcesOf('limit=50')).toEqual(expect.arrayContaining(['1', '2', null]))
  expect(await sourcesOf('limit=50&context=product_page&rec_type=personalized')).toEqual(expect.arrayContaining(['1', '2', null]))
})

test('each view has 0.8 times the weight of the next newer view, and 5 is added to the view count of each item', async () => {
  api.putUser('42:self', { page: null, self: self([1n, 2n, 3n]) })
  for (const itemId of [1n, 3n]) api.putNeighbours(itemId, [{ itemId: 33n, weight: itemId === 1n ? 3 : 6 }])
  const { recommendations } = await list('limit=50&explain=true', 'internal')
  const { explain } = recommendations.find(({ item_id }: { item_id: string }) => item_id === '33')
  // Each item has 10 views, so the strengths are 3 / 15 and 6 / 15.
  expect(explain.features).toMatchObject({
    neighbour_best: expect.closeTo(0.4, 9),
    neighbour_last: expect.closeTo(0.2, 9),
    neighbour_count: 2,
  })
  expect(explain.features.neighbour_score).toBeCloseTo(0.2 + 0.4 * 0.8 ** 2, 9)
})

test('later pages are recorded with the request_id of the first page, their positions in the whole list, and no features', async () => {
  const first = await list('limit=10')
  const second = await list(`limit=10&page_token=${first.page_token}`)
  expect(second.request_id).toBe(first.request_id)
  const { value } = api.published.findLast(({ topic }) => topic === 'recommendations-served')!
  expect(value).toMatchObject({ request_id: first.request_id, model_version: 'rules-1', context: 'homepage' })
  const recorded = value.items.map(({ item_id, position, features }: Record<string, unknown>) => [String(item_id), position, features])
  expect(recorded).toEqual(idsOf(second).map((id, index) => [id, 10 + index, null]))
})

test('the relative address of an image that this API serves becomes absolute, and other addresses stay as they are', async () => {
  api.putItem(90n, { thumbnail_url: '/api/v1/images/a/300.webp' })
  api.putItem(91n, { thumbnail_url: 'https://example.com/91.webp' })
  const { recommendations } = await list('rec_type=trending')
  const urls = recommendations.map(({ thumbnail_url }: { thumbnail_url: string | null }) => thumbnail_url)
  expect(urls.slice(0, 3)).toEqual(['http://localhost:8080/api/v1/images/a/300.webp', 'https://example.com/91.webp', null])
})

test('the features of a user contain the last five viewed items, the genres of the session, the time since the last visit and the properties', async () => {
  const viewed = [1n, 2n, 3n, 4n, 5n, 11n]
  const properties = { country: 'DE', age_bucket: '25-34', sub_tier: 'premium' }
  api.putUser('42:self', { page: null, self: self(viewed, { last_event_at: START - 1_800_000, ...properties }) })
  const { body } = await api.send('GET', '/internal/features/user/42', { user: 'x', scope: 'internal' })
  expect(body).toEqual({
    user_id: '42',
    embedding: Array(256).fill(0),
    embedding_version: null,
    embedding_updated_at: null,
    real_time_features: {
      last_5_items: ['1', '2', '3', '4', '5'],
      session_genre_dist: { Drama: 2 / 6, Crime: 1 / 6, Western: 1 / 6, Musical: 1 / 6, War: 1 / 6 },
      hours_since_last_visit: 0.5,
    },
    static_features: { country: 'DE', age_bucket: '25-34', subscription_tier: 'premium' },
    features_offset: 7,
  })
  const unknown = await api.send('GET', '/internal/features/user/77', { user: 'x', scope: 'internal' })
  expect(unknown.body).toMatchObject({
    real_time_features: { last_5_items: [], session_genre_dist: {}, hours_since_last_visit: null },
    static_features: { country: null, age_bucket: null, subscription_tier: null },
  })
})

test("an unknown item has no similar items, whether it comes from the request or from the user's history", async () => {
  const reasonsOf = ({ recommendations }: { recommendations: { rec_type: string }[] }) => [
    ...new Set(recommendations.map(({ rec_type }) => rec_type)),
  ]
  expect(reasonsOf(await list('rec_type=similar&item_id=5000'))).toEqual(['trending'])
  api.putUser('42:self', { page: null, self: self([5_000n]) })
  expect(reasonsOf(await list('rec_type=because_you_watched'))).toEqual(['trending'])
  expect(reasonsOf(await list())).toEqual(['trending'])
})

test('twenty preferences leave room for editorial and trending items', async () => {
  const preferences = Array.from({ length: 20 }, (_, index) => ({ category: 'brand', value: `Brand ${index}`, weight: 0.1 }))
  for (let id = 1_000n; id < 1_600n; id++) api.putItem(id, { attributes: { brand: `Brand ${id % 20n}` }, popularity: 1 })
  api.putEditorial('picks', {
    ...{ kind: 'LIST', item_ids: [80n], contexts: [], factor: null, max_age_days: null },
    ...{ starts_at: null, ends_at: null, updated_at: START },
  })
  api.putUser('42:self', { page: null, self: self([], { interactions: 0, preferences }) })
  const explanations = (await list('limit=50')).recommendations.map(({ explanation }: { explanation: string }) => explanation)
  expect(explanations).toEqual(expect.arrayContaining(['Picked by our editors', 'Trending now', 'Because you like Brand 0']))
})

test('a preference adds less popular items if the user has hidden the thirty most popular items that match it', async () => {
  const preferences = [{ category: 'brand', value: 'Acme', weight: 1 }]
  for (let id = 1_000n; id < 1_040n; id++) api.putItem(id, { attributes: { brand: 'Acme' }, popularity: 2_000 - Number(id) })
  const best = Array.from({ length: 30 }, (_, index) => 1_000n + BigInt(index))
  const hidden = best.reduce<Buffer>((list, id) => insertItem(list, id, START, 50), NO_ITEMS)
  api.putUser('42:self', { page: null, self: self([], { interactions: 0, hidden, preferences }) })
  const { recommendations } = await list('limit=50')
  const named = recommendations.filter(({ explanation }: { explanation: string }) => explanation === 'Because you like Acme')
  expect(idsOf({ recommendations: named }).sort()).toEqual(Array.from({ length: 10 }, (_, index) => String(1_030 + index)))
})

test('recently viewed items without neighbours leave room for editorial and trending items', async () => {
  for (let id = 1_000n; id < 1_600n; id++) api.putItem(id, { category_path: `Shelf ${id % 5n}` })
  api.putEditorial('picks', {
    ...{ kind: 'LIST', item_ids: [80n], contexts: [], factor: null, max_age_days: null },
    ...{ starts_at: null, ends_at: null, updated_at: START },
  })
  api.putUser('42:self', { page: null, self: self([1_000n, 1_001n, 1_002n, 1_003n, 1_004n]) })
  const explanations = (await list('limit=50')).recommendations.map(({ explanation }: { explanation: string }) => explanation)
  expect(explanations).toEqual(expect.arrayContaining(['Picked by our editors', 'Trending now', 'Because you watched “Item 1004”']))
})

test('the list of a HEAD request is not recorded as served', async () => {
  const servedTo = () => api.published.filter(({ topic }) => topic === 'recommendations-served')
  expect((await api.send('HEAD', '/api/v1/recommendations', { user: '42' })).status).toBe(200)
  expect(servedTo()).toEqual([])
  await list()
  expect(servedTo()).toHaveLength(1)
})

test('hidden and inactive items are not in a list, not even on later pages', async () => {
  const first = await list('limit=10')
  api.putUser('42:self', { page: null, self: self([], { hidden: insertItem(NO_ITEMS, 11n, START, 10) }) })
  api.putItem(12n, { status: 'INACTIVE' })
  const all = [...idsOf(await list('limit=50')), ...idsOf(await list(`limit=50&page_token=${first.page_token}`))]
  expect(all).not.toContain('11')
  expect(all).not.toContain('12')
})

test("trending items come from the user's age group, from the country if the age group has too few events, and otherwise from all users", async () => {
  api.putUser('42:self', { page: null, self: self([], { interactions: 0, country: 'DE', age_bucket: '25-34' }) })
  const trending = async () => idsOf(await list('rec_type=trending')).slice(0, 1)
  expect(await trending()).toEqual(['90'])
  api.putTrending('country:DE', [50n], 100)
  expect(await trending()).toEqual(['50'])
  api.putTrending('age:25-34', [60n], 99)
  expect(await trending()).toEqual(['50'])
  api.putTrending('age:25-34', [60n], 101)
  expect(await trending()).toEqual(['60'])
})

test('unknown and inactive items take up no places among the trending and editorial items', async () => {
  const madeUp = Array.from({ length: 500 }, (_, index) => 10_000n + BigInt(index))
  api.putItem(91n, { status: 'INACTIVE' })
  api.putTrending('all', [91n, ...madeUp.slice(0, 499), 90n])
  api.putEditorial('picks', {
    ...{ kind: 'LIST', item_ids: [...madeUp, 80n], contexts: [], factor: null, max_age_days: null },
    ...{ starts_at: null, ends_at: null, updated_at: START },
  })
  const { recommendations } = await list('limit=50')
  const find = (id: string) => recommendations.find(({ item_id }: { item_id: string }) => item_id === id)
  expect(find('90')).toMatchObject({ explanation: 'Trending now' })
  expect(find('80')).toMatchObject({ explanation: 'Picked by our editors' })
  api.putUser('42:self', { page: null, self: self([], { interactions: 0, country: 'DE', age_bucket: '25-34' }) })
  api.putTrending('age:25-34', madeUp)
  api.putTrending('country:DE', [...madeUp, 70n])
  expect(idsOf(await list('rec_type=trending'))[0]).toBe('70')
})

test('while a group has no new events, its event count decays until trending items come from a wider group', async () => {
  api.putUser('42:self', { page: null, self: self([], { interactions: 0, country: 'DE', age_bucket: '25-34' }) })
  api.putTrending('age:25-34', [60n], 200)
  api.putTrending('country:DE', [50n], 400)
  const trending = async () => idsOf(await list('rec_type=trending'))[0]
  api.state.now = START + HALF_LIFE_MS.trending
  expect(await trending()).toBe('60')
  api.state.now += 1
  expect(await trending()).toBe('50')
  api.state.now = START + 2 * HALF_LIFE_MS.trending + 1
  expect(await trending()).toBe('90')
})

test('without Redis, a known user gets the last list and a new user gets trending items, and both lists are marked as degraded', async () => {
  api.putUser('42:self', { page: null, self: self([1n]) })
  api.putNeighbours(1n, [{ itemId: 33n, weight: 5 }])
  const before = await list('limit=50')
  api.state.isRedisAway = true
  const after = await list('limit=50')
  expect([after.degraded, idsOf(after)]).toEqual([['features'], idsOf(before)])
  const { body } = await api.send('GET', '/api/v1/recommendations', { user: '77' })
  expect(body.degraded).toContain('features')
  expect(idsOf(body)).toContain('90')
  api.state.isRedisAway = false
  expect((await list()).degraded).toEqual([])
})

test('without Redis, a list of trending items still contains only trending items, and a list about an item only similar items', async () => {
  api.putUser('42:self', { page: null, self: self([1n]) })
  api.putNeighbours(1n, [{ itemId: 33n, weight: 5 }])
  const personal = idsOf(await list())
  for (const query of ['rec_type=trending', 'rec_type=similar&item_id=2']) await list(query)
  api.state.isRedisAway = true
  expect(idsOf(await list())).toEqual(personal)
  const typesOf = async (query: string) =>
    new Set((await list(query)).recommendations.map(({ rec_type }: { rec_type: string }) => rec_type))
  expect(await typesOf('rec_type=trending')).toEqual(new Set(['trending']))
  expect(await typesOf('rec_type=similar&item_id=2&limit=3')).toEqual(new Set(['similar']))
})

test('lists do not wait for a Redis that hangs: only a probe queries Redis, and lists use Redis again when it responds', async () => {
  const { send, state, ...hung } = await recommendationsApi({ readMs: 5 })
  for (let id = 1n; id <= 20n; id++) hung.putItem(id, {})
  hung.putUser('42:self', { page: null, self: self([1n]) })
  const ask = async (afterMs = 100) => {
    state.now += afterMs
    return await send('GET', '/api/v1/recommendations', { user: '42' })
  }
  expect((await ask()).body.degraded).toEqual([])
  state.isRedisHung = true
  // The first lists discover that Redis hangs.
  for (let list = 0; list < 2; list++) expect((await ask()).status).toBe(200)
  const before = state.reads
  for (let list = 0; list < 4; list++) {
    const { status, body } = await ask(1)
    expect([status, body.degraded[0], body.recommendations.length > 0]).toEqual([200, 'features', true])
  }
  // Only a probe was sent. It reads a user with three commands.
  expect(state.reads - before).toBeLessThanOrEqual(3)
  state.isRedisHung = false
  await expect.poll(async () => (await ask()).body.degraded).toEqual([])
})

test('a list is degraded if Redis contains an unreadable page of watched items or an unreadable title', async () => {
  const damaged = await recommendationsApi()
  for (let id = 1n; id <= 20n; id++) damaged.putItem(id, {})
  damaged.putUser('42:self', { page: null, self: self([1n]) })
  const ask = async () => (await damaged.send('GET', '/api/v1/recommendations', { user: '42' })).body
  expect((await ask()).degraded).toEqual([])
  damaged.putUser('42:page-0', { page: Buffer.from([3, 255]), self: null })
  const { degraded, recommendations, page_token } = await ask()
  expect([degraded, recommendations.length > 0, page_token]).toEqual([['features'], true, null])
  damaged.putText(shownItemKey(0, recommendations[0].item_id), '{"title":')
  damaged.state.now += 3_600_000
  expect((await ask()).degraded).toEqual(['features', 'titles'])
})

test('while the view is being rebuilt, a missing user does not count as new: lists are degraded, and features and preferences get a 503', async () => {
  api.state.isRedisEmptied = true
  expect((await list()).degraded).toEqual(['features'])
  const features = await api.send('GET', '/internal/features/user/42', { user: 'x', scope: 'internal' })
  expect([features.status, features.body.error]).toEqual([503, 'not_ready'])
  expect(features.body.message).toBe("The user's features are still being loaded. Try again shortly.")
  const preferences = await api.send('GET', '/api/v1/me/preferences', { user: '42' })
  expect([preferences.status, preferences.body.error]).toEqual([503, 'not_ready'])
  expect(preferences.body.message).toBe('Your preferences are still being loaded. Try again shortly.')
  api.state.isRedisEmptied = false
  expect((await list()).degraded).toEqual([])
})

test('while Redis does not respond, features and preferences get a 503 with a message that says so', async () => {
  api.state.isRedisAway = true
  const features = await api.send('GET', '/internal/features/user/42', { user: 'x', scope: 'internal' })
  expect([features.status, features.body.error]).toEqual([503, 'unavailable'])
  expect(features.body.message).toBe("The user's features cannot be read now. Try again shortly.")
  const preferences = await api.send('GET', '/api/v1/me/preferences', { user: '42' })
  expect([preferences.status, preferences.body.error]).toEqual([503, 'unavailable'])
  expect(preferences.body.message).toBe('Your preferences cannot be read now. Try again shortly.')
})

test('a list is not empty while Redis has lost the properties of items, and the list reports the loss until the properties are back', async () => {
  api.state.lostViews = ['recommendation-items']
  const body = await list('limit=20')
  expect(body.recommendations).toHaveLength(20)
  expect([body.degraded, body.recommendations[0].title]).toEqual([['titles'], null])
  api.state.lostViews = []
  const healed = await list('limit=20')
  expect([healed.degraded, healed.recommendations[0].title]).toEqual([[], expect.stringMatching(/^Item /)])
  // The process keeps the properties that it has already read.
  api.state.lostViews = ['recommendation-items']
  api.state.now += 60_000
  expect((await list('limit=20')).recommendations[0].title).toMatch(/^Item /)
})

test('a list reports that it was made without neighbours if Redis has lost the neighbours', async () => {
  api.putUser('42:self', { page: null, self: self([1n]) })
  api.putNeighbours(1n, [{ itemId: 33n, weight: 5 }])
  api.state.lostViews = ['item-neighbours']
  expect((await list()).degraded).toEqual(['neighbours'])
  api.state.lostViews = []
  const healed = await list()
  expect([healed.degraded, idsOf(healed)[0]]).toEqual([[], '33'])
})

test('a list that is served again without items that became inactive still has at most three items of a genre among the first 20', async () => {
  const genreOf = (id: string) => Number(id) % GENRES.length
  const trending = Array.from({ length: 10 }, (_, index) => BigInt(index * GENRES.length + 1))
  api.putTrending('all', trending)
  const before = idsOf(await list('limit=50'))
  const ofGenre = (ids: readonly string[]) => ids.slice(0, 20).filter((id) => genreOf(id) === 1)
  expect([ofGenre(before).length, genreOf(before[20]), before.length]).toEqual([3, 1, 50])
  const gone = before.slice(0, 20).filter((id) => genreOf(id) !== 1)
  for (const id of gone.slice(0, 2)) api.putItem(BigInt(id), { status: 'INACTIVE' })
  api.state.isRedisAway = true
  const after = await list('limit=50')
  expect([idsOf(after).length, ofGenre(idsOf(after)), after.relaxed]).toEqual([48, ofGenre(before), []])
  // If too few items of other genres are left, the list says that it exceeds the limit.
  for (const id of before.filter((id) => genreOf(id) > 2)) api.putItem(BigInt(id), { status: 'INACTIVE' })
  const few = await list('limit=50')
  expect([ofGenre(idsOf(few)).length, few.relaxed]).toEqual([idsOf(few).filter((id) => genreOf(id) === 1).length, ['genre_cap']])
})

test('a list from which the view removes inactive items still has at most three items of a genre among the first 20', async () => {
  const genreOf = (id: string) => Number(id) % GENRES.length
  const ofGenre = (ids: readonly string[]) => ids.slice(0, 20).filter((id) => genreOf(id) === 1)
  api.putTrending(
    'all',
    Array.from({ length: 10 }, (_, index) => BigInt(index * GENRES.length + 1)),
  )
  const before = idsOf(await list('limit=50'))
  expect([ofGenre(before).length, genreOf(before[20])]).toEqual([3, 1])
  const inactive = { title: '', thumbnail_url: null, category_path: '', attributes: {}, status: 'INACTIVE' }
  const gone = before.slice(0, 20).filter((id) => genreOf(id) !== 1)
  for (const id of gone.slice(0, 2)) api.putText(shownItemKey(0, id), JSON.stringify(inactive))
  api.state.now += 11_000
  const after = await list('limit=20')
  expect([ofGenre(idsOf(after)).length, idsOf(after).length, after.relaxed]).toEqual([3, 20, []])
  expect(after.recommendations.every(({ title }: { title: unknown }) => title !== null)).toBe(true)
  for (const id of before.slice(20).filter((id) => genreOf(id) !== 1)) api.putText(shownItemKey(0, id), JSON.stringify(inactive))
  api.state.now += 11_000
  expect((await list('limit=50')).relaxed).toEqual(['genre_cap'])
})

test('while Redis is unreachable, a user whose last list has no items left gets a new list', async () => {
  for (let id = 1n; id <= 100n; id++) if (id !== 20n) api.putItem(id, { status: 'INACTIVE' })
  expect(idsOf(await list())).toEqual(['20'])
  api.putItem(20n, { status: 'INACTIVE' })
  api.putItem(30n, { status: 'ACTIVE' })
  api.state.isRedisAway = true
  api.state.now += 60_000
  expect(idsOf(await list())).toEqual(['30'])
})

test('explain shows the channel and the features of an item, and the list is recorded with the same features', async () => {
  api.putUser('42:self', { page: null, self: self([1n]) })
  api.putNeighbours(1n, [{ itemId: 33n, weight: 5 }])
  const body = await list('limit=5&explain=true', 'internal')
  expect(body.features_offset).toBe(7)
  expect(body.recommendations[0]).toMatchObject({ item_id: '33', explain: { channel: 'neighbours', place_by_score: 0 } })
  const { value } = api.published.findLast(({ topic }) => topic === 'recommendations-served')!
  expect(value).toMatchObject({ request_id: body.request_id, features_offset: 7 })
  const { features } = body.recommendations[0].explain
  expect(value.items[0].features).toEqual(RANKING_FEATURES.map((name) => features[name]))
})

test('similar items are ranked by the weight of their pair with the source item, divided by the square root of the product of both view counts, and the shared attributes are returned', async () => {
  api.putStats(22n, 1_000)
  api.putNeighbours(2n, [
    { itemId: 22n, weight: 6 },
    { itemId: 32n, weight: 5 },
  ])
  const { body } = await api.send('GET', '/api/v1/items/2/similar?limit=2')
  expect(body).toEqual({
    source_item: '2',
    similar_items: [
      { item_id: '32', similarity_score: 0.5, shared_attributes: ['genre: Crime'] },
      { item_id: '22', similarity_score: expect.closeTo(0.06, 6), shared_attributes: ['genre: Crime'] },
    ],
    degraded: [],
  })
})

test('without Redis, similar items are found by genre, and the response says that neighbours and shared attributes are missing', async () => {
  api.putNeighbours(2n, [{ itemId: 33n, weight: 5 }])
  const similar = async () => (await api.send('GET', '/api/v1/items/2/similar?limit=2')).body
  expect((await similar()).similar_items[0].item_id).toBe('33')
  api.state.isRedisAway = true
  const { similar_items, degraded } = await similar()
  expect([similar_items.length, degraded]).toEqual([2, ['neighbours', 'shared_attributes']])
  api.state.isRedisAway = false
  expect((await similar()).degraded).toEqual([])
})

test('the shared attributes of similar items contain the shared genres, the shared category and other shared attributes', async () => {
  const saw = { category_path: 'Tools/Saws', attributes: { genres: 'Wood|Metal', brand: 'Acme', colour: 'red' } }
  api.putItem(201n, saw)
  api.putItem(202n, { ...saw, attributes: { genres: 'Metal|Garden', brand: 'Acme', colour: 'blue' } })
  api.putNeighbours(201n, [{ itemId: 202n, weight: 1 }])
  const { body } = await api.send('GET', '/api/v1/items/201/similar?limit=1')
  expect(body.similar_items[0].shared_attributes).toEqual(['genre: Metal', 'category: Tools/Saws', 'brand: Acme'])
})

test('editors place items in lists until the period of their editorial list ends', async () => {
  api.putEditorial('picks', { kind: 'LIST', item_ids: [77n], contexts: ['homepage'], starts_at: START - 1, ends_at: START + 1_000 })
  const pick = async (query: string) => (await list(query)).recommendations.find(({ item_id }: { item_id: string }) => item_id === '77')
  expect((await pick('limit=50')).explanation).toBe('Picked by our editors')
  api.state.now = START + 1_000
  expect((await pick('limit=50'))?.explanation).not.toBe('Picked by our editors')
})

test('editorial lists take turns, and later items of a list replace those that the user has hidden', async () => {
  const listOf = (from: bigint, count: number) => {
    const item_ids = Array.from({ length: count }, (_, index) => from + BigInt(index))
    for (const itemId of item_ids) api.putItem(itemId, {})
    return { kind: 'LIST', item_ids, contexts: [], starts_at: null, ends_at: null }
  }
  const [long, short] = [listOf(1_001n, 100), listOf(501n, 5)]
  api.putEditorial('long', long)
  api.putEditorial('short', short)
  const hidden = long.item_ids.slice(0, 50).reduce<Buffer>((list, id) => insertItem(list, id, START, 100), NO_ITEMS)
  api.putUser('42:self', { page: null, self: self([], { hidden, interactions: 0 }) })
  const picked = (await list('limit=50')).recommendations
    .filter(({ explanation }: { explanation: string }) => explanation === 'Picked by our editors')
    .map(({ item_id }: { item_id: string }) => BigInt(item_id))
  expect(picked).toEqual(expect.arrayContaining([...short.item_ids, long.item_ids[50]]))
})

test('a preference applies only to the genre, category or attribute that it names', async () => {
  for (const id of [71n, 72n]) api.putItem(id, { attributes: { genres: 'Drama', brand: 'Comedy', maker: 'Acme' } })
  for (const id of [73n, 74n]) api.putItem(id, { attributes: {}, category_path: 'Tools/Saws' })
  const preferring = async (category: string, value: string, weight = 1) => {
    const preferences = [{ category, value, weight }]
    api.putUser('42:self', { page: null, self: self([], { interactions: 0, preferences }) })
    const { recommendations } = await list('limit=50&explain=true', 'internal')
    return recommendations as { item_id: string; explanation: string; explain: { features: { preference_weight: number } } }[]
  }
  const bestOf = async (category: string, value: string) => {
    const found = await preferring(category, value)
    const liked = found.filter(({ explanation }) => explanation === `Because you like ${value}`)
    expect(liked.every(({ explain }) => explain.features.preference_weight === 1)).toBe(true)
    return liked.map(({ item_id }) => item_id).sort()
  }
  expect(await bestOf('brand', 'Comedy')).toEqual(['71', '72'])
  expect(await bestOf('maker', 'Acme')).toEqual(['71', '72'])
  expect(await bestOf('category', 'Tools')).toEqual(['73', '74'])
  expect(await bestOf('category', 'Tools/Saws')).toEqual(['73', '74'])
  expect(await bestOf('colour', 'Comedy')).toEqual([])
  expect(await bestOf('genre', 'Comedy')).toEqual(expect.arrayContaining(['10', '20']))
  const disliking = await preferring('maker', 'Acme', -1)
  expect(disliking.find(({ item_id }) => item_id === '71')?.explain.features.preference_weight ?? -1).toBe(-1)
})
