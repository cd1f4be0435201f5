import { expect, test } from 'vitest'
import { START } from '../kit/harness.ts'
import { trendsApi } from './harness.ts'

const PATH = '/v1/internal/trends/refresh'
const MINUTE_MS = 60_000
const at = (ms: number) => new Date(ms).toISOString()
const body = (more: Record<string, unknown> = {}) => ({
  woeid: 1,
  window_end: at(START),
  top_k: [
    { term: '#Café', count: 7, velocity: 12, sample_ids: ['9223372036854775807', '2', '3', '4'] },
    { term: 'second phrase', count: 900, velocity: 3.5, sample_ids: [] },
    { term: 'third', count: 0, velocity: 0, sample_ids: [] },
  ],
  ...more,
})

async function refreshing() {
  const api = await trendsApi()
  const headers = await api.bearer({ sub: 'other-pipeline', scope: 'internal' })
  return { ...api, post: (sent: unknown) => api.send('POST', PATH, sent, headers) }
}

test("a refresh writes a record like the pipeline's, with the entries in the given order, and this list is then served", async () => {
  const { post, get, published, putList } = await refreshing()
  putList()
  const answered = await post(body())
  expect([answered.status, answered.body]).toEqual([204, undefined])
  expect(published).toEqual([
    {
      topic: 'trend-output',
      key: 1,
      value: {
        woeid: 1,
        window_end: START,
        source: 'endpoint',
        missing_partitions: 0,
        entries: [
          {
            term: 'café',
            name: '#Café',
            tweet_volume: 7,
            volume_24h: 7,
            velocity: 12,
            velocity_vs_usual: 12,
            score: 7 * Math.log2(13),
            label: 'Viral',
            trending_since: START,
            sample_tweets: [9_223_372_036_854_775_807n, 2n, 3n],
            rank_change: null,
            peak_rank: null,
            lang: null,
            users: null,
            variants: [],
            related: [],
            typical_tweet: null,
          },
          expect.objectContaining({ term: 'second phrase', label: 'Trending', score: 900 * Math.log2(4.5), sample_tweets: [] }),
          expect.objectContaining({ term: 'third', label: null, score: 0 }),
        ],
      },
    },
  ])
  const served = await get('/v1/trends')
  expect(served.body.trends.map(({ name }: { name: string }) => name)).toEqual(['#Café', 'second phrase', 'third'])
})

test.each([
  [3, null],
  [3.01, 'Trending'],
  [10, 'Trending'],
  [10.01, 'Viral'],
])('an entry with the velocity %d has the label %s', async (velocity, label) => {
  const { post, published } = await refreshing()
  await post(body({ top_k: [{ term: 'a', count: 1, velocity, sample_ids: [] }] }))
  expect(published).toMatchObject([{ value: { entries: [{ label }] } }])
})

test('the end of a window may be up to 5 minutes in the future', async () => {
  const { post } = await refreshing()
  expect((await post(body({ window_end: at(START + 5 * MINUTE_MS) }))).status).toBe(204)
})

test('an older window is accepted and changes nothing, and an empty list is valid', async () => {
  const { post, get, putList, clock, published } = await refreshing()
  putList()
  expect((await post(body({ window_end: at(START - 1_000) }))).status).toBe(204)
  expect((await get('/v1/trends')).body.trends).toHaveLength(30)
  // The stored history does not change either: the pipeline's snapshot of that window remains.
  expect(published).toEqual([])
  clock.now += 1_000
  expect((await post(body({ top_k: [], window_end: at(START + 1_000) }))).status).toBe(204)
  expect((await get('/v1/trends')).body.trends).toEqual([])
})

test('a refresh may have 500 entries and a window_end with an offset', async () => {
  const { post, published } = await refreshing()
  const top_k = Array.from({ length: 500 }, (_, index) => ({ term: `t${index}`, count: 1, velocity: 1, sample_ids: [] }))
  expect((await post(body({ top_k, window_end: '2026-01-15T13:00:00+01:00' }))).status).toBe(204)
  expect((published[0].value as { window_end: number }).window_end).toBe(START)
})

const entry = { term: 'a', count: 1, velocity: 1, sample_ids: [] as string[] }
test.each([
  [{ woeid: '1' }, 'body.woeid'],
  [{ woeid: 1.5 }, 'body.woeid'],
  [{ window_end: 'yesterday' }, 'body.window_end'],
  [{ window_end: START }, 'body.window_end'],
  [{ window_end: at(START + 5 * MINUTE_MS + 1) }, 'body.window_end'],
  [{ window_end: at(START + 1) }, 'body.window_end'],
  [{ window_end: '1969-12-31T23:59:59Z' }, 'body.window_end'],
  [{ top_k: undefined }, 'body.top_k'],
  [{ top_k: Array.from({ length: 501 }, (_, index) => ({ ...entry, term: `t${index}` })) }, 'body.top_k'],
  [{ top_k: [{ ...entry, term: '' }] }, 'body.top_k[0].term'],
  [{ top_k: [{ ...entry, term: '##' }] }, 'body.top_k[0].term'],
  [{ top_k: [{ ...entry, term: 'x'.repeat(141) }] }, 'body.top_k[0].term'],
  [{ top_k: [entry, { ...entry, term: '#A' }] }, 'body.top_k[1].term'],
  [{ top_k: [{ ...entry, count: -1 }] }, 'body.top_k[0].count'],
  [{ top_k: [{ ...entry, count: 1.5 }] }, 'body.top_k[0].count'],
  [{ top_k: [{ ...entry, count: 2 ** 60 }] }, 'body.top_k[0].count'],
  [{ top_k: [{ ...entry, velocity: -1 }] }, 'body.top_k[0].velocity'],
  [{ top_k: [{ ...entry, velocity: null }] }, 'body.top_k[0].velocity'],
  [{ top_k: [{ ...entry, sample_ids: [1] }] }, 'body.top_k[0].sample_ids[0]'],
  [{ top_k: [{ ...entry, sample_ids: ['01'] }] }, 'body.top_k[0].sample_ids[0]'],
  [{ top_k: [{ ...entry, sample_ids: ['9223372036854775808'] }] }, 'body.top_k[0].sample_ids[0]'],
])('a refresh with %j is refused with invalid_request', async (more, path) => {
  const { post, published } = await refreshing()
  const answered = await post(body(more))
  expect(answered).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
  expect(answered.body.details[0].path).toBe(path)
  expect(published).toEqual([])
})

test('a refresh gets 503 while the view is being built, because the service cannot tell which list is newer', async () => {
  const api = await trendsApi({ caughtUp: false })
  const answered = await api.send('POST', PATH, body(), await api.bearer({ sub: 'other-pipeline', scope: 'internal' }))
  expect(answered).toMatchObject({ status: 503, body: { error: 'not_ready' } })
  expect(api.published).toEqual([])
})

test('a refresh gets 404 for an unknown location, and 503 without Kafka', async () => {
  const { post, kafka } = await refreshing()
  expect(await post(body({ woeid: 2 }))).toMatchObject({ status: 404, body: { error: 'unknown_location' } })
  kafka.down = true
  expect(await post(body())).toMatchObject({ status: 503, body: { error: 'unavailable' } })
})

test('a refresh needs the scope internal', async () => {
  const { send, bearer } = await refreshing()
  expect((await send('POST', PATH, body())).status).toBe(401)
  expect((await send('POST', PATH, body(), await bearer({ sub: '1', scope: 'admin' }))).status).toBe(403)
})
