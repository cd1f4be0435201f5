import { request as httpRequest } from 'node:http'
import { z } from '@hono/zod-openapi'
import { describe, expect, onTestFinished, test } from 'vitest'
import { jsonAnswer } from '../../../api/kit/answer.ts'
import { bind, defineRoute } from '../../../api/kit/route.ts'
import { startServer } from '../../../api/kit/server.ts'
import type { ServiceRoutes } from '../../../api/kit/service-routes.ts'
import { csrfTokenOf } from '../../../api/kit/session/csrf.ts'
import { echoService } from './echo-service.ts'
import { START, signingKey, signToken, type TestApp, testApp } from './harness.ts'

const PATH = '/api/v1/session'
const HOUR_MS = 3_600_000
const OWN_PAGE = { 'sec-fetch-site': 'same-origin' }
const FOREIGN_PAGES: Record<string, string>[] = [
  { 'sec-fetch-site': 'cross-site' },
  { 'sec-fetch-site': 'same-site' },
  { origin: 'https://evil.example' },
  { origin: 'null' },
  { origin: 'http://localhost:3000' },
]

/** One route for each method that changes data. */
const changing = (['post', 'put', 'patch', 'delete'] as const).map((method) =>
  bind(
    defineRoute({
      method,
      path: '/things',
      operationId: `${method}Thing`,
      summary: 's',
      description: 'd',
      auth: { kind: 'scope', scope: 'internal' },
      answers: { 200: { description: 'the caller', schema: z.object({ subject: z.string() }) } },
      errors: [],
    }),
    ({ caller }) => jsonAnswer(200, { subject: caller!.subject }),
  ),
)
const things: ServiceRoutes = { name: 'things', description: '', isUserId: () => true, routes: changing, errors: [], probes: [] }

const sessionApp = (more: { publicUrl?: string; reusableUntil?: number } = {}) =>
  testApp({ services: [echoService({ runs: 0, reusableUntil: more.reusableUntil }), things], publicUrl: more.publicUrl })

const CLAIMS = { sub: '42', scope: 'internal', preferred_username: 'Ann' }

async function signIn(api: TestApp, token: string, headers: Record<string, string> = OWN_PAGE) {
  const body = JSON.stringify({ token })
  return await api.app.request(PATH, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body })
}

/** Signs in, and returns the cookie and CSRF token that the browser keeps. */
async function signedIn(api: TestApp, claims: object = CLAIMS) {
  const token = await signToken(api.key, claims)
  const answer = await signIn(api, token)
  expect(answer.status).toBe(201)
  const [cookie] = answer.headers.get('set-cookie')!.split(';')
  const session = (await answer.json()) as { csrf_token: string }
  return { token, cookie, csrf: session.csrf_token, session, ...OWN_PAGE }
}

const isCleared = (answer: Response) => answer.headers.get('set-cookie')?.includes('millrace-session=; Expires=Thu, 01 Jan 1970') === true

describe('signing in', () => {
  test('keeps the token in a cookie that scripts and other sites cannot use, until the token expires', async () => {
    const api = await sessionApp()
    const token = await signToken(api.key, { ...CLAIMS, exp: START + HOUR_MS })
    const answer = await signIn(api, token)
    expect(answer.status).toBe(201)
    expect(answer.headers.get('set-cookie')).toBe(
      `millrace-session=${token}; Expires=Thu, 15 Jan 2026 13:00:00 GMT; Path=/; HttpOnly; SameSite=Strict`,
    )
    expect(answer.headers.get('cache-control')).toBe('private, no-store')
    expect(await answer.json()).toEqual({
      subject: '42',
      username: 'Ann',
      scopes: ['internal'],
      expires_at: '2026-01-15T13:00:00.000Z',
      csrf_token: csrfTokenOf(token),
    })
  })

  test('accepts a token that expires later than a Date can represent', async () => {
    const api = await sessionApp()
    const answer = await signIn(api, await signToken(api.key, { ...CLAIMS, exp: Number.MAX_SAFE_INTEGER }))
    expect([answer.status, await answer.json()]).toMatchObject([201, { expires_at: '+275760-09-13T00:00:00.000Z' }])
  })

  test('over https, the cookie is Secure and belongs to this host only', async () => {
    const api = await sessionApp({ publicUrl: 'https://api.example' })
    const { cookie } = await signedIn(api)
    expect(cookie).toMatch(/^__Host-millrace-session=/)
    const answer = await signIn(api, await signToken(api.key, CLAIMS))
    expect(answer.headers.get('set-cookie')).toMatch(/; Path=\/; HttpOnly; SameSite=Strict; Secure$/)
    expect((await api.app.request('/user', { headers: { cookie } })).status).toBe(200)
    // A cookie without the prefix is refused, because another host of the same domain could have set it.
    expect((await api.app.request('/user', { headers: { cookie: cookie.replace('__Host-', '') } })).status).toBe(401)
  })

  test.each([
    ['malformed', async () => 'a.b.c'],
    ['broken by a line break', async (api: TestApp) => (await signToken(api.key, CLAIMS)).replace(/.$/, '\r\n$&')],
    ['expired', (api: TestApp) => signToken(api.key, { ...CLAIMS, exp: START - HOUR_MS })],
    ['signed with another key', async () => signToken(await signingKey('key-1'), CLAIMS)],
    ['for another audience', (api: TestApp) => signToken(api.key, { ...CLAIMS, aud: 'other' })],
  ])('refuses a token that is %s', async (_what, make) => {
    const api = await sessionApp()
    const answer = await signIn(api, await make(api))
    expect([answer.status, answer.headers.get('set-cookie')]).toEqual([401, null])
  })

  test('refuses a token that is too long for a cookie, a body that is too large, and a form-encoded body', async () => {
    const api = await sessionApp()
    const long = await signToken(api.key, { ...CLAIMS, preferred_username: 'x'.repeat(4_000) })
    expect((await signIn(api, long)).status).toBe(400)
    expect((await signIn(api, 'x'.repeat(10_000))).status).toBe(413)
    const form = { 'content-type': 'application/x-www-form-urlencoded', ...OWN_PAGE }
    expect((await api.app.request(PATH, { method: 'POST', headers: form, body: 'token=x' })).status).toBe(415)
  })

  test.each(FOREIGN_PAGES)('a foreign page cannot sign its visitor in: %j', async (headers) => {
    const api = await sessionApp()
    const answer = await signIn(api, await signToken(api.key, CLAIMS), headers)
    expect([answer.status, answer.headers.get('set-cookie')]).toEqual([403, null])
  })

  test.each([{ origin: 'http://localhost' }, { origin: 'http://localhost:8080' }, {}])(
    'browsers that send no Sec-Fetch-Site may sign in from this host or the public host: %j',
    async (headers) => {
      const api = await sessionApp()
      expect((await signIn(api, await signToken(api.key, CLAIMS), headers as Record<string, string>)).status).toBe(201)
    },
  )
})

describe('requests with a session', () => {
  test.each([
    ['/user', 200, '42'],
    ['/internal', 200, '42'],
    ['/optional', 200, '42'],
    ['/open', 200, null],
  ])('%s accepts the cookie in place of a token', async (path, status, subject) => {
    const api = await sessionApp()
    const { cookie } = await signedIn(api)
    const answer = await api.app.request(path, { headers: { cookie: `other=1; ${cookie}; last=2`, ...OWN_PAGE } })
    expect(answer.status).toBe(status)
    expect(await answer.json()).toMatchObject({ subject })
  })

  test('a token in Authorization takes precedence over the cookie', async () => {
    const api = await sessionApp()
    const { cookie } = await signedIn(api)
    const bearer = await api.bearer({ sub: '7' })
    const as = async (headers: Record<string, string>) => await api.app.request('/user', { headers })
    expect(await (await as({ cookie, ...bearer })).json()).toMatchObject({ subject: '7' })
    expect((await as({ cookie, authorization: 'Bearer x' })).status).toBe(401)
    expect((await as({ cookie: 'millrace-session=x', ...bearer })).status).toBe(200)
    const internal = await api.bearer({ sub: '7', scope: 'internal' })
    expect((await api.app.request('/things', { method: 'POST', headers: { cookie, ...internal } })).status).toBe(200)
  })

  test('a session without the required scope gets 403', async () => {
    const api = await sessionApp()
    const { cookie } = await signedIn(api, { sub: '42' })
    expect((await api.app.request('/internal', { headers: { cookie } })).status).toBe(403)
  })

  test.each(['POST', 'PUT', 'PATCH', 'DELETE'])('%s needs the CSRF token of the same session', async (method) => {
    const api = await sessionApp()
    const { cookie, csrf } = await signedIn(api)
    const other = await signedIn(api, { ...CLAIMS, sub: '43' })
    const send = async (headers: Record<string, string>) => (await api.app.request('/things', { method, headers })).status
    expect(await send({ cookie, ...OWN_PAGE })).toBe(403)
    expect(await send({ cookie, ...OWN_PAGE, 'x-csrf-token': '' })).toBe(403)
    expect(await send({ cookie, ...OWN_PAGE, 'x-csrf-token': `${csrf}x` })).toBe(403)
    expect(await send({ cookie, ...OWN_PAGE, 'x-csrf-token': 'é'.repeat(csrf.length) })).toBe(403)
    expect(await send({ cookie, ...OWN_PAGE, 'x-csrf-token': other.csrf })).toBe(403)
    expect(await send({ cookie, ...OWN_PAGE, 'x-csrf-token': csrf })).toBe(200)
    for (const foreign of FOREIGN_PAGES) expect(await send({ cookie, 'x-csrf-token': csrf, ...foreign })).toBe(403)
  })

  test('requests from a page of another origin are anonymous, and other origins cannot read the responses to requests with a session', async () => {
    const api = await sessionApp()
    const { cookie } = await signedIn(api)
    for (const foreign of FOREIGN_PAGES) {
      const headers = { cookie, ...foreign }
      expect((await api.app.request('/user', { headers })).status).toBe(401)
      const answer = await api.app.request('/optional', { headers })
      expect(await answer.json()).toMatchObject({ subject: null })
      expect(isCleared(answer)).toBe(false)
    }
    const own = await api.app.request('/user', { headers: { cookie, ...OWN_PAGE } })
    expect(own.headers.get('access-control-allow-origin')).toBeNull()
    expect(own.headers.get('cross-origin-resource-policy')).toBe('same-origin')
    const preflight = {
      origin: 'https://evil.example',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'x-csrf-token',
    }
    const allowed = await api.app.request('/things', { method: 'OPTIONS', headers: preflight })
    expect(allowed.headers.get('access-control-allow-headers')?.toLowerCase()).not.toContain('csrf')
    expect(allowed.headers.get('access-control-allow-credentials')).toBeNull()
  })

  test('other origins can read the response to a request with a session if it is publicly cacheable, because shared caches may serve it to them anyway', async () => {
    const api = await sessionApp()
    const { cookie } = await signedIn(api)
    const { headers } = await api.app.request('/cached', { headers: { cookie, ...OWN_PAGE } })
    expect(headers.get('cache-control')).toBe('public, max-age=60')
    expect(headers.get('access-control-allow-origin')).toBe('*')
    expect(headers.get('cross-origin-resource-policy')).toBe('cross-origin')
  })

  test.each([
    ['malformed', async () => 'x'],
    ['empty', async () => ''],
    ['expired', (api: TestApp) => signToken(api.key, { ...CLAIMS, exp: START - HOUR_MS })],
  ])(
    'a request with a cookie whose token is %s gets 401 even where a token is optional, and the cookie is deleted',
    async (_what, make) => {
      const api = await sessionApp()
      const cookie = `millrace-session=${await make(api)}`
      for (const path of ['/user', '/optional', PATH]) {
        const answer = await api.app.request(path, { headers: { cookie, ...OWN_PAGE } })
        expect([path, answer.status, isCleared(answer)]).toEqual([path, 401, true])
      }
      const changed = await api.app.request('/things', { method: 'POST', headers: { cookie, ...OWN_PAGE } })
      expect([changed.status, isCleared(changed)]).toEqual([401, true])
      expect((await api.app.request('/open', { headers: { cookie } })).status).toBe(200)
    },
  )

  test('a session ends when its token expires', async () => {
    const api = await sessionApp()
    const { cookie } = await signedIn(api, { ...CLAIMS, exp: START + HOUR_MS })
    api.clock.now += HOUR_MS + 6_000
    const answer = await api.app.request('/user', { headers: { cookie } })
    expect([answer.status, isCleared(answer)]).toEqual([401, true])
  })

  test('if the keys that verify tokens cannot be loaded, a request with a session gets 503 and the cookie is kept', async () => {
    const api = await sessionApp()
    const { cookie } = await signedIn(api)
    // The API may use the loaded keys for an hour. Then it must load them again, but the provider cannot be reached.
    api.clock.now += HOUR_MS / 2
    api.published.keys.length = 0
    const load = Object.getOwnPropertyDescriptor(api.published, 'keys')!
    Object.defineProperty(api.published, 'keys', {
      get: () => {
        throw new Error('unavailable')
      },
    })
    api.clock.now += HOUR_MS / 2 + 1
    const answer = await api.app.request('/user', { headers: { cookie } })
    expect([answer.status, answer.headers.get('set-cookie')]).toEqual([503, null])
    Object.defineProperty(api.published, 'keys', load)
  })

  test('a request with a session cookie does not get an answer that is cached for anonymous callers', async () => {
    const api = await sessionApp({ reusableUntil: START + HOUR_MS })
    const server = await startServer({ ...api, host: '127.0.0.1', port: 0, now: () => api.clock.now })
    onTestFinished(async () => void (await server.close(0)))
    const get = (headers: Record<string, string>) =>
      new Promise<number>((resolve, reject) => {
        httpRequest(`${server.url}/cached`, { headers }, (answer) => {
          answer.resume().on('end', () => resolve(answer.statusCode!))
        })
          .on('error', reject)
          .end()
      })
    expect(await get({})).toBe(200)
    expect(api.answers.get('/cached', START)).toBeDefined()
    expect(await get({ cookie: 'millrace-session=x' })).toBe(401)
    expect(await get({ cookie: 'another=x' })).toBe(200)
  })
})

describe('the endpoint of the session', () => {
  test('a page can read whether a user is signed in, and gets the CSRF token again', async () => {
    const api = await sessionApp()
    expect((await api.app.request(PATH, { headers: OWN_PAGE })).status).toBe(204)
    const { cookie, session } = await signedIn(api)
    const answer = await api.app.request(PATH, { headers: { cookie, ...OWN_PAGE } })
    expect([answer.status, answer.headers.get('cache-control'), await answer.json()]).toEqual([200, 'private, no-store', session])
    // A bearer token does not count as a session.
    expect((await api.app.request(PATH, { headers: await api.bearer({ sub: '1' }) })).status).toBe(204)
  })

  test('signing out deletes the cookie', async () => {
    const api = await sessionApp()
    const { cookie, csrf } = await signedIn(api)
    const headers = { cookie, ...OWN_PAGE }
    const careless = await api.app.request(PATH, { method: 'DELETE', headers })
    expect([careless.status, isCleared(careless)]).toEqual([403, false])
    const answer = await api.app.request(PATH, { method: 'DELETE', headers: { ...headers, 'x-csrf-token': csrf } })
    expect([answer.status, isCleared(answer)]).toEqual([204, true])
  })

  test('signing out deletes the cookie even if the keys that verify tokens cannot be loaded', async () => {
    const api = await sessionApp()
    const { cookie, csrf } = await signedIn(api)
    Object.defineProperty(api.published, 'keys', {
      get: () => {
        throw new Error('unavailable')
      },
    })
    api.clock.now += HOUR_MS + 1
    const signOut = async (headers: Record<string, string>) =>
      await api.app.request(PATH, { method: 'DELETE', headers: { cookie, ...OWN_PAGE, ...headers } })
    const careless = await signOut({})
    expect([careless.status, isCleared(careless)]).toEqual([403, false])
    const answer = await signOut({ 'x-csrf-token': csrf })
    expect([answer.status, isCleared(answer)]).toEqual([204, true])
  })

  test('no log line contains a token, its cookie, or the CSRF token', async () => {
    const api = await sessionApp()
    const { token, cookie, csrf } = await signedIn(api)
    await api.app.request('/things', { method: 'POST', headers: { cookie, 'x-csrf-token': csrf } })
    await api.app.request('/things', { method: 'POST', headers: { cookie } })
    await api.app.request('/user', { headers: { cookie: `${cookie}x` } })
    const bad = await signIn(api, `${token}x`)
    const written = `${JSON.stringify(api.lines)}${await bad.text()}`
    expect(api.lines.length).toBeGreaterThan(4)
    for (const secret of [token.split('.')[2], token.split('.')[1], csrf]) expect(written).not.toContain(secret)
  })
})
