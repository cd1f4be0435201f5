import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, expect, test } from 'vitest'
import { httpExchange } from '../../../state/indexes/exchange.ts'

const LIMIT = 1_000
const closing: (() => void)[] = []

afterEach(() => {
  for (const close of closing.splice(0)) close()
})

async function opened(listener: RequestListener) {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  closing.push(() => {
    server.closeAllConnections()
    server.close()
  })
  const exchange = httpExchange('http:')
  return (path: string, body?: string, signal = AbortSignal.timeout(10_000)) =>
    exchange(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'x-test': 'yes' },
      ...{ body, signal, maxBytes: LIMIT },
    })
}

test('a body may contain characters outside ASCII, and the connection is reused', async () => {
  const sockets = new Set<unknown>()
  const send = await opened(async (request, response) => {
    sockets.add(request.socket)
    response.writeHead(404).end(`${request.method} ${request.headers['x-test']} ${request.url} ${await text(request)}`)
  })
  expect(await send('/a?b=1', 'größe')).toEqual({ status: 404, text: 'POST yes /a?b=1 größe' })
  expect(await send('/c')).toEqual({ status: 404, text: 'GET yes /c ' })
  expect(sockets.size).toBe(1)
})

const answers: [string, RequestListener, RegExp][] = [
  ['is too large', (_request, response) => response.end('x'.repeat(LIMIT + 1)), /larger than 1000 bytes/],
  ['breaks off', (request, response) => breakOff(request, response), /aborted|hang up|RESET/],
  ['does not come before the connection closes', (request) => request.socket.destroy(), /hang up|RESET/],
  ['is a redirect', (_request, response) => response.writeHead(302, { location: '/other' }).end(), /redirect \(302\)/],
]

function breakOff(request: IncomingMessage, response: Parameters<RequestListener>[1]): void {
  response.writeHead(200, { 'content-length': 100 })
  response.write('half', () => request.socket.destroy())
}

test.each(answers)('an exchange fails if the answer %s', async (_what, listener, message) => {
  const send = await opened(listener)
  await expect(send('/')).rejects.toThrow(message)
})

test('an exchange ends when its signal is aborted, even while an answer is arriving', async () => {
  const giveUp = new AbortController()
  const send = await opened((_request, response) => {
    response.write('half', () => giveUp.abort(new Error('no longer wanted')))
  })
  await expect(send('/', undefined, giveUp.signal)).rejects.toThrow()
})

test('an answer of exactly the maximum size is accepted', async () => {
  const send = await opened((_request, response) => response.end('x'.repeat(LIMIT)))
  expect((await send('/')).text).toHaveLength(LIMIT)
})
