import { request as httpRequest } from 'node:http'
import { beforeAll, expect, test } from 'vitest'
import { privateSearch, testStack, uniqueName } from '../../../stack/index.ts'

interface Sent {
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly body?: string
}

let url: string
beforeAll(async () => {
  url = await testStack().search()
})

/**
 * Sends a request with arbitrary headers. `fetch` does not allow some of the headers that an attacker's browser may
 * send.
 */
function send(base: string, path: string, { method = 'GET', headers = {}, body }: Sent = {}) {
  return new Promise<{ status: number; headers: Record<string, unknown>; text: string }>((resolve, reject) => {
    const call = httpRequest(new URL(path, base), { method, headers }, (response) => {
      let text = ''
      response.on('data', (chunk) => {
        text += chunk
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }))
    })
    call.on('error', reject)
    call.end(body)
  })
}

const JSON_BODY = { 'content-type': 'application/json' }

async function newIndex(base: string): Promise<string> {
  const index = uniqueName('guarded')
  const settings = { settings: { number_of_replicas: 0 }, mappings: { dynamic: 'strict', properties: { word: { type: 'keyword' } } } }
  expect(await send(base, index, { method: 'PUT', headers: JSON_BODY, body: JSON.stringify(settings) })).toMatchObject({ status: 200 })
  const document = { method: 'PUT', headers: JSON_BODY, body: '{"word":"secret"}' }
  expect(await send(base, `${index}/_doc/1?refresh=true`, document)).toMatchObject({ status: 201 })
  return index
}

const FROM_A_PAGE: [string, Record<string, string>][] = [
  ['another origin', { origin: 'https://page.example' }],
  ['the origin of the server', { origin: 'http://127.0.0.1' }],
  ['no origin (null)', { origin: 'null' }],
  ['an image or a link', { 'sec-fetch-site': 'cross-site' }],
  ['an address that a person opened', { 'sec-fetch-site': 'none' }],
  ['a name that was rebound to this machine', { host: 'page.example:9200' }],
  ['a name that begins like a local one', { host: 'localhost.page.example' }],
]

test.each(FROM_A_PAGE)('a web page can neither read nor change anything: %s', async (_what, headers) => {
  const index = await newIndex(url)
  const calls: [string, Sent][] = [
    [`${index}/_doc/1`, {}],
    [`${index}/_search?q=word:secret`, {}],
    [`${index}/_search?source=${encodeURIComponent('{}')}&source_content_type=application/json`, {}],
    ['_cat/indices', {}],
    // Browsers send simple requests to other origins without a preflight request.
    [`${index}/_close`, { method: 'POST' }],
    [`${index}/_forcemerge`, { method: 'POST' }],
    [`${index}/_doc/1`, { method: 'POST', headers: { 'content-type': 'text/plain' }, body: '{"word":"changed"}' }],
    [
      '_bulk',
      { method: 'POST', headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: `{"delete":{"_index":"${index}"}}\n` },
    ],
    // With DNS rebinding, a page can send these requests, too.
    [`${index}/_doc/1`, { method: 'PUT', headers: JSON_BODY, body: '{"word":"changed"}' }],
    [index, { method: 'DELETE' }],
  ]
  for (const [path, call] of calls) {
    const answer = await send(url, path, { ...call, headers: { ...call.headers, ...headers } })
    // OpenSearch itself refuses the content types of simple requests, with 406.
    expect([403, 406], `${call.method ?? 'GET'} ${path}`).toContain(answer.status)
    expect(answer.text).not.toContain('secret')
    expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control-'))).toEqual([])
  }
  expect((await send(url, `${index}/_source/1`)).text).toBe('{"word":"secret"}')
})

test('the response to a preflight request allows nothing', async () => {
  const headers = { origin: 'https://page.example', 'access-control-request-method': 'DELETE' }
  const answer = await send(url, 'anything', { method: 'OPTIONS', headers })
  expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control-'))).toEqual([])
})

test.each(['localhost', 'LOCALHOST:9200', '127.0.0.1', '[::1]:9200'])(
  'requests from programs to the host %s are accepted',
  async (host) => {
    expect(await send(url, '/', { headers: { host } })).toMatchObject({ status: 200 })
  },
)

test('a write to a missing index is refused with 404', async () => {
  const body = '{"word":"x"}'
  expect(await send(url, `${uniqueName('missing')}/_doc/1`, { method: 'PUT', headers: JSON_BODY, body })).toMatchObject({ status: 404 })
})

test('documents survive kill -9 and a stop, and the modules that searches need are present', async () => {
  const server = await privateSearch()
  const index = await newIndex(server.address)
  await server.kill()
  expect(await server.isHealthy()).toBe(false)
  await server.start()
  await expect.poll(async () => (await send(server.address, `${index}/_source/1`)).text).toBe('{"word":"secret"}')
  await server.stop()
  await server.start()
  await expect.poll(async () => (await send(server.address, `${index}/_source/1`)).text).toBe('{"word":"secret"}')
  const body = JSON.stringify({
    query: { script_score: { query: { match_all: {} }, script: { source: "doc['word'].size() + 1.0" } } },
    sort: [{ _script: { type: 'number', script: { lang: 'expression', source: '1 + 1' }, order: 'asc' } }],
  })
  await expect
    .poll(async () => (await send(server.address, `${index}/_search`, { method: 'POST', headers: JSON_BODY, body })).status)
    .toBe(200)
  const analyze = JSON.stringify({ tokenizer: 'standard', filter: ['lowercase', 'asciifolding', 'kstem'], text: 'Décks' })
  expect(await send(server.address, '_analyze', { method: 'POST', headers: JSON_BODY, body: analyze })).toMatchObject({
    status: 200,
    text: expect.stringContaining('"deck"'),
  })
})
