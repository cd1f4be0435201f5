import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createServer as createTcpServer, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { httpSender } from '../../../../../pipelines/engine/sinks/deliveries/http-sender.ts'
import { systemRuntime } from '../../../../../runtime/system.ts'

const MESSAGE = { headers: { 'content-type': 'text/plain', 'idempotency-key': 'k' }, body: 'höre' }
const SHORT_MS = 100
/** Time limit of requests that must end for another reason. It is shorter than the time limit of a test. */
const LONG_MS = 60_000

type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => void

async function listening(server: { listen(port: number, host: string, done: () => void): unknown; address(): unknown }): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

/** Starts a receiver, and creates a sender to it. */
async function receiver(handle: Handler, timeoutMs?: number) {
  const connections = new Set<Socket>()
  const server: Server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    handle(request, response, body)
  })
  server.on('connection', (socket) => connections.add(socket))
  const port = await listening(server)
  const sender = senderTo(port, timeoutMs)
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { sender, connections, server, port }
}

function senderTo(port: number, timeoutMs?: number, runtime = systemRuntime()) {
  const sender = httpSender({ url: new URL(`http://127.0.0.1:${port}/hook?a=1`), connections: 2, timeoutMs }, runtime)
  onTestFinished(() => sender.close())
  return sender
}

test('messages are sent with POST over one connection, and status 202 counts as success', async () => {
  const seen: unknown[] = []
  const { sender, connections } = await receiver(({ method, url, headers }, response, body) => {
    seen.push([method, url, headers['idempotency-key'], headers['content-length'], body])
    response.writeHead(202).end('thanks')
  })
  expect(await sender.send(MESSAGE)).toEqual({ outcome: 'delivered' })
  expect(await sender.send(MESSAGE)).toEqual({ outcome: 'delivered' })
  expect(seen).toEqual(Array.from({ length: 2 }, () => ['POST', '/hook?a=1', 'k', '5', 'höre']))
  expect(connections.size).toBe(1)
})

test.each([500, 502, 503, 408, 425, 429])('status %i is a temporary failure, and Retry-After is passed on', async (status) => {
  const { sender } = await receiver((_request, response) => void response.writeHead(status, { 'retry-after': '7' }).end())
  expect(await sender.send(MESSAGE)).toEqual({
    outcome: 'failed',
    code: `http_${status}`,
    message: `the receiver answered with status ${status}`,
    retryAfterMs: 7_000,
  })
})

test.each([301, 302, 307, 400, 401, 403, 404, 410, 413, 422])('status %i is final, and no redirect is followed', async (status) => {
  let requests = 0
  const { sender } = await receiver((_request, response) => {
    requests++
    response.writeHead(status, { location: '/elsewhere' }).end('no')
  })
  expect(await sender.send(MESSAGE)).toMatchObject({ outcome: 'refused', code: `http_${status}` })
  expect(requests).toBe(1)
})

test.each([
  ['Fri, 27 Nov 2026 12:01:00 GMT', 60_000],
  ['soon', undefined],
  ['-5', undefined],
  ['Thu, 01 Jan 1970 00:00:00 GMT', undefined],
])('at noon on 27 November 2026, the pause that Retry-After %s requests is %s (in ms)', async (text, expected) => {
  const runtime = { ...systemRuntime(), now: () => Date.UTC(2026, 10, 27, 12) }
  const { port } = await receiver((_request, response) => void response.writeHead(503, { 'retry-after': text }).end())
  const outcome = await senderTo(port, undefined, runtime).send(MESSAGE)
  expect(outcome).toMatchObject({ outcome: 'failed', code: 'http_503' })
  expect('retryAfterMs' in outcome ? outcome.retryAfterMs : undefined).toBe(expected)
})

test('a message with an invalid header value is refused, because it can never be sent', async () => {
  const { sender } = await receiver((_request, response) => void response.writeHead(204).end())
  const message = { ...MESSAGE, headers: { 'idempotency-key': 'line\nbreak' } }
  expect(await sender.send(message)).toMatchObject({ outcome: 'refused', code: 'ERR_INVALID_CHAR' })
  expect(await sender.send(MESSAGE)).toEqual({ outcome: 'delivered' })
})

test('a request ends at the time limit if the receiver sends no response or only part of one', async () => {
  const silent = await receiver(() => {}, SHORT_MS)
  expect(await silent.sender.send(MESSAGE)).toMatchObject({ outcome: 'failed', code: 'timeout' })
  const endless = await receiver((_request, response) => void response.writeHead(200).write('begin'), SHORT_MS)
  expect(await endless.sender.send(MESSAGE)).toEqual({ outcome: 'delivered' })
})

test('an endless response is read only up to a limit, and counts as a delivery', async () => {
  let isClosed = false
  const { sender } = await receiver((_request, response) => {
    response.writeHead(200)
    const more = () => {
      while (!isClosed && response.write(Buffer.alloc(65_536))) {}
    }
    response.on('drain', more)
    response.on('close', () => {
      isClosed = true
    })
    more()
  })
  expect(await sender.send(MESSAGE)).toEqual({ outcome: 'delivered' })
  await expect.poll(() => isClosed).toBe(true)
})

test('a response with headers of 20,000 bytes counts as a failure', async () => {
  const { sender } = await receiver((_request, response) => void response.writeHead(200, { 'x-large': 'x'.repeat(20_000) }).end())
  expect(await sender.send(MESSAGE)).toMatchObject({ outcome: 'failed', code: 'HPE_HEADER_OVERFLOW' })
})

test('a missing receiver, a closed connection and an invalid response count as failures', async () => {
  const { sender, server } = await receiver((request) => void request.socket.destroy())
  expect(await sender.send(MESSAGE)).toMatchObject({ outcome: 'failed', code: 'ECONNRESET' })
  server.close()
  server.closeAllConnections()
  expect(await sender.send(MESSAGE)).toMatchObject({ outcome: 'failed', code: 'ECONNREFUSED' })
  const nonsense = createTcpServer((socket) => void socket.on('error', () => {}).end('what?\r\n\r\n'))
  onTestFinished(() => void nonsense.close())
  expect(await senderTo(await listening(nonsense)).send(MESSAGE)).toMatchObject({ outcome: 'failed' })
})

test('if the receiver closes a connection that was used before, the request is sent again', async () => {
  let requests = 0
  const { sender } = await receiver((request, response) => {
    requests++
    if (requests === 2) request.socket.destroy()
    else response.end()
  })
  expect(await sender.send(MESSAGE)).toEqual({ outcome: 'delivered' })
  expect(await sender.send(MESSAGE)).toEqual({ outcome: 'delivered' })
  expect(requests).toBe(3)
})

test('closing the sender ends the requests that are in flight', async () => {
  const arrived = Promise.withResolvers<void>()
  const { sender } = await receiver(() => arrived.resolve(), LONG_MS)
  const sent = sender.send(MESSAGE)
  await arrived.promise
  sender.close()
  // If the request had ended at its time limit, the code would be `timeout`.
  expect(await sent).toMatchObject({ outcome: 'failed', code: 'ECONNRESET' })
})
