import { expect, test } from 'vitest'
import { isDecimalUserId } from '../../../api/kit/auth/authorize.ts'
import { ApiError } from '../../../api/kit/errors.ts'
import type { Facts } from '../../../api/kit/facts.ts'
import { clickRoutes } from '../../../api/links/clicks.ts'
import { linksErrors } from '../../../api/links/errors.ts'
import { partitionFor } from '../../../kafka/partitioner.ts'
import { AS_OF_KEY } from '../../../schemas/links/as-of.ts'
import type { LinkStats } from '../../../schemas/links/types.ts'
import type { TableReader } from '../../../state/tables/reader.ts'
import { LINK_STATS_VIEW, linkStatsView } from '../../../state/views/links/link-stats.ts'
import { fakeRedis } from '../../state/views/fake-redis.ts'
import { NO_CLICKS } from '../../state/views/no-clicks.ts'
import { START, testApp } from '../kit/harness.ts'

const PARTITIONS = 4
const HOUR = 3_600_000
const CODE = '-abc123'
const OWNER = '42'
const CREATED = START - 100 * HOUR

type Row = [number, number, string, string, string, string, string, boolean]

async function clicksApi() {
  const redis = fakeRedis()
  const table = {
    caughtUp: PARTITIONS,
    rows: [] as Row[],
    error: undefined as Error | undefined,
    failFrom: Infinity,
    queries: [] as Record<string, unknown>[],
  }
  const partition = partitionFor(Buffer.from(CODE), PARTITIONS)
  const facts = { partitionOf: () => partition, partitionsOf: () => PARTITIONS } as unknown as Facts
  const tables: TableReader = {
    async query({ query_params }) {
      if ('tables' in query_params)
        return { json: async <T>() => (query_params.tables as string[]).map((name) => [name, table.caughtUp]) as T[] }
      table.queries.push(query_params)
      if (table.error !== undefined) throw table.error
      if (table.queries.length > table.failFrom) throw new Error('gone')
      const { afterTime, afterPartition, afterOffset, limit } = query_params as Record<string, number>
      const behind = table.rows.filter(([at, place, offset]) => {
        if (at !== afterTime) return at > afterTime
        return place > afterPartition || (place === afterPartition && BigInt(offset) > BigInt(afterOffset))
      })
      return { json: async <T>() => behind.slice(0, limit) as T[] }
    },
  }
  const deps = {
    views: redis.reader,
    tables,
    facts,
    linkOf: async (code: string) => {
      if (code !== CODE) throw new ApiError(linksErrors.url_not_found)
      return { createdAt: CREATED, analytics: true, userId: OWNER }
    },
    now: () => api.clock.now,
  }
  const { routes, probe } = clickRoutes(deps)
  const service = {
    name: 'links',
    description: 'links',
    routes,
    errors: Object.values(linksErrors),
    probes: [probe],
    isUserId: isDecimalUserId,
  }
  const api = await testApp({ services: [service], probes: [probe] })
  redis.caughtUp(LINK_STATS_VIEW, PARTITIONS)
  redis.apply(linkStatsView.operationsFor(partition, AS_OF_KEY, { ...NO_CLICKS, as_of: START - 2_000 }))

  async function get(what: string, claims: { sub?: string; scope?: string } = { sub: OWNER }, code = CODE) {
    return await api.app.request(`/api/v1/urls/${code}/${what}`, { headers: await api.bearer(claims) })
  }

  return { ...api, redis, table, get, putStats: (stats: LinkStats) => redis.apply(linkStatsView.operationsFor(partition, CODE, stats)) }
}

test('the statistics of a link contain the clicks of each of the last 48 hours, including hours without clicks', async () => {
  const { get, putStats } = await clicksApi()
  const entry = (value: string, clicks: number) => ({ value, clicks, over: 0 })
  putStats({
    ...NO_CLICKS,
    total_clicks: 10,
    bot_clicks: 2,
    unique_clicks: 7,
    hours: [
      { start: START - 72 * HOUR, clicks: 1 },
      { start: START - 13 * HOUR, clicks: 4 },
      { start: START - 12 * HOUR, clicks: 1 },
      { start: START, clicks: 5 },
    ],
    referrers: [entry('b.example', 6), entry('direct', 2)],
    countries: [entry('DE', 8)],
    browsers: [entry('Chrome', 8)],
    devices: [entry('mobile', 8)],
  })
  const response = await get('stats')
  expect(response.status).toBe(200)
  expect(response.headers.get('cache-control')).toBe('private, no-store')
  const { clicks_per_hour, counts, ...body } = (await response.json()) as Record<string, unknown>
  expect(body).toEqual({
    short_code: CODE,
    total_clicks: 10,
    // START is noon, so thirteen hours ago was yesterday, and twelve hours ago was midnight.
    clicks_today: 6,
    bot_clicks: 2,
    unique_clicks: 7,
    unique_is_exact: true,
    top_referrers: ['b.example', 'direct'],
    top_countries: ['DE'],
    top_browsers: ['Chrome'],
    top_devices: ['mobile'],
    analytics: true,
    created_at: new Date(CREATED).toISOString(),
    as_of: new Date(START - 2_000).toISOString(),
  })
  expect(counts).toMatchObject({ referrers: [{ value: 'b.example', clicks: 6, over: 0 }, { value: 'direct' }] })
  const hours = clicks_per_hour as { hour: string; clicks: number }[]
  expect(hours.length).toBe(48)
  expect(hours.at(-1)).toEqual({ hour: new Date(START).toISOString(), clicks: 5 })
  expect(hours.at(-14)).toEqual({ hour: new Date(START - 13 * HOUR).toISOString(), clicks: 4 })
  expect(hours.reduce((sum, { clicks }) => sum + clicks, 0)).toBe(10)
})

test('the statistics of a link without clicks contain zeros and empty lists', async () => {
  const { get } = await clicksApi()
  expect(await (await get('stats')).json()).toMatchObject({ total_clicks: 0, clicks_today: 0, unique_clicks: 0, top_referrers: [] })
})

test.each(['stats', 'clicks.csv'])('statistics are shown only to the owner and administrators (%s)', async (what) => {
  const { app, get } = await clicksApi()
  const statusOf = async (...args: Parameters<typeof get>) => (await get(...args)).status
  expect(await statusOf(what)).toBe(200)
  expect(await statusOf(what, { sub: '7', scope: 'admin' })).toBe(200)
  expect(await statusOf(what, { sub: '7' })).toBe(403)
  const response = await app.request(`/api/v1/urls/${CODE}/${what}`)
  expect([response.status, ((await response.json()) as { error: string }).error]).toEqual([401, 'unauthorized'])
  const missing = await get(what, { sub: OWNER }, 'nothere')
  expect([missing.status, ((await missing.json()) as { error: string }).error]).toEqual([404, 'url_not_found'])
})

test('while the view is being built, a request for statistics gets an error instead of zeros, and the API stays ready', async () => {
  const { get, redis, app } = await clicksApi()
  redis.flush()
  const response = await get('stats')
  expect([response.status, ((await response.json()) as { error: string }).error]).toEqual([503, 'not_ready'])
  expect(response.headers.get('retry-after')).toBe('1')
  const ready = await app.request('/readyz')
  expect([ready.status, await ready.text()]).toEqual([200, expect.stringContaining('link-stats')])
})

const row = (number: number): Row => [
  START - 100_000 + Math.floor(number / 3),
  1,
  String(number),
  `r${number}.example`,
  'DE',
  'Chrome',
  'mobile',
  false,
]

test('the CSV export reads clicks in pages, and contains each click once', async () => {
  const { get, table } = await clicksApi()
  table.rows = Array.from({ length: 25_000 }, (_, number) => row(number))
  const response = await get('clicks.csv')
  expect(response.headers.get('content-type')).toBe('text/csv; charset=utf-8; header=present')
  expect(response.headers.get('content-disposition')).toBe(`attachment; filename="clicks-${CODE}.csv"`)
  const lines = (await response.text()).split('\r\n')
  expect(lines[0]).toBe('clicked_at,referrer,country,browser,device,bot')
  expect(lines[1]).toBe(`${new Date(START - 100_000).toISOString()},r0.example,DE,Chrome,mobile,false`)
  expect(lines.length).toBe(1 + 25_000 + 1)
  expect(new Set(lines).size).toBe(lines.length)
  expect(table.queries.length).toBe(3)
})

test('formulas are exported as text, so that a spreadsheet does not run them', async () => {
  const { get, table } = await clicksApi()
  table.rows = [[START, 0, '0', '=cmd|calc', '@DE', '+1', '-1', true]]
  const [, line] = (await (await get('clicks.csv')).text()).split('\r\n')
  expect(line.endsWith(",'=cmd|calc,'@DE,'+1,'-1,true")).toBe(true)
})

test('an export is refused while the table is being filled, because it would be incomplete', async () => {
  const { get, table } = await clicksApi()
  table.caughtUp = PARTITIONS - 1
  const response = await get('clicks.csv')
  expect([response.status, ((await response.json()) as { error: string }).error]).toEqual([503, 'not_ready'])
})

test('an export covers the given range, by default the last 90 days, and an invalid time is refused', async () => {
  const { get, table } = await clicksApi()
  await get('clicks.csv?from=2026-01-15T00:00:00Z&to=2026-01-15T06:00:00.000Z')
  expect(table.queries.at(-1)).toMatchObject({ code: CODE, afterTime: START - 12 * HOUR, to: START - 6 * HOUR })
  table.queries.length = 0
  await get('clicks.csv')
  expect(table.queries[0]).toMatchObject({ afterTime: START - 90 * 24 * HOUR })
  expect(table.queries.at(-1)).toMatchObject({ to: START })
  table.queries.length = 0
  await get('clicks.csv?from=2026-01-15T02:00:00%2B02:00')
  expect(table.queries[0]).toMatchObject({ afterTime: START - 12 * HOUR })
  for (const wrong of ['yesterday', '2026-01-15', '2026-01-15T00:00:00']) {
    const refused = await get(`clicks.csv?from=${wrong}`)
    expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining('a zone, such as 2026-01-15T12:00:00Z')])
  }
})

test('a request for an export gets an error if its first query fails, and the export is cut off if a later query fails', async () => {
  const { get, table } = await clicksApi()
  table.error = new ApiError({ code: 'unavailable', status: 503, retryable: true, when: '', message: 'away' })
  expect((await get('clicks.csv')).status).toBe(503)
  table.error = undefined
  table.queries.length = 0
  table.failFrom = 1
  table.rows = Array.from({ length: 15_000 }, (_, number) => row(number))
  const response = await get('clicks.csv')
  expect(response.status).toBe(200)
  await expect(response.text()).rejects.toThrow('gone')
})
