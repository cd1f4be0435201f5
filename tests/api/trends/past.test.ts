import { expect, test } from 'vitest'
import { PastListSchema } from '../../../api/trends/model.ts'
import { START } from '../kit/harness.ts'
import { trendsApi } from './harness.ts'

const AT = encodeURIComponent(new Date(START + 61_500).toISOString())
const SINCE = START - 600_000
const ROW = [START / 1000, 'café', '#Café', 12, 1.5, 'Viral', ['9007199254740993'], 40, 2.5, SINCE, 11, ['#Coffee', 'tea']]
const OLD_ROW = [START / 1000, 'tea', 'tea', 3, 0.5, '', [], null, null, null, null, []]

test('a snapshot is returned as a list, with null for fields that its rows do not have', async () => {
  const { get, table } = await trendsApi()
  table.rows = [ROW, OLD_ROW]
  const { status, headers, body } = await get(`/v1/trends/1/past?at=${AT}`)
  expect([status, headers.get('cache-control')]).toEqual([200, 'public, max-age=30'])
  expect(PastListSchema.strict().parse(body)).toEqual(body)
  expect(body).toMatchObject({ as_of: '2026-01-15T12:00:00.000Z', location: { woeid: 1, name: 'Worldwide' } })
  expect(body.trends).toEqual([
    {
      rank: 1,
      name: '#Café',
      query: '%23Caf%C3%A9',
      term: 'café',
      tweet_volume: 12,
      volume_24h: 40,
      velocity: 1.5,
      velocity_vs_usual: 2.5,
      label: 'Viral',
      trending_since: new Date(SINCE).toISOString(),
      sample_tweets: ['9007199254740993'],
      users: 11,
      variants: ['#Coffee', 'tea'],
    },
    expect.objectContaining({
      rank: 2,
      label: null,
      volume_24h: null,
      velocity_vs_usual: null,
      trending_since: null,
      users: null,
      variants: [],
    }),
  ])
  expect((await get(`/v1/trends/1/past?at=${AT}`, { 'if-none-match': headers.get('etag')! })).status).toBe(304)
  expect((await get(`/v1/trends/1/past?at=${AT}&limit=1`)).body.trends).toHaveLength(1)
})

test('only snapshots at most 3 minutes older than the requested time are queried, and concurrent requests share one query', async () => {
  const { get, table, clock } = await trendsApi()
  table.rows = [ROW]
  await Promise.all([get(`/v1/trends/1/past?at=${AT}`), get(`/v1/trends/1/past?at=${AT}&limit=3`)])
  expect(table.requests.map(({ query_params }) => query_params)).toEqual([
    { woeid: 1, from: START / 1000 + 62 - 180, to: START / 1000 + 61 },
  ])
  clock.now += 5_000
  await get(`/v1/trends/1/past?at=${AT}`)
  expect(table.requests).toHaveLength(2)
})

test('a request for an empty list gets 200, and a request for a missing list gets 404', async () => {
  const { get, table } = await trendsApi()
  table.rows = [[START / 1000, '', '', null, null, '', [], null, null, null, null, []]]
  expect((await get(`/v1/trends/1/past?at=${AT}`)).body).toMatchObject({ as_of: '2026-01-15T12:00:00.000Z', trends: [] })
  table.rows = []
  expect(await get(`/v1/trends/44418/past?at=${AT}`)).toMatchObject({ status: 404, body: { error: 'past_list_not_found' } })
})

test.each(['0001-01-01T00:00:00Z', '1969-12-31T23:59:59Z', '9999-12-31T23:59:59Z'])('there is no list from %s', async (at) => {
  const { get, table } = await trendsApi()
  expect(await get(`/v1/trends/1/past?at=${at}`)).toMatchObject({ status: 404, body: { error: 'past_list_not_found' } })
  expect(table.requests).toEqual([])
})

test.each([
  ['1/past', 400, 'invalid_request'],
  ['1/past?at=', 400, 'invalid_request'],
  ['1/past?at=2026-01-15', 400, 'invalid_request'],
  ['1/past?at=2026-01-15T12:00:00', 400, 'invalid_request'],
  ['1/past?at=2026-02-30T12:00:00Z', 400, 'invalid_request'],
  ['1/past?at=1768478400000', 400, 'invalid_request'],
  [`1/past?at=${AT}&limit=31`, 400, 'invalid_request'],
  [`x/past?at=${AT}`, 400, 'invalid_request'],
  [`-1/past?at=${AT}`, 400, 'invalid_request'],
  [`2/past?at=${AT}`, 404, 'unknown_location'],
])('%s is refused with %i', async (path, status, error) => {
  const { get } = await trendsApi()
  expect(await get(`/v1/trends/${path}`)).toMatchObject({ status, body: { error } })
})

test.each([
  [`01/past?at=${AT}`, 'path.woeid', 'must be an integer from 0 to 2147483647'],
  [`2147483648/past?at=${AT}`, 'path.woeid', 'must be an integer from 0 to 2147483647'],
  ['1/past?at=2026-01-15T13:00:00+01:00', 'query.at', 'must be a time in ISO 8601 with seconds and a time zone; write a + as %2B'],
  ['1/past?at=2026-01-15T12:00Z', 'query.at', 'must be a time in ISO 8601 with seconds and a time zone; write a + as %2B'],
])('the answer to %s says how to correct it', async (path, field, message) => {
  const { get } = await trendsApi()
  expect((await get(`/v1/trends/${path}`)).body).toMatchObject({ error: 'invalid_request', details: [{ path: field, message }] })
})

test('time zones other than UTC are accepted', async () => {
  const { get, table } = await trendsApi()
  table.rows = [ROW]
  expect((await get(`/v1/trends/1/past?at=${encodeURIComponent('2026-01-15T13:01:01+01:00')}`)).status).toBe(200)
  expect(table.requests[0].query_params).toMatchObject({ to: START / 1000 + 61 })
})

test('requests for past lists get not_ready while the table is being refilled', async () => {
  const { get, table } = await trendsApi()
  table.caughtUp = 3
  expect(await get(`/v1/trends/1/past?at=${AT}`)).toMatchObject({ status: 503, body: { error: 'not_ready' } })
})
