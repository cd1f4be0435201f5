import { once } from 'node:events'
import { connect } from 'node:net'
import { Registry } from 'prom-client'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { addressRanges } from '../../../api/kit/client-address.ts'
import { type ConnectionGate, connectionGate } from '../../../api/kit/connections.ts'
import { bind, defineRoute } from '../../../api/kit/route.ts'
import { type FrontHandler, startServer } from '../../../api/kit/server.ts'
import { echoService } from './echo-service.ts'
import { START, testApp } from './harness.ts'
import { raw } from './raw-request.ts'

async function served(
  state: { runs: number; reusableUntil?: number } = { runs: 0 },
  limits = {},
  app: { bodyTimeoutMs?: number } = {},
  connections?: ConnectionGate,
  front?: FrontHandler,
) {
  const api = await testApp({ services: [echoService(state)], ...app })
  const server = await startServer({ ...api, host: '127.0.0.1', port: 0, now: () => api.clock.now, limits, connections, front })
  onTestFinished(() => server.close(0).then(() => undefined))
  return { ...api, server, state }
}

test('a cached response has the same bytes, and the handler does not run', async () => {
  const { server, state, clock, metrics } = await served({ runs: 0, reusableUntil: START + 1_000 })
  const first = await fetch(`${server.url}/cached`)
  const second = await fetch(`${server.url}/cached`, { headers: { 'x-request-id': 'mine' } })
  expect([await first.json(), await second.json(), state.runs]).toEqual([{ run: 1 }, { run: 1 }, 1])
  const comparable = (response: Response) =>
    [...response.headers].filter(([name]) => !['date', 'x-request-id', 'connection', 'keep-alive'].includes(name)).sort()
  expect(comparable(second)).toEqual(comparable(first))
  expect(second.headers.get('x-request-id')).toBe('mine')
  const unchanged = await fetch(`${server.url}/cached`, { headers: { 'if-none-match': first.headers.get('etag')! } })
  expect([unchanged.status, await unchanged.text(), unchanged.headers.get('cache-control')]).toEqual([304, '', 'public, max-age=60'])
  expect(await metrics.text()).toContain('http_answers_reused_total 2')
  clock.now += 1_000
  expect(await (await fetch(`${server.url}/cached`)).json()).toEqual({ run: 2 })
})

test('a request with a token, a HEAD request, or a request for another target never gets a cached answer', async () => {
  const { server, state, bearer } = await served({ runs: 0, reusableUntil: START + 1_000 })
  await fetch(`${server.url}/cached`)
  await fetch(`${server.url}/cached`, { headers: await bearer({ sub: '1' }) })
  expect((await fetch(`${server.url}/cached`, { headers: { authorization: 'Bearer x' } })).status).toBe(401)
  await fetch(`${server.url}/cached`, { method: 'HEAD' })
  await fetch(`${server.url}/cached?x`)
  expect(state.runs).toBe(4)
})

test('an answer to a request with a token is never cached', async () => {
  const { server, bearer } = await served({ runs: 0, reusableUntil: START + 1_000 })
  await fetch(`${server.url}/cached`, { headers: await bearer({ sub: '1' }) })
  expect(await (await fetch(`${server.url}/cached`)).json()).toEqual({ run: 2 })
})

test.each([
  ['bytes that are not HTTP', 'hello\r\n\r\n', 400, 'invalid_request'],
  ['too many header bytes', `GET / HTTP/1.1\r\nHost: x\r\nX-Big: ${'x'.repeat(20_000)}\r\n\r\n`, 431, 'headers_too_large'],
  ['bytes outside ASCII in its path', 'GET /items/café/detail HTTP/1.1\r\nHost: x\r\n\r\n', 400, 'invalid_request'],
  ['a path with dots', 'GET /a/../open HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 200, undefined],
  ['no host', 'GET /open HTTP/1.0\r\n\r\n', 200, undefined],
  ['no host in HTTP/1.1', 'GET /open HTTP/1.1\r\n\r\n', 400, 'invalid_request'],
  ['an unknown expectation', 'GET /open HTTP/1.1\r\nHost: x\r\nExpect: x\r\nConnection: close\r\n\r\n', 200, undefined],
  ['TRACE', 'TRACE /open HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 405, 'method_not_allowed'],
  ['a malformed host', 'GET /open HTTP/1.1\r\nHost: a b<c>\r\nConnection: close\r\n\r\n', 400, 'invalid_request'],
  [
    'a streamed body and a host that makes the address an invalid URL',
    'PUT /items/a HTTP/1.1\r\nHost: 1.2.3.4.5\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\nc\r\n{"text":"y"}\r\n0\r\n\r\n',
    400,
    'invalid_request',
  ],
  ['a target without a leading slash', 'GET open HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 400, 'invalid_request'],
])('a request with %s gets an answer in the documented form', async (_what, bytes, status, code) => {
  const { server } = await served()
  const text = await raw(server, bytes)
  expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
  if (code !== undefined) expect(text).toContain(`"error":"${code}"`)
  expect(text.toLowerCase()).toContain('x-request-id: ')
})

test('bytes that are not HTTP do not lead to a second answer in the middle of the first one', async () => {
  const api = await testApp({ services: [echoService({ runs: 0 })] })
  const server = await startServer({
    ...api,
    host: '127.0.0.1',
    port: 0,
    now: () => START,
    front: (_request, response) => response.writeHead(200, { 'content-length': '100' }).write('the beginning'),
  })
  onTestFinished(() => server.close(0).then(() => undefined))
  const text = await raw(server, 'GET / HTTP/1.1\r\nHost: x\r\n\r\nhello\r\n\r\n')
  expect(text).not.toContain('invalid_request')
})

test('headers that arrive too slowly fail with request_timeout', async () => {
  const { server } = await served({ runs: 0 }, { headersTimeoutMs: 50, requestTimeoutMs: 100, checkIntervalMs: 20 })
  expect(await raw(server, 'GET / HTTP/1.1\r\nHost')).toMatch(/^HTTP\/1\.1 408 [\s\S]*"error":"request_timeout"/)
})

describe('a body with Content-Length', () => {
  const put = (bytes: number, body: string) =>
    `PUT /items/a HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${bytes}\r\n\r\n${body}`

  test('a body may arrive in two packets, and the next request on the connection gets a response', async () => {
    const { server } = await served()
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
    let text = ''
    socket.on('data', (data) => {
      text += data
    })
    socket.write(put(12, '{"te'))
    await expect.poll(() => server.connections()).toBe(1)
    socket.write(`xt":"y"}${put(12, '{"text":"z"}')}`)
    await expect.poll(() => text).toMatch(/"text":"y"[\s\S]*"text":"z"/)
    socket.destroy()
  })

  test('a body that arrives too slowly gets request_timeout, and its connection is closed', async () => {
    const { server } = await served({ runs: 0 }, {}, { bodyTimeoutMs: 20 })
    expect(await raw(server, put(12, '{"te'))).toMatch(/^HTTP\/1\.1 408 [\s\S]*"error":"request_timeout"/)
  })

  test('a body that is too large is refused before the client sends it', async () => {
    const { server } = await served()
    expect(await raw(server, put(65, ''))).toMatch(/^HTTP\/1\.1 413 [\s\S]*"error":"content_too_large"/)
  })

  test('if a client disconnects in the middle of a body, its connection is released', async () => {
    const { server } = await served()
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
    socket.on('error', () => undefined)
    socket.write(put(12, '{"te'))
    await expect.poll(() => server.connections()).toBe(1)
    socket.destroy()
    await expect.poll(() => server.connections()).toBe(0)
    expect(await server.close(60_000)).toBe(0)
  })
})

describe('a streamed answer that fails', () => {
  const stream = defineRoute({
    method: 'get',
    path: '/stream',
    operationId: 'stream',
    summary: 's',
    description: 'd',
    auth: { kind: 'open' },
    answers: { 200: { description: 'a stream', mediaType: 'text/plain' } },
    errors: [],
  })

  async function streaming(bytes: number) {
    const failing = Promise.withResolvers<void>()
    const body = () =>
      new ReadableStream<Uint8Array>({
        start: (controller) => controller.enqueue(Buffer.alloc(bytes, 'x')),
        async pull(controller) {
          await failing.promise
          controller.error(new Error('the server is down'))
        },
      })
    const routes = [bind(stream, () => ({ status: 200, headers: { 'Content-Type': 'text/plain' }, body: body() }))]
    const api = await testApp({ services: [{ ...echoService(), routes }] })
    const server = await startServer({ ...api, host: '127.0.0.1', port: 0, now: () => START })
    onTestFinished(() => server.close(0).then(() => undefined))
    const printed = vi.spyOn(console, 'error').mockImplementation(() => undefined)
    onTestFinished(() => printed.mockRestore())
    return { ...api, server, printed, fail: failing.resolve }
  }

  test('is cut off and logged with its request id, and nothing is printed outside the log', async () => {
    const { server, lines, printed, fail } = await streaming(5)
    const answer = await fetch(`${server.url}/stream`, { headers: { 'x-request-id': 'r1' } })
    const reader = answer.body!.getReader()
    expect(Buffer.from((await reader.read()).value!).toString()).toBe('xxxxx')
    fail()
    await expect(reader.read()).rejects.toThrow()
    const cut = { level: 'warn', request_id: 'r1', route: '/stream', message: 'the server is down' }
    await expect.poll(() => lines.find(({ event }) => event === 'answer_cut_off')).toMatchObject(cut)
    expect(printed).not.toHaveBeenCalled()
  })

  test('is cut off even if its client has stopped reading', async () => {
    const { server, lines, fail } = await streaming(20_000_000)
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1', () => socket.write('GET /stream HTTP/1.1\r\nHost: x\r\n\r\n'))
    onTestFinished(() => void socket.destroy())
    await once(socket, 'readable')
    fail()
    await expect.poll(() => server.connections()).toBe(0)
    expect(lines.some(({ event }) => event === 'answer_cut_off')).toBe(true)
  })
})

test('closing lets running requests finish and refuses new requests', async () => {
  const { server, readiness } = await served()
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
  let text = ''
  socket.on('data', (data) => {
    text += data
  })
  const ended = new Promise((resolve) => socket.on('close', resolve))
  socket.write('PUT /items/a HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n{"te')
  await expect.poll(() => server.connections()).toBe(1)
  readiness.startDraining()
  const closing = server.close(5_000)
  await expect(fetch(`${server.url}/open`)).rejects.toThrow()
  socket.write('xt":"y"}')
  expect(await closing).toBe(0)
  await ended
  expect(text).toContain('{"text":"y"}')
  expect(text.toLowerCase()).toContain('connection: close')
})

test('the responses of a stopping process contain Connection: close even if the front handler sends them, so that clients send nothing more on the connection', async () => {
  const front: FrontHandler = (_request, response) => {
    response.writeHead(302, ['Location', '/elsewhere', 'Content-Length', '0']).end()
    return true
  }
  const { server, readiness } = await served({ runs: 0 }, {}, {}, undefined, front)
  const get = () => fetch(server.url, { redirect: 'manual' })
  expect((await get()).headers.get('connection')).toBe('keep-alive')
  readiness.startDraining()
  expect((await get()).headers.get('connection')).toBe('close')
})

test('closing aborts requests that do not finish in time', async () => {
  const { server } = await served()
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write('PUT /items/a HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n{"te')
  await expect.poll(() => server.connections()).toBe(1)
  expect(await server.close(30)).toBe(1)
})

test('if a port is in use, the error says so and names a remedy', async () => {
  const { server, ...api } = await served()
  const port = Number(new URL(server.url).port)
  await expect(startServer({ ...api, host: '127.0.0.1', port, now: Date.now })).rejects.toThrow(/in use: stop what uses it or set API_PORT/)
})

test('a client that sends no complete request and keeps its side of the connection open is cut off', async () => {
  const { server } = await served({ runs: 0 }, { headersTimeoutMs: 50, requestTimeoutMs: 100, checkIntervalMs: 20, lingerMs: 20 })
  const port = Number(new URL(server.url).port)
  const sockets = ['GET / HTTP/1.1\r\nHost', '', 'hello\r\n\r\n'].map((bytes) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    socket.on('error', () => undefined)
    socket.resume()
    socket.write(bytes)
    return socket
  })
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
  })
  await expect.poll(() => server.connections()).toBeGreaterThan(0)
  await expect.poll(() => server.connections()).toBe(0)
})

test('connections above the limit are closed, and new ones are accepted once others have closed', async () => {
  const gate = connectionGate({ total: 2, perAddress: 10, trusted: addressRanges([]), registry: new Registry() })
  const { server } = await served({ runs: 0 }, {}, {}, gate)
  const held = [1, 2].map(() => connect(Number(new URL(server.url).port), '127.0.0.1'))
  await expect.poll(() => server.connections()).toBe(2)
  expect(await raw(server, '').catch(() => '')).toBe('')
  for (const socket of held) socket.destroy()
  await expect.poll(() => server.connections()).toBe(0)
  expect((await fetch(`${server.url}/open`)).status).toBe(200)
})
