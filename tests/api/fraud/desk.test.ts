import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { deskPart } from '../../../api/fraud/desk/part.ts'
import { START, testApp } from '../kit/harness.ts'

const API = join(import.meta.dirname, '../../../api')
/** Folders of static browser files, keyed by the URL path under which they are served. */
const FOLDERS = { '/fraud': 'fraud/desk/browser', '/kit/page/browser': 'kit/page/browser' }

async function deskApp() {
  const queries: Record<string, unknown>[] = []
  const tables = {
    async query({ query_params }: { query_params: Record<string, unknown> }) {
      queries.push(query_params)
      const row = ['t1', START, 20, 'EUR', 22, 'm', null, null, 1.5, -2, 'APPROVE', 12]
      return { json: async <Row>() => [row] as Row[] }
    },
  }
  const { routes } = deskPart({ tables, now: () => START })
  const service = { name: 'fraud', description: '', isUserId: () => true, errors: [], probes: [], routes }
  return { ...(await testApp({ services: [service] })), queries }
}

test('the Content-Security-Policy of the page allows only its own server', async () => {
  const { app } = await deskApp()
  const answer = await app.request('/fraud')
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
  const policy = answer.headers.get('content-security-policy')?.split('; ')
  expect(policy).toEqual(
    expect.arrayContaining(["default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"]),
  )
  expect(policy?.filter((rule) => /unsafe|img-src|https?:/.test(rule))).toEqual([])
})

test.each(Object.entries(FOLDERS))('every file of the folder is served below %s, and nothing else is', async (address, folder) => {
  const { app } = await deskApp()
  const files = readdirSync(join(API, folder)).filter((file) => file !== 'page.html')
  expect(files.length).toBeGreaterThan(3)
  for (const file of files) {
    const { status, headers } = await app.request(`${address}/${file}`)
    const type = expect.stringMatching(/^text\/(javascript|css); charset=utf-8$/)
    expect([file, status, headers.get('content-type')]).toEqual([file, 200, type])
  }
  for (const file of ['page.html', '..%2Fpart.ts', 'constructor', 'main.js%00', 'part.ts']) {
    const { status } = await app.request(`${address}/${file}`)
    expect([file, [400, 404].includes(status)]).toEqual([file, true])
  }
})

test("a request for a user's transactions needs a scope, and covers a week by default", async () => {
  const { app, bearer, queries } = await deskApp()
  const get = async (query: string, scope?: string) =>
    await app.request(`/api/v1/transactions?${query}`, { headers: await bearer({ sub: 'ann', scope }) })
  expect((await get('user_id=u1')).status).toBe(403)
  const answer = await get('user_id=u1%20', 'fraud:analyst')
  expect(answer.headers.get('cache-control')).toBe('private, no-store')
  expect(await answer.json()).toEqual({
    transactions: [
      {
        ...{ transaction_id: 't1', timestamp: '2026-01-15T12:00:00.000Z', amount: 20, currency: 'EUR', amount_usd: 22 },
        ...{
          merchant_id: 'm',
          fingerprint_id: null,
          ip_address: null,
          geo_location: { lat: 1.5, lng: -2 },
          decision: 'APPROVE',
          risk_score: 12,
        },
      },
    ],
  })
  await get('user_id=u1&to=2026-01-10T00:00:00.000Z&days=2&limit=5', 'fraud:ops')
  expect(queries).toEqual([
    { user: 'u1', from: START - 7 * 86_400_000, to: START, limit: 100 },
    { user: 'u1', from: Date.UTC(2026, 0, 8), to: Date.UTC(2026, 0, 10), limit: 5 },
  ])
  const longest = '\u{1f600}'.repeat(50)
  expect((await get(`user_id=${encodeURIComponent(longest)}`, 'fraud:ops')).status).toBe(200)
  for (const bad of ['', 'user_id=', `user_id=${'x'.repeat(51)}`, 'user_id=u&days=8', 'user_id=u&limit=101', 'user_id=u&to=now'])
    expect([bad, (await get(bad, 'fraud:ops')).status]).toEqual([bad, 400])
})
