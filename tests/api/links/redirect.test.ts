import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { addressRanges, LOOPBACK } from '../../../api/kit/client-address.ts'
import { ApiError, errors } from '../../../api/kit/errors.ts'
import { redirects } from '../../../api/links/redirect.ts'
import type { Click } from '../../../schemas/links/types.ts'
import { START } from '../kit/harness.ts'
import { linksApi } from './harness.ts'

const URL_1 = 'https://example.com/1?a=b#c'
const HOUR_MS = 3_600_000
const ADMIN = { sub: '1', scope: 'admin', exp: START + HOUR_MS }

/**
 * Serves two handlers on one server: the API's front handler for requests with `x-listener: front`, and the listener
 * for short domains for all other requests. Requests that the front handler leaves to the API get 299.
 */
async function shortApi({ countryHeader, proxies = LOOPBACK }: { countryHeader?: string; proxies?: readonly string[] } = {}) {
  const api = await linksApi()
  const clicks: Click[] = []
  const buffer = { offer: (_key: string, click: Click) => clicks.push(click) > 0 }
  const { redis, facts, domains, metrics, log, clock } = api
  const trusted = addressRanges(proxies)
  const views = { ...redis.reader }
  const now = () => clock.now
  const { listener, front } = redirects({ views, facts, clicks: buffer, domains, trusted, countryHeader, metrics, log, now })
  const server = createServer((incoming, response) => {
    if (incoming.headers['x-listener'] !== 'front') listener(incoming, response)
    else if (!front(incoming, response)) response.writeHead(299).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo

  async function visit(path: string, headers: Record<string, string> = {}, method = 'GET') {
    return await new Promise<{ status: number; headers: IncomingHttpHeaders; text: string }>((resolve, reject) => {
      const asked = request({ port, path, method, headers: { host: 'sho.rt', ...headers }, agent: false }, (response) => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (chunk) => {
          text += chunk
        })
        response.on('end', () => resolve({ status: response.statusCode as number, headers: response.headers, text }))
      })
      asked.on('error', reject)
      asked.end()
    })
  }

  async function link(fields: object = {}): Promise<string> {
    const { body } = await api.create({ long_url: URL_1, ...fields })
    return body.short_code
  }

  return { ...api, views, clicks, visit, link }
}

test('a visit gets 302 with the long URL and without caching, and is recorded as one click', async () => {
  const { visit, link, clicks, clock, redis } = await shortApi()
  const code = await link()
  const reads = redis.state.reads
  const answer = await visit(`/${code}?utm_source=mail`, { 'user-agent': 'Browser/1', referer: 'https://news.example/' })
  expect(answer).toMatchObject({ status: 302, headers: { location: URL_1, 'cache-control': 'private, no-store' }, text: '' })
  // One key has the link, and the other shows that the view has caught up.
  expect(redis.state.reads - reads).toBe(2)
  const timestamp = new Date(clock.now).toISOString()
  const from = { ip: '127.0.0.1', user_agent: 'Browser/1', referrer: 'https://news.example/', country: '' }
  expect(clicks).toEqual([{ short_code: code, timestamp, ...from }])
})

test.each([
  ['HEAD', {}],
  ['GET', { 'sec-purpose': 'prefetch;prerender' }],
  ['GET', { purpose: 'prefetch' }],
])('%s with %j gets the redirect and records no click', async (method, headers) => {
  const { visit, link, clicks } = await shortApi()
  expect((await visit(`/${await link()}`, headers as Record<string, string>, method)).status).toBe(302)
  expect(clicks).toEqual([])
})

test('a click has the client address that the proxy reports, and its user agent and referrer are truncated to 512 and 2,048 characters', async () => {
  const { visit, link, clicks } = await shortApi()
  const long = { 'user-agent': 'x'.repeat(5_000), referer: 'y'.repeat(5_000) }
  await visit(`/${await link()}`, { 'x-forwarded-for': '203.0.113.9, 198.51.100.7', ...long })
  expect(clicks[0]).toMatchObject({ ip: '198.51.100.7', user_agent: 'x'.repeat(512), referrer: 'y'.repeat(2_048) })
})

test('a click has the country that a trusted proxy sends in the configured header', async () => {
  const { visit, link, clicks } = await shortApi({ countryHeader: 'cf-ipcountry' })
  const code = await link()
  for (const given of ['de', 'T1', 'nonsense', 'DE, FR']) await visit(`/${code}`, { 'cf-ipcountry': given })
  expect(clicks.map(({ country }) => country)).toEqual(['DE', 'T1', '', ''])
  const direct = await shortApi()
  await direct.visit(`/${await direct.link()}`, { 'cf-ipcountry': 'DE' })
  expect(direct.clicks[0].country).toBe('')
})

test('the country header of a sender that is not a trusted proxy is ignored', async () => {
  const { visit, link, clicks } = await shortApi({ countryHeader: 'cf-ipcountry', proxies: [] })
  await visit(`/${await link()}`, { 'cf-ipcountry': 'DE', 'x-forwarded-for': '203.0.113.9' })
  expect(clicks[0]).toMatchObject({ country: '', ip: '127.0.0.1' })
})

test('every response has a request id and is readable by pages of any origin', async () => {
  const { visit, link } = await shortApi()
  const paths = [`/${await link()}`, `/${await link({ analytics: false })}`, '/unknown']
  for (const [path, method] of [...paths.map((path) => [path, 'GET']), [paths[0], 'OPTIONS'], [paths[0], 'POST']]) {
    const { headers } = await visit(path, {}, method)
    expect([path, method, headers['access-control-allow-origin']]).toEqual([path, method, '*'])
    expect(headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/)
    expect((await visit(path, { 'x-request-id': 'mine' }, method)).headers['x-request-id']).toBe('mine')
  }
})

test('a link whose clicks are not counted redirects with 301, which caches may keep until the link expires', async () => {
  const { visit, link, clicks, advance } = await shortApi()
  const code = await link({ analytics: false, expiration: '1h' })
  expect((await visit(`/${code}`)).headers['cache-control']).toBe('public, max-age=3600')
  advance(HOUR_MS / 2)
  expect(await visit(`/${code}`)).toMatchObject({ status: 301, headers: { location: URL_1, 'cache-control': 'public, max-age=1800' } })
  expect(clicks).toEqual([])
})

test('a visit to an expired link gets 404 or, if the link has a fallback address, is redirected there and counted like any other visit', async () => {
  const { visit, link, clicks, clock } = await shortApi()
  const gone = await link({ expiration: '1h' })
  const leading = await link({ expiration: '1h', expired_url: 'https://example.com/over' })
  const uncounted = await link({ expiration: '1h', expired_url: 'https://example.com/over', analytics: false })
  clock.now += HOUR_MS - 1
  expect((await visit(`/${gone}`)).status).toBe(302)
  clock.now += 1
  expect((await visit(`/${gone}`)).status).toBe(404)
  const over = { location: 'https://example.com/over', 'cache-control': 'private, no-store' }
  expect(await visit(`/${leading}`)).toMatchObject({ status: 302, headers: over })
  expect(await visit(`/${uncounted}`)).toMatchObject({ status: 302, headers: over })
  expect(clicks.map(({ short_code }) => short_code)).toEqual([gone, leading])
})

test('links that are unknown, switched off, deleted or of another domain are not found', async () => {
  const { visit, link, send } = await shortApi()
  const admin = { sub: '1', scope: 'admin' }
  const [off, deleted, elsewhere] = [await link(), await link(), await link({ domain: 'go.example' })]
  await send('PATCH', `/api/v1/urls/${off}`, { as: admin, body: { is_active: false } })
  await send('DELETE', `/api/v1/urls/${deleted}`, { as: admin })
  for (const path of ['/', '/unknown', '/no.code', '/abc/def', `/${off}`, `/${deleted}`, `/${elsewhere}`]) {
    const { status, headers, text } = await visit(path)
    expect([path, status, headers['cache-control']]).toEqual([path, 404, 'no-store'])
    expect(JSON.parse(text)).toMatchObject({ error: 'url_not_found', request_id: headers['x-request-id'] })
  }
  expect((await visit(`/${elsewhere}`, { host: 'GO.example' })).status).toBe(302)
  expect((await visit(`/${elsewhere}`, { host: 'other.example' })).status).toBe(404)
})

test.each([
  ['/', 'SHO.rt'],
  ['/', 'sho.rt:80'],
  ['/', 'sho.rt.'],
  ['/', 'sho.rt.:80'],
  ['http://sho.rt/', 'another.example'],
  ['HTTP://SHO.RT:80/', 'sho.rt'],
])('a request with a target under %s and the Host header %s finds a link of sho.rt', async (base, host) => {
  const { visit, link, clicks } = await shortApi()
  const code = await link()
  expect(await visit(`${base}${code}?a=b`, { host })).toMatchObject({ status: 302, headers: { location: URL_1 } })
  expect(await visit(`${base}${code}`, { host, 'x-listener': 'front' })).toMatchObject({ status: 302 })
  expect(clicks.map(({ short_code }) => short_code)).toEqual([code, code])
})

test.each([
  ['/', 'sho.rt:443'],
  ['/', 'sho.rt..'],
  ['/', 'go.example:443'],
  ['/', 'sho.rt@evil.example'],
  ['http://evil.example/', 'sho.rt'],
  ['http://sho.rt@evil.example/', 'sho.rt'],
  ['ftp://sho.rt/', 'sho.rt'],
])('a request with a target under %s and the Host header %s finds no link of sho.rt', async (base, host) => {
  const { visit, link } = await shortApi()
  const code = await link()
  expect((await visit(`${base}${code}`, { host })).status).toBe(404)
  expect((await visit(`${base}${code}`, { host, 'x-listener': 'front' })).status).not.toBe(302)
})

test.each(['listener', 'front'])('a code may be percent-encoded, and other encoded paths are not found (%s)', async (listener) => {
  const { visit, link, clicks } = await shortApi()
  await link({ custom_alias: 'a-b_c' })
  const headers = { 'x-listener': listener }
  for (const path of ['/a%2Db%5Fc', '/%61-b_%63?x=%ff'])
    expect(await visit(path, headers)).toMatchObject({ status: 302, headers: { location: URL_1 } })
  expect(clicks.map(({ short_code }) => short_code)).toEqual(['a-b_c', 'a-b_c'])
  for (const path of ['/a-b_c%', '/a-b_c%00', '/a-b_c%FF', '/a%252Db_c', '/%2Fa-b_c'])
    expect((await visit(path, headers)).status).toBe(listener === 'front' ? 299 : 404)
})

test('methods other than GET, HEAD and OPTIONS get 405 with the allowed methods, and OPTIONS lists the allowed methods too', async () => {
  const { visit, link } = await shortApi()
  const code = await link()
  expect(await visit(`/${code}`, {}, 'POST')).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD, OPTIONS' } })
  expect(await visit(`/${code}`, {}, 'OPTIONS')).toMatchObject({ status: 204, headers: { allow: 'GET, HEAD, OPTIONS' } })
  const preflight = await visit(`/${code}`, { 'access-control-request-method': 'GET' }, 'OPTIONS')
  expect(preflight.headers).toMatchObject({
    'access-control-allow-methods': 'GET, HEAD, OPTIONS',
    'access-control-allow-headers': expect.stringContaining('X-Request-Id'),
  })
})

test('while Redis is unreachable or being filled, a visit gets 5xx, never a wrong 404', async () => {
  const { visit, link, redis, lines } = await shortApi()
  const code = await link()
  redis.flush()
  expect(await visit(`/${code}`)).toMatchObject({
    status: 503,
    headers: { 'retry-after': '1' },
    text: expect.stringContaining('not_ready'),
  })
  redis.state.down = true
  expect((await visit(`/${code}`)).status).toBeGreaterThanOrEqual(500)
  expect(lines.some((line) => JSON.stringify(line).includes(URL_1))).toBe(false)
})

test('while Redis is being filled again, a visitor cannot follow a deleted link whose deletion has not been applied yet', async () => {
  const { visit, link, redis, send } = await shortApi()
  const code = await link()
  const key = redis.keys().find((name) => name.endsWith(`:link:${code}`)) as string
  const value = (await redis.reader.get(key)) as string
  await send('DELETE', `/api/v1/urls/${code}`, { as: ADMIN })
  expect((await visit(`/${code}`)).status).toBe(404)
  redis.flush()
  // The sink reads the log from its beginning, so it first applies the creation.
  redis.apply([{ op: 'set', key, value }])
  expect(await visit(`/${code}`)).toMatchObject({ status: 503, text: expect.stringContaining('not_ready') })
})

test('a browser gets a page that explains why a link cannot be followed, and programs get JSON', async () => {
  const { visit, link, clicks, redis } = await shortApi()
  const gone = await link({ expiration: '1h' })
  const browser = { accept: 'text/html,application/xhtml+xml', 'sec-fetch-mode': 'navigate', 'x-request-id': 'r-1' }
  const page = await visit('/unknown', browser)
  expect(page).toMatchObject({ status: 404, headers: { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' } })
  expect(page.text).toContain('<h1>This short link does not exist.</h1>')
  expect(page.text).toContain('Request r-1')
  expect(await visit('/unknown', browser, 'HEAD')).toMatchObject({ status: 404, text: '' })
  expect(JSON.parse((await visit('/unknown')).text).error).toBe('url_not_found')
  expect(JSON.parse((await visit('/unknown', { ...browser, 'sec-fetch-mode': 'cors' })).text).error).toBe('url_not_found')
  expect((await visit(`/${gone}`, browser)).status).toBe(302)
  expect(clicks.length).toBe(1)
  redis.flush()
  const later = await visit(`/${gone}`, browser)
  expect([later.status, later.headers['retry-after']]).toEqual([503, '1'])
  expect(later.text).toContain('Try again')
})

test('while a server does not respond, visitors get a page without technical terms, and programs get the cause', async () => {
  const { visit, link, views } = await shortApi()
  const code = await link()
  views.get = () => Promise.reject(new ApiError(errors.unavailable, { message: 'The view store does not respond. Try again shortly.' }))
  const page = await visit(`/${code}`, { accept: 'text/html' })
  expect([page.status, page.headers['retry-after']]).toEqual([503, '1'])
  expect(page.text).toContain('<h1>This link cannot be followed now</h1>\n')
  expect(page.text).toContain('<p>The service is temporarily unavailable. Try again shortly.</p>')
  expect(page.text).not.toContain('store')
  expect(JSON.parse((await visit(`/${code}`)).text).message).toBe('The view store does not respond. Try again shortly.')
})

test('the Content-Security-Policy of the page permits only its own style', async () => {
  const { visit } = await shortApi()
  const { headers, text } = await visit('/unknown', { accept: 'text/html' })
  const style = /<style>(.*)<\/style>/.exec(text)?.[1] ?? ''
  const hash = createHash('sha256').update(style).digest('base64')
  expect(headers['content-security-policy']).toBe(`default-src 'none'; style-src 'sha256-${hash}'; frame-ancestors 'none'`)
})

test('in front of the API, the handler answers only requests for codes on a short domain', async () => {
  const { visit, link } = await shortApi()
  const code = await link()
  const front = { 'x-listener': 'front' }
  expect((await visit(`/${code}`, front)).status).toBe(302)
  for (const path of ['/docs', '/api/v1/urls', '/', '/metrics']) expect((await visit(path, front)).status).toBe(299)
  expect((await visit(`/${code}`, { ...front, host: 'localhost:8080' })).status).toBe(299)
})
