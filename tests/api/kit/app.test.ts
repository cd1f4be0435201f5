import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { jsonAnswer } from '../../../api/kit/answer.ts'
import { errors } from '../../../api/kit/errors.ts'
import type { RequestLimits } from '../../../api/kit/rate-limits.ts'
import { bind } from '../../../api/kit/route.ts'
import type { ServiceRoutes } from '../../../api/kit/service-routes.ts'
import { echoService, INTERNAL_DETAIL } from './echo-service.ts'
import { testApp } from './harness.ts'

const JSON_HEADERS = { 'content-type': 'application/json' }

async function echoApp(options: Parameters<typeof testApp>[0] = {}) {
  return await testApp({ services: [echoService()], ...options })
}

async function failureOf(response: Response | Promise<Response>) {
  const answered = await response
  return { status: answered.status, headers: answered.headers, body: (await answered.json()) as Record<string, unknown> }
}

describe('every answer', () => {
  test('carries the given request id, or a new one if the given id is malformed', async () => {
    const { app } = await echoApp()
    const given = await app.request('/open', { headers: { 'x-request-id': 'trace:7f.a_B-1' } })
    expect(given.headers.get('x-request-id')).toBe('trace:7f.a_B-1')
    for (const unfit of ['has space', 'ü', 'x'.repeat(129), '<script>']) {
      const answered = await app.request('/open', { headers: { 'x-request-id': unfit.replace('ü', '%') } })
      expect(answered.headers.get('x-request-id')).toMatch(/^[0-9a-f]{8}-[0-9a-f-]{27}$/)
    }
  })

  test('has security and CORS headers, even if the answer is an error', async () => {
    const { app } = await echoApp()
    for (const path of ['/open', '/nothing', '/broken']) {
      const { headers } = await app.request(path)
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('access-control-allow-origin')).toBe('*')
      expect(headers.get('access-control-expose-headers')).toContain('X-Request-Id')
      expect(headers.get('content-security-policy')).toContain("default-src 'none'")
      expect(headers.get('cache-control')).toBe('no-store')
    }
  })

  test('is logged once with its id, route and status, and counted by route, not by address', async () => {
    const { app, lines, metrics } = await echoApp()
    await app.request('/items/one/detail', { headers: { 'x-request-id': 'r1' } })
    await app.request('/items/two/detail')
    await app.request('/nothing/here')
    expect(lines.filter((line) => line.event === 'request_completed')).toHaveLength(3)
    expect(lines[0]).toMatchObject({
      level: 'info',
      event: 'request_completed',
      request_id: 'r1',
      method: 'GET',
      route: '/items/{name}/detail',
      status: 200,
    })
    const text = await metrics.text()
    expect(text).toContain('http_request_duration_seconds_count{method="GET",route="/items/{name}/detail",status="200"} 2')
    expect(text).toContain('http_request_duration_seconds_count{method="GET",route="(none)",status="404"} 1')
    expect(text).toContain('http_errors_total{code="not_found"} 1')
    expect(text).not.toContain('/nothing/here')
  })
})

describe('input', () => {
  test('the parameters of a query are converted to their types, and missing ones get their defaults', async () => {
    const { app } = await echoApp()
    expect(await (await app.request('/query')).json()).toEqual({ size: 7, flag: false })
    expect(await (await app.request('/query?size=30&flag=true&other=1')).json()).toEqual({ size: 30, flag: true })
  })

  test.each(['size=0', 'size=31', 'size=-1', 'size=5.0', 'size=1e1', 'size=', 'size=%205', 'size=07', `size=${'9'.repeat(40)}`])(
    '%s is refused, and details name the parameter',
    async (query) => {
      const { app } = await echoApp()
      const { status, body } = await failureOf(app.request(`/query?${query}`))
      expect(status).toBe(400)
      expect(body).toMatchObject({
        error: 'invalid_request',
        details: [{ path: 'query.size', message: 'must be an integer from 1 to 30' }],
      })
    },
  )

  test('a parameter that is given twice is refused for that reason, although both values are valid', async () => {
    const { app } = await echoApp()
    const { status, body } = await failureOf(app.request('/query?size=1&size=2&flag=true&flag=true'))
    expect(status).toBe(400)
    const message = 'must be given once'
    expect(body.details).toEqual([
      { path: 'query.size', message },
      { path: 'query.flag', message },
    ])
  })

  test('all invalid parameters are reported', async () => {
    const { app } = await echoApp()
    const { body } = await failureOf(app.request('/query?size=x&flag=yes'))
    expect((body.details as { path: string }[]).map((detail) => detail.path)).toEqual(['query.size', 'query.flag'])
  })

  test.each([
    ['AC%2FDC', 'AC/DC'],
    ['100%25', '100%'],
    ['%2525', '%25'],
    ['caf%C3%A9', 'café'],
    ['a+b', 'a+b'],
    ['%23x', '#x'],
  ])('the path segment %s is read as %s', async (sent, read) => {
    const { app } = await echoApp()
    expect(await (await app.request(`/items/${sent}/detail`)).json()).toEqual({ name: read })
  })

  test.each(['/items/%FF/detail', '/items/a%00b/detail', '/query?size=%C3%28', '/query?size=%00', '/nothing/%E0%A4'])(
    '%s is refused with invalid_encoding, because it has NUL or is not well-formed UTF-8',
    async (path) => {
      const { app } = await echoApp()
      expect(await failureOf(app.request(path))).toMatchObject({ status: 400, body: { error: 'invalid_encoding' } })
    },
  )

  test('a body is validated and typed, and unknown fields are dropped', async () => {
    const { app } = await echoApp()
    const send = (body: unknown) => app.request('/items/a', { method: 'PUT', headers: JSON_HEADERS, body: JSON.stringify(body) })
    expect(await (await send({ text: 'x', more: 1 })).json()).toEqual({ text: 'x' })
    const wrong = await failureOf(send({ text: 1, numbers: [1, 'two'] }))
    expect(wrong.status).toBe(400)
    expect((wrong.body.details as { path: string }[]).map((detail) => detail.path)).toEqual(['body.text', 'body.numbers[1]'])
  })

  test.each([
    ['invalid JSON', JSON_HEADERS, '{"text":', 400, 'invalid_request'],
    ['an empty body', JSON_HEADERS, '', 400, 'invalid_request'],
    ['invalid UTF-8', JSON_HEADERS, Buffer.from([0x22, 0xff, 0x22]), 400, 'invalid_encoding'],
    ['an escaped NUL', JSON_HEADERS, '{"text":"a\\u0000b"}', 400, 'invalid_encoding'],
    ['a NUL in a name', JSON_HEADERS, '{"text":"a","\\u0000":1}', 400, 'invalid_encoding'],
    ['a lone surrogate', JSON_HEADERS, '{"text":"\\ud800"}', 400, 'invalid_encoding'],
    ['too many bytes', JSON_HEADERS, JSON.stringify({ text: 'x'.repeat(64) }), 413, 'content_too_large'],
    ['another type', { 'content-type': 'text/plain' }, '{"text":"x"}', 415, 'unsupported_media_type'],
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }, 'text=x', 415, 'unsupported_media_type'],
    ['another charset', { 'content-type': 'application/json; charset=latin1' }, '{"text":"x"}', 415, 'unsupported_media_type'],
    ['a compressed body', { ...JSON_HEADERS, 'content-encoding': 'gzip' }, gzipSync('{"text":"x"}'), 415, 'unsupported_media_type'],
    ['the coding identity', { ...JSON_HEADERS, 'content-encoding': 'Identity' }, '{"text":"x"}', 200, undefined],
    ['a type with the suffix +json', { 'content-type': 'application/merge-patch+json; charset="UTF-8"' }, '{"text":"x"}', 200, undefined],
  ])('the status and the error code of a request depend on its body and media type: %s', async (_what, headers, body, status, code) => {
    const { app } = await echoApp()
    const answered = await app.request('/items/a', { method: 'PUT', headers: headers as Record<string, string>, body })
    expect(answered.status).toBe(status)
    expect(((await answered.json()) as { error?: string }).error).toBe(code)
  })

  test('the answer to a compressed body says that the body must not be compressed', async () => {
    const { app } = await echoApp()
    const headers = { ...JSON_HEADERS, 'content-encoding': 'br' }
    const refused = await failureOf(app.request('/items/a', { method: 'PUT', headers, body: 'x' }))
    expect(refused.headers.get('accept-encoding')).toBe('identity')
    expect(refused.body.message).toContain('Content-Encoding')
  })

  test('a body that arrives too slowly fails with request_timeout', async () => {
    const { app } = await echoApp({ bodyTimeoutMs: 20 })
    const slow = new ReadableStream({ start: (controller) => controller.enqueue(Buffer.from('{"te')) })
    const request = new Request('http://localhost/items/a', {
      method: 'PUT',
      headers: JSON_HEADERS,
      body: slow,
      duplex: 'half',
    } as RequestInit)
    expect(await failureOf(app.request(request))).toMatchObject({ status: 408, body: { error: 'request_timeout' } })
  })
})

describe('addresses and methods', () => {
  test('an unknown path gets 404, and a method that the path does not allow gets 405 with Allow', async () => {
    const { app } = await echoApp()
    expect(await failureOf(app.request('/items'))).toMatchObject({ status: 404, body: { error: 'not_found' } })
    expect(await failureOf(app.request('/items//detail'))).toMatchObject({ status: 404 })
    const other = await failureOf(app.request('/items/a/detail', { method: 'DELETE' }))
    expect(other).toMatchObject({ status: 405, body: { error: 'method_not_allowed' } })
    expect(other.headers.get('allow')).toBe('GET, HEAD, OPTIONS')
    expect((await app.request('/items/a', { method: 'GET' })).headers.get('allow')).toBe('OPTIONS, PUT')
  })

  test('a browser that opens a page with a trailing slash is redirected to the page, and other clients get 404', async () => {
    const { app } = await echoApp()
    const headers = { accept: 'text/html,*/*;q=0.8', 'sec-fetch-mode': 'navigate' }
    const redirect = await app.request('/open/?a=b', { headers })
    expect([redirect.status, redirect.headers.get('location')]).toEqual([308, '/open?a=b'])
    expect((await app.request('/open/', { method: 'POST', headers })).status).toBe(404)
    for (const path of ['//open/', '/open//', '/none/'])
      expect((await app.request(`http://localhost${path}`, { headers })).status).toBe(404)
    expect(await failureOf(app.request('/open/'))).toMatchObject({ status: 404, body: { error: 'not_found' } })
  })

  test('a browser that opens an unknown address, or one that does not allow GET, gets an error page', async () => {
    const { app } = await echoApp()
    const opened = async (path: string) => {
      const answer = await app.request(path, { headers: { accept: 'text/html' } })
      return [answer.status, answer.headers.get('content-type'), await answer.text()]
    }
    expect(await opened('/none')).toEqual([404, 'text/html; charset=utf-8', expect.stringContaining('There is nothing at this address.')])
    expect(await opened('/items/a')).toEqual([
      405,
      'text/html; charset=utf-8',
      expect.stringContaining('A browser cannot open this address.'),
    ])
  })

  test('an address with encoded letters accepts the same methods as the plain address', async () => {
    const { app } = await echoApp()
    expect((await app.request('/%6fpen')).status).toBe(200)
    expect((await app.request('/%6fpen', { method: 'POST' })).status).toBe(405)
    const preflight = { method: 'OPTIONS', headers: { 'access-control-request-method': 'GET' } }
    expect((await app.request('/%6fpen', preflight)).status).toBe(204)
    expect((await app.request('/items/a%2Fb', { method: 'OPTIONS' })).headers.get('allow')).toBe('OPTIONS, PUT')
  })

  test('HEAD answers as GET does, without a body', async () => {
    const { app } = await echoApp()
    const head = await app.request('/cached', { method: 'HEAD' })
    expect(head.status).toBe(200)
    expect(await head.text()).toBe('')
    expect(head.headers.get('etag')).toMatch(/^"[\w-]{22}"$/)
    expect((await app.request('/items/a', { method: 'HEAD' })).status).toBe(405)
  })

  test('OPTIONS answers preflight requests, and lists the allowed methods for all other requests', async () => {
    const { app } = await echoApp()
    const preflight = await app.request('/items/a', {
      method: 'OPTIONS',
      headers: { origin: 'https://page.example', 'access-control-request-method': 'PUT' },
    })
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get('access-control-allow-methods')).toBe('OPTIONS, PUT')
    expect(preflight.headers.get('access-control-allow-headers')).toContain('Authorization')
    expect(preflight.headers.get('access-control-max-age')).toBe('7200')
    const plain = await app.request('/open', { method: 'OPTIONS' })
    expect([plain.status, plain.headers.get('allow'), plain.headers.get('access-control-allow-methods')]).toEqual([
      204,
      'GET, HEAD, OPTIONS',
      null,
    ])
    expect((await app.request('/nothing', { method: 'OPTIONS' })).status).toBe(404)
  })
})

describe('failures', () => {
  test('an unexpected error gets 500 without details, and is logged with the request id', async () => {
    const { app, lines } = await echoApp()
    const { status, body } = await failureOf(app.request('/broken', { headers: { 'x-request-id': 'r9' } }))
    expect([status, body]).toEqual([500, { error: 'internal_error', message: errors.internal_error.message, request_id: 'r9' }])
    expect(JSON.stringify(body)).not.toContain(INTERNAL_DETAIL)
    expect(lines.find((line) => line.event === 'request_failed')).toMatchObject({ level: 'error', request_id: 'r9', route: '/broken' })
  })

  test('a 503 says when to retry, and contains the command id', async () => {
    const { app } = await echoApp()
    const { status, headers, body } = await failureOf(app.request('/busy'))
    expect([status, headers.get('retry-after'), body.error, body.command_id]).toEqual([503, '3', 'unavailable', 'c-1'])
  })

  test('a request whose handler exceeds the time limit gets 503', async () => {
    const { app } = await echoApp()
    const { status, headers, body } = await failureOf(app.request('/endless'))
    expect([status, headers.get('retry-after'), body.error]).toEqual([503, '1', 'unavailable'])
  })
})

describe('caching', () => {
  test.each(['same', 'weak', 'listed', '*'])('a matching If-None-Match (%s) gets a 304 with the required headers', async (form) => {
    const etag = (await (await echoApp()).app.request('/cached')).headers.get('etag')!
    const sent = { same: etag, weak: `W/${etag}`, listed: `"other", ${etag}`, '*': '*' }[form]!
    const answered = await (await echoApp()).app.request('/cached', { headers: { 'if-none-match': sent } })
    expect([answered.status, await answered.text()]).toEqual([304, ''])
    expect(answered.headers.get('cache-control')).toBe('public, max-age=60')
    expect(answered.headers.get('vary')).toBe('Accept')
    expect(answered.headers.get('etag')).toBe(etag)
    expect(answered.headers.get('content-type')).toBeNull()
  })

  test('a request with a tag that no longer matches gets 200 with the new body', async () => {
    const { app } = await echoApp()
    const first = await app.request('/cached')
    const second = await app.request('/cached', { headers: { 'if-none-match': first.headers.get('etag')! } })
    expect([second.status, await second.json()]).toEqual([200, { run: 2 }])
    expect(second.headers.get('etag')).not.toBe(first.headers.get('etag'))
  })
})

describe('operations', () => {
  test('/livez succeeds while parts are missing, and /readyz lists these parts without reasons', async () => {
    const state = { redis: 'no connection' as string | undefined }
    const probes = [
      { name: 'redis', check: async () => state.redis },
      { name: 'kafka', check: () => Promise.reject(new Error('refused')) },
      { name: 'view', check: () => new Promise<undefined>(() => undefined) },
      { name: 'fine', check: async () => undefined },
      { name: 'history', optional: true, check: async () => 'no answer' },
    ]
    const { app } = await testApp({ probes })
    expect((await app.request('/livez')).status).toBe(200)
    const { status, headers, body } = await failureOf(app.request('/readyz'))
    expect([status, headers.get('retry-after'), body.error]).toEqual([503, '1', 'not_ready'])
    expect(body.missing).toEqual([{ name: 'redis' }, { name: 'kafka' }, { name: 'view' }])
    expect(body.degraded).toEqual([{ name: 'history' }])
  })

  test('a process is ready without an optional part until it starts draining', async () => {
    const { app, readiness } = await testApp({ probes: [{ name: 'history', optional: true, check: async () => 'gone' }] })
    const ready = await app.request('/readyz')
    expect([ready.status, await ready.json()]).toEqual([200, { status: 'ready', degraded: [{ name: 'history' }] }])
    readiness.startDraining()
    const { status, body } = await failureOf(app.request('/readyz'))
    expect([status, body.missing]).toEqual([503, [{ name: 'process' }]])
    expect((await app.request('/livez')).headers.get('connection')).toBe('close')
  })

  test('/metrics is not public', async () => {
    const { app } = await testApp()
    expect((await app.request('/metrics')).status).toBe(404)
  })
})

test('each service defines the form of its user ids, and on an unknown path, rate limits count users whose ids have the form of any service', async () => {
  const counted: (string | undefined)[] = []
  const limits: RequestLimits = {
    covers: () => true,
    async admit({ userId }) {
      counted.push(userId)
      return { caller: { clientId: 'c', tier: 'free', ip: '' }, headers: {}, refusal: undefined }
    },
  }
  const uuid = '5f0c2a44-6d1e-4b5a-9d57-0a4f2c9f1b11'
  const definition = {
    ...echoService().routes.find((route) => route.definition.path === '/user')!.definition,
    path: '/by-uuid',
    operationId: 'u',
  }
  const byUuid: ServiceRoutes = {
    ...echoService(),
    name: 'by uuid',
    isUserId: (subject) => /^[0-9a-f-]{36}$/.test(subject),
    routes: [bind(definition, ({ caller }) => jsonAnswer(200, caller!.subject))],
  }
  const { app, bearer } = await echoApp({ services: [echoService(), byUuid], limits })
  const status = async (path: string, sub: string) => (await app.request(path, { headers: await bearer({ sub }) })).status
  expect([await status('/user', '42'), await status('/by-uuid', '42')]).toEqual([200, 403])
  expect([await status('/user', uuid), await status('/by-uuid', uuid)]).toEqual([403, 200])
  expect([await status('/nothing', uuid), await status('/nothing', 'somebody')]).toEqual([404, 404])
  expect(counted).toEqual(['42', undefined, undefined, uuid, uuid, undefined])
})
