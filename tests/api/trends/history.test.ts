import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ApiError } from '../../../api/kit/errors.ts'
import { pointsJson, RESOLUTIONS, stepsOf, zeroFilled } from '../../../api/trends/history-steps.ts'
import { HistorySchema } from '../../../api/trends/model.ts'
import { START } from '../kit/harness.ts'
import { trendsApi } from './harness.ts'

const HOUR_MS = 3_600_000
const MAX_STEPS = 10_000

test('a series is zero-filled and ends with the current step', async () => {
  const { get, table, clock } = await trendsApi()
  clock.now = START + 61_000
  table.rows = [
    [START / 1000 - 300, 12],
    [START / 1000, 3],
  ]
  const { status, headers, body } = await get('/v1/trends/%23Caf%C3%A9/history?hours=1')
  expect([status, headers.get('cache-control')]).toEqual([200, 'public, max-age=60'])
  expect(HistorySchema.strict().parse(body)).toEqual(body)
  expect(body).toMatchObject({ term: '#Café', woeid: 1, resolution: '5m' })
  expect(body.data_points).toHaveLength(12)
  expect(body.data_points.slice(-3)).toEqual([
    { ts: '2026-01-15T11:50:00.000Z', volume: 0 },
    { ts: '2026-01-15T11:55:00.000Z', volume: 12 },
    { ts: '2026-01-15T12:00:00.000Z', volume: 3 },
  ])
  expect(table.requests[0].query_params).toEqual({
    woeid: 1,
    term: 'café',
    from: START / 1000 - 55 * 60,
    to: START / 1000 + 300,
    step: 300,
  })
  expect((await get('/v1/trends/%23Caf%C3%A9/history?hours=1', { 'if-none-match': headers.get('etag')! })).status).toBe(304)
  expect(table.requests).toHaveLength(1)
})

test('by default, a history is worldwide and covers 24 hours in steps of 5 minutes, and the history of an unknown term is all zeros', async () => {
  const { get } = await trendsApi()
  const { body } = await get('/v1/trends/never/history')
  expect([body.woeid, body.resolution, body.data_points.length]).toEqual([1, '5m', 288])
  expect(body.data_points.every(({ volume }: { volume: number }) => volume === 0)).toBe(true)
})

test.each([
  ['hours=0', 400, 'query.hours'],
  ['hours=2161', 400, 'query.hours'],
  ['hours=x', 400, 'query.hours'],
  ['resolution=2m', 400, 'query.resolution'],
  ['resolution=', 400, 'query.resolution'],
  ['hours=2160&resolution=1m', 400, 'query.resolution'],
  ['hours=167&resolution=1m', 400, 'query.resolution'],
])('a history with %s is refused with %i', async (query, status, path) => {
  const { get } = await trendsApi()
  const answered = await get(`/v1/trends/x/history?${query}`)
  expect(answered).toMatchObject({ status, body: { error: 'invalid_request', details: [{ path }] } })
})

test.each(['hours=166&resolution=1m', 'hours=2160&resolution=15m', 'hours=1&resolution=1d', 'hours=2160&resolution=1d', 'woeid=44418'])(
  'a history with %s is accepted',
  async (query) => {
    const { get } = await trendsApi()
    expect((await get(`/v1/trends/x/history?${query}`)).status).toBe(200)
  },
)

test('a request for a history gets 404 for an unknown location and 503 if the table cannot be queried, and the next request queries the table again', async () => {
  const { get, table } = await trendsApi()
  expect(await get('/v1/trends/x/history?woeid=2')).toMatchObject({ status: 404, body: { error: 'unknown_location' } })
  table.error = new ApiError({ code: 'unavailable', status: 503, retryable: true, when: '', message: 'm' })
  expect((await get('/v1/trends/x/history')).status).toBe(503)
  table.error = undefined
  expect((await get('/v1/trends/x/history')).status).toBe(200)
})

test('a request for a history gets not_ready while the table is being filled, because rows may be missing', async () => {
  const { get, table } = await trendsApi()
  table.caughtUp = 3
  const early = await get('/v1/trends/x/history')
  expect([early.status, early.body.error, early.headers.get('retry-after')]).toEqual([503, 'not_ready', '5'])
  table.caughtUp = 4
  expect((await get('/v1/trends/x/history')).status).toBe(200)
})

test('steps cover the requested hours, end with the current step, and never exceed the limit', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 4e12 }),
      fc.integer({ min: 1, max: 2_160 }),
      fc.constantFrom(...RESOLUTIONS),
      (now, hours, resolution) => {
        let steps: ReturnType<typeof stepsOf>
        try {
          steps = stepsOf(now, hours, resolution)
        } catch (error) {
          expect(error).toBeInstanceOf(ApiError)
          return
        }
        const volumes = new Map([[steps.from, 5]])
        const points: { ts: string; volume: number }[] = JSON.parse(pointsJson(steps, volumes))
        const times = points.map((_, index) => new Date(steps.from + index * steps.stepMs).toISOString())
        expect(points.map(({ ts }) => ts)).toEqual(times)
        expect(zeroFilled(steps, volumes)).toEqual(points.map(({ volume }) => volume))
        expect(steps.from % steps.stepMs === 0).toBe(true)
        expect(steps.to - steps.stepMs <= now && now < steps.to).toBe(true)
        expect(steps.to - steps.from >= hours * HOUR_MS).toBe(true)
        expect(points.length).toBe((steps.to - steps.from) / steps.stepMs)
        expect(points.length <= MAX_STEPS && points[0].volume === 5).toBe(true)
      },
    ),
  )
})
