import { once } from 'node:events'
import { request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { clickhouseServer } from '../../../../deploy/local/clickhouse/server.ts'

const PASSWORD = 'p:ss word'

/** Starts a server on a fake engine that records every statement it gets. */
async function served() {
  const ran: string[] = []
  const answer = { bytes: Buffer.from('1\n'), format: 'TabSeparated', rowsRead: 1, bytesRead: 1, elapsedSeconds: 0 }
  const engine = {
    async execute({ sql }: { sql: string }) {
      ran.push(sql)
      return answer
    },
    close: async () => undefined,
  }
  const server = clickhouseServer(engine, PASSWORD)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  /** Sends a statement with the given headers. `fetch` would add headers and drop others. */
  async function post(headers: Record<string, string>, path = '/'): Promise<{ status: number | undefined; text: string }> {
    const sent = request({ port, host: '127.0.0.1', method: 'POST', path, headers: { 'content-type': 'text/plain', ...headers } })
    sent.end("SELECT * FROM file('/etc/hostname', LineAsString)")
    const [response] = await once(sent, 'response')
    let text = ''
    for await (const chunk of response) text += chunk
    return { status: response.statusCode, text }
  }
  const responses: ServerResponse[] = []
  server.on('request', (_request, response) => responses.push(response))
  return { ran, post, port, responses }
}

test('truncated or invalid gzip data is refused with 400, and no part of the statement runs', async () => {
  const { ran, port } = await served()
  const whole = gzipSync(`INSERT INTO t FORMAT TSV\n${'1\n'.repeat(10_000)}`)
  for (const body of [whole.subarray(0, -1), whole.subarray(0, 12), Buffer.from('not gzip at all')]) {
    const response = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers: { ...key, 'content-encoding': 'gzip' }, body })
    expect(response.status).toBe(400)
    expect(await response.text()).toContain('ZLIB_INFLATE_FAILED')
  }
  expect(ran).toEqual([])
})

test('if the connection breaks during a gzip upload, the server ends the request, and no part of the statement runs', async () => {
  const { ran, port, responses } = await served()
  const headers = { ...key, 'content-encoding': 'gzip', 'content-length': '1000000' }
  const sent = request({ port, host: '127.0.0.1', method: 'POST', path: '/', headers })
  sent.on('error', () => undefined)
  sent.write(gzipSync('INSERT INTO t FORMAT TSV\n1\n').subarray(0, 20))
  await expect.poll(() => responses.length).toBe(1)
  sent.destroy()
  await expect.poll(() => responses[0].headersSent).toBe(true)
  expect(ran).toEqual([])
})

const key = { 'x-clickhouse-user': 'default', 'x-clickhouse-key': PASSWORD }
const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` })

test.each([[{ origin: 'https://evil.example' }], [{ 'sec-fetch-site': 'cross-site' }], [{ host: 'rebound.example' }]])(
  'a request from another web page (%j) is refused and runs nothing, even with the right password',
  async (headers) => {
    const { ran, post } = await served()
    const { status, text } = await post({ ...key, ...headers })
    expect([status, ran]).toEqual([403, []])
    expect(text).toContain('ACCESS_DENIED')
  },
)

test.each([
  ['no password', {}, '/'],
  ['a wrong password', { 'x-clickhouse-key': 'wrong' }, '/'],
  ['a wrong user', { 'x-clickhouse-user': 'admin', 'x-clickhouse-key': PASSWORD }, '/'],
  ['a wrong password as basic authentication', basic('default:wrong'), '/'],
  ['a wrong password in the URL', {}, '/?password=wrong'],
])('a query with %s is refused and does not run', async (_what, headers, path) => {
  const { ran, post } = await served()
  const { status, text } = await post(headers as Record<string, string>, path)
  expect([status, ran]).toEqual([403, []])
  expect(text).toContain('AUTHENTICATION_FAILED')
})

test.each([
  ['in headers', key, '/'],
  ['as basic authentication', basic(`default:${PASSWORD}`), '/'],
  ['in the URL', {}, `/?user=default&password=${encodeURIComponent(PASSWORD)}`],
])('a query with the password %s runs', async (_what, headers, path) => {
  const { ran, post } = await served()
  expect((await post(headers as Record<string, string>, path)).status).toBe(200)
  expect(ran).toHaveLength(1)
})

test('a request target that is not a URL gets a response, because an unhandled rejection would end the process', async () => {
  const { ran, post } = await served()
  expect((await post(key, '//')).status).toBe(400)
  expect(ran).toEqual([])
})

test.each([[{ origin: 'https://evil.example' }], [{}], [key]])(
  'a query id that a header cannot contain gets a response (request headers: %j), because an unhandled rejection would end the process',
  async (headers) => {
    const { post } = await served()
    for (const id of ['%0A', '%E2%82%AC']) {
      const { status } = await post(headers as Record<string, string>, `/?query_id=${id}`)
      expect(status).toBe(headers === key ? 200 : 403)
    }
  },
)

test('a ping needs no password', async () => {
  const { port } = await served()
  expect(await (await fetch(`http://127.0.0.1:${port}/ping`)).text()).toBe('Ok.\n')
})
