import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { z } from '@hono/zod-openapi'
import { expect, onTestFinished, test } from 'vitest'
import { type Answer, cacheableText, JSON_TYPE, jsonAnswer } from '../../../api/kit/answer.ts'
import { isDecimalUserId } from '../../../api/kit/auth/authorize.ts'
import { DirectCall } from '../../../api/kit/call.ts'
import { directRoutes, type ServeCall } from '../../../api/kit/direct-routes.ts'
import { ApiError, errors } from '../../../api/kit/errors.ts'
import type { RequestLimits } from '../../../api/kit/rate-limits.ts'
import { bind, defineRoute } from '../../../api/kit/route.ts'
import { startServer } from '../../../api/kit/server.ts'
import { testApp } from './harness.ts'
import { raw } from './raw-request.ts'

const numbered = defineRoute({
  method: 'get',
  path: '/numbers/{number}',
  operationId: 'numbered',
  summary: 's',
  description: 'd',
  auth: { kind: 'optional' },
  isDirect: true,
  params: z.object({ number: z.string().regex(/^[1-9]\d{0,3}$/) }),
  answers: { 200: { description: 'ok', schema: z.unknown() } },
  errors: [errors.not_found],
})
const MAX_BODY_BYTES = 1_000
const BODY_TIMEOUT_MS = 300
const posted = defineRoute({
  method: 'post',
  path: '/texts',
  operationId: 'posted',
  summary: 's',
  description: 'd',
  auth: { kind: 'optional' },
  isDirect: true,
  streamed: { content: { 'text/plain': { schema: z.string() } }, timeoutMs: BODY_TIMEOUT_MS, isOptional: true },
  maxBodyBytes: MAX_BODY_BYTES,
  answers: { 200: { description: 'ok', schema: z.unknown() } },
  errors: [],
})
const postedInPieces = defineRoute({ ...posted, path: '/pieces', operationId: 'postedInPieces' })
const patched = defineRoute({
  method: 'patch',
  path: '/numbers/{number}',
  operationId: 'patched',
  summary: 's',
  description: 'd',
  auth: { kind: 'optional' },
  isDirect: true,
  params: numbered.params,
  body: z.strictObject({ text: z.string() }),
  maxBodyBytes: MAX_BODY_BYTES,
  answers: { 200: { description: 'ok', schema: z.unknown() } },
  errors: [],
})
const named = defineRoute({ ...numbered, path: '/numbers/first', operationId: 'named', isDirect: false, params: undefined })
const CACHING = { 'Content-Type': JSON_TYPE, 'Cache-Control': 'public, no-cache' }

function answerOf(number: string): Answer | Promise<Answer> {
  switch (number) {
    case '1':
      return jsonAnswer(200, { number })
    case '2':
      return cacheableText(JSON.stringify({ text: 'plain '.repeat(400) }), CACHING)
    case '3':
      return cacheableText(JSON.stringify({ text: 'größer '.repeat(400) }), CACHING)
    case '4':
      return Promise.reject(new Error('a fault'))
    case '5':
      return { status: 204, headers: {}, body: null }
    default:
      throw new ApiError(errors.not_found)
  }
}

/** Serves the same routes twice: directly, and only through the framework. */
async function served(limits?: RequestLimits) {
  const service = { name: 'numbers', description: '', errors: [], isUserId: isDecimalUserId, probes: [] }
  const routes = [
    bind(numbered, ({ params, log }) => {
      log.info({}, 'asked')
      return answerOf(params.number)
    }),
    bind(named, () => jsonAnswer(200, { number: 'first' })),
    bind(patched, ({ params, body }) => jsonAnswer(200, { ...params, ...body })),
    bind(posted, async ({ arriving }) =>
      jsonAnswer(200, { type: arriving!.contentType, text: Buffer.from(await arriving!.whole()).toString() }),
    ),
    bind(postedInPieces, async ({ arriving }) => jsonAnswer(200, Buffer.concat(await Array.fromAsync(arriving!.pieces)).toString())),
  ]
  const direct = directRoutes()
  const api = await testApp({ services: [{ ...service, routes }], limits, direct })
  const started: string[] = []
  const noted = {
    ...direct,
    start(request: Parameters<typeof direct.start>[0], response: Parameters<typeof direct.start>[1]) {
      const isStarted = direct.start(request, response)
      if (isStarted) started.push(request.url as string)
      return isStarted
    },
  }
  const common = { ...api, host: '127.0.0.1', port: 0, now: () => api.clock.now }
  const servers = [await startServer({ ...common, direct: noted }), await startServer({ ...common, direct: undefined })] as const
  onTestFinished(async () => void (await Promise.all(servers.map((server) => server.close(0)))))
  return { ...api, servers, started }
}

/** Returns what a client and the operators see of one request: the response and the log lines. */
async function seen({ lines }: { lines: Record<string, unknown>[] }, url: string, init: RequestInit) {
  lines.length = 0
  const response = await fetch(url, { ...init, headers: { 'x-request-id': 'mine', ...init.headers } })
  const headers = Object.fromEntries([...response.headers].filter(([name]) => name !== 'date'))
  const body = Buffer.from(await response.arrayBuffer()).toString()
  return { status: response.status, headers, body, lines: lines.map(({ time: _time, stack: _stack, ...line }) => line) }
}

test.each<[string, string, Record<string, string>]>([
  ['a text', '/numbers/1', {}],
  ['a long text', '/numbers/2', { 'accept-encoding': 'identity' }],
  ['a long text for a client that accepts gzip', '/numbers/2', { 'accept-encoding': 'gzip' }],
  ['a long text beyond ASCII', '/numbers/3', { 'accept-encoding': 'identity' }],
  ['a long text beyond ASCII for a client that accepts gzip', '/numbers/3', { 'accept-encoding': 'gzip' }],
  ['any tag', '/numbers/2', { 'if-none-match': '*' }],
  ['a handler that fails', '/numbers/4', {}],
  ['no body', '/numbers/5', {}],
  ['an unknown number', '/numbers/6', {}],
  ['a parameter that the route refuses', '/numbers/07', {}],
  ['a bad token', '/numbers/1', { authorization: 'Bearer x' }],
  ['a session that has ended', '/numbers/1', { cookie: 'millrace-session=x' }],
  ['a request id that is not accepted', '/numbers/6', { 'x-request-id': 'x'.repeat(129) }],
])('a direct answer equals the answer of the framework: %s', async (_what, path, headers) => {
  const api = await served()
  const [direct, framework] = [
    await seen(api, `${api.servers[0].url}${path}`, { headers }),
    await seen(api, `${api.servers[1].url}${path}`, { headers }),
  ]
  expect(api.started).toEqual([path])
  if (headers['x-request-id'] === undefined) expect(direct).toEqual(framework)
  else expect([direct.status, direct.headers['x-request-id']]).toEqual([404, expect.stringMatching(/^[\da-f-]{36}$/)])
  const status = new RegExp(`_count\\{method="GET",route="/numbers/\\{number\\}",status="${direct.status}"\\} 2`)
  expect(await api.metrics.text()).toMatch(status)
})

test.each([
  ['GET', '/numbers/first'],
  ['GET', '/numbers/1?x=2'],
  ['GET', '/numbers/1a'],
  ['GET', '/numbers/%31'],
  ['GET', '/numbers/1/'],
  ['GET', '/other/1'],
  ['HEAD', '/numbers/1'],
  ['POST', '/numbers/1'],
])('the framework handles %s %s', async (method, path) => {
  const api = await served()
  const [first, second] = [
    await seen(api, `${api.servers[0].url}${path}`, { method }),
    await seen(api, `${api.servers[1].url}${path}`, { method }),
  ]
  expect(first).toEqual(second)
  expect(api.started).toEqual([])
})

test.each<[string, string, string, Record<string, string>]>([
  ['a body', '/texts', 'größer', {}],
  ['the largest body', '/texts', 'x'.repeat(MAX_BODY_BYTES), {}],
  ['no body', '/texts', '', {}],
  ['a body in pieces', '/pieces', 'größer', {}],
  ['a bad token, before the body is read', '/texts', 'abc', { authorization: 'Bearer x' }],
])('a direct answer to a POST equals the answer of the framework: %s', async (_what, path, body, headers) => {
  const api = await served()
  const init = { method: 'POST', body, headers: { 'content-type': 'text/plain', ...headers } }
  const [direct, framework] = [await seen(api, `${api.servers[0].url}${path}`, init), await seen(api, `${api.servers[1].url}${path}`, init)]
  expect(direct).toEqual(framework)
  expect(api.started).toEqual([path])
})

test.each<[string, string, Record<string, string>, number]>([
  ['a body', '{"text":"größer"}', {}, 200],
  ['a body that is not JSON', '{"text":', {}, 400],
  ['a body that the route refuses', '{"text":1}', {}, 400],
  ['no body', '', {}, 400],
  ['another type', '{"text":"a"}', { 'content-type': 'text/plain' }, 415],
  ['a bad token, before the body is read', '{', { authorization: 'Bearer x' }, 401],
])('a direct answer to a PATCH equals the answer of the framework: %s', async (_what, body, headers, status) => {
  const api = await served()
  const init = { method: 'PATCH', body, headers: { 'content-type': 'application/json', ...headers } }
  const [direct, framework] = [
    await seen(api, `${api.servers[0].url}/numbers/7`, init),
    await seen(api, `${api.servers[1].url}/numbers/7`, init),
  ]
  expect(direct).toEqual(framework)
  expect(direct.status).toBe(status)
  expect(api.started).toEqual(['/numbers/7'])
})

test.each<[string, string, string, string, number]>([
  ['a query', '/numbers/7?x=2', 'Content-Length: 12\r\n', '{"text":"a"}', 200],
  ['a parameter that is not a number', '/numbers/a', 'Content-Length: 12\r\n', '{"text":"a"}', 400],
  ['a body that is too large', '/numbers/7', `Content-Length: ${MAX_BODY_BYTES + 1}\r\n`, 'x'.repeat(MAX_BODY_BYTES + 1), 413],
  ['a body of unknown length', '/numbers/7', 'Transfer-Encoding: chunked\r\n', 'c\r\n{"text":"a"}\r\n0\r\n\r\n', 200],
])('the framework handles a PATCH with %s', async (_what, path, more, body, status) => {
  const api = await served()
  const head = `PATCH ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n`
  expect(await raw(api.servers[0], `${head}${more}\r\n${body}`)).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
  expect(api.started).toEqual([])
})

test.each<[string, string, string, number]>([
  ['a body that is too large', `Content-Length: ${MAX_BODY_BYTES + 1}\r\n`, 'x'.repeat(MAX_BODY_BYTES + 1), 413],
  ['a body of unknown length', 'Transfer-Encoding: chunked\r\n', '3\r\nabc\r\n0\r\n\r\n', 200],
  ['two types', 'Content-Type: text/plain\r\ncontent-type: text/html\r\nContent-Length: 3\r\n', 'abc', 200],
])('the framework handles a POST with %s', async (_what, more, body, status) => {
  const api = await served()
  const text = await raw(api.servers[0], `POST /texts HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${more}\r\n${body}`)
  expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
  expect(api.started).toEqual([])
})

test('a direct POST waits for the rest of its body, and refuses a body that arrives too late', async () => {
  const api = await served()
  const head = 'POST /texts HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n'
  const whole = await raw(api.servers[0], `${head}Connection: close\r\n\r\nabc`, async () => {
    await expect.poll(() => api.started).toHaveLength(1)
    return 'def'
  })
  expect(JSON.parse(whole.slice(whole.indexOf('{')))).toEqual({ text: 'abcdef' })
  expect(await raw(api.servers[0], `${head}Connection: close\r\n\r\nabc`)).toMatch(/^HTTP\/1\.1 408 /)
  expect(api.started).toEqual(['/texts', '/texts'])
})

test('direct POSTs on the same connection get their responses in order', async () => {
  const api = await served()
  const ask = (body: string, more = '') => `POST /texts HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n${more}\r\n${body}`
  const unread = ask('unread', 'Authorization: Bearer x\r\n')
  const text = await raw(api.servers[0], ask('first') + unread + ask('') + ask('last', 'Connection: close\r\n'))
  expect([...text.matchAll(/"text":"(\w*)"|HTTP\/1\.1 (401)/g)].map(([, body, status]) => body ?? status)).toEqual([
    'first',
    '401',
    '',
    'last',
  ])
})

test('rate limits count and refuse direct calls, and add their headers to the responses', async () => {
  const asked: object[] = []
  const limits: RequestLimits = {
    covers: () => true,
    async admit(request) {
      asked.push(request)
      const caller = { clientId: 'a', tier: 'free', ip: '127.0.0.1' }
      return {
        caller,
        headers: { 'X-RateLimit-Limit': '1' },
        refusal: asked.length > 2 ? new ApiError(errors.rate_limit_exceeded) : undefined,
      }
    },
  }
  const api = await served(limits)
  const headers = { 'x-api-key': 'k', 'x-forwarded-for': '203.0.113.9', ...(await api.bearer({ sub: '7' })) }
  for (const server of api.servers) await fetch(`${server.url}/numbers/1`, { headers })
  expect(asked[0]).toEqual(asked[1])
  expect(asked[0]).toMatchObject({
    path: '/numbers/1',
    apiKey: 'k',
    forwardedFor: '203.0.113.9',
    remote: '127.0.0.1',
    userId: '7',
    units: 1,
  })
  const refused = await fetch(`${api.servers[0].url}/numbers/1`)
  expect([refused.status, refused.headers.get('x-ratelimit-limit')]).toEqual([429, '1'])
})

test('a direct answer closes its connection while the server is being drained', async () => {
  const api = await served()
  api.readiness.startDraining()
  expect((await fetch(`${api.servers[0].url}/numbers/1`)).headers.get('connection')).toBe('close')
})

test.each([
  ['two tokens', 'Host: x', 'authorization: Bearer a\r\nAuthorization: Bearer b\r\n', 401],
  ['a host that contains invalid characters', 'Host: a b<c>', '', 400],
  ['a host with an unknown port', 'Host: x:99999', '', 400],
  ['no host', 'X-Nothing: 1', '', 200],
])('a request with %s gets no direct answer', async (_what, host, more, status) => {
  const api = await served()
  const version = host.startsWith('Host') ? '1.1' : '1.0'
  const text = await raw(api.servers[0], `GET /numbers/1 HTTP/${version}\r\n${host}\r\n${more}Connection: close\r\n\r\n`)
  expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
  expect(api.started).toEqual([])
})

test('requests on the same connection get their responses in order, even if their bodies are not read', async () => {
  const api = await served()
  const ask = (number: number, more: string, body = '') => `GET /numbers/${number} HTTP/1.1\r\nHost: x\r\n${more}\r\n${body}`
  const text = await raw(api.servers[0], ask(3, 'Content-Length: 3\r\n', 'abc') + ask(1, '') + ask(6, 'Connection: close\r\n'))
  expect([...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual(['200', '200', '404'])
  expect(api.started).toEqual(['/numbers/3', '/numbers/1', '/numbers/6'])
})

test('a direct GET or PATCH route is refused unless its path ends with its only parameter, and a direct POST route if its path has any', () => {
  const serve = async () => ({ status: 200, headers: {}, body: null })
  for (const path of ['/a', '/a/{b}/c', '/a/{b}/{c}']) {
    expect(() => directRoutes().addGet(path, serve)).toThrow(/only parameter/)
    expect(() => directRoutes().addPatch(path, serve, 1)).toThrow(/only parameter/)
  }
  expect(() => directRoutes().addPost('/a/{b}', serve, 1)).toThrow(/parameters/)
})

test('a Host header that makes the address an invalid URL does not end the process', async () => {
  const api = await served()
  const ask = (path: string, more: string) =>
    raw(api.servers[0], `GET ${path} HTTP/1.1\r\nHost: 1.2.3.4.5\r\n${more}Connection: close\r\n\r\n`)
  expect(await ask('/numbers/1', '')).toMatch(/^HTTP\/1\.1 200 /)
  // A request from a page of another origin is anonymous, even with a session cookie.
  expect(await ask('/numbers/1', 'Cookie: millrace-session=x\r\nOrigin: http://a\r\n')).toMatch(/^HTTP\/1\.1 200 /)
  expect(await ask('/numbers/1', 'Cookie: millrace-session=x\r\n')).toMatch(/^HTTP\/1\.1 401 /)
  expect(api.started).toEqual(['/numbers/1', '/numbers/1', '/numbers/1'])
  expect(await ask('/nothing', '')).toMatch(/^HTTP\/1\.1 400 /)
})

test('an error while a call is being read leads to a 500, because a rejection would end the process', async () => {
  const serves: ServeCall[] = []
  const service = { name: 'numbers', description: '', errors: [], isUserId: isDecimalUserId, probes: [] }
  const direct = { ...directRoutes(), addGet: (_path: string, serve: ServeCall) => void serves.push(serve) }
  await testApp({ services: [{ ...service, routes: [bind(numbered, () => jsonAnswer(200, {}))] }], direct })
  const broken = new Proxy(new DirectCall({ url: '/numbers/1', headers: {}, socket: {} } as IncomingMessage, {}), {
    get(call, name) {
      if (name === 'header') return (header: string) => (header === 'cookie' ? assert.fail('a fault') : undefined)
      return Reflect.get(call, name, call)
    },
  })
  expect((await serves[0](broken)).status).toBe(500)
})
