import { get as httpGet, type IncomingMessage } from 'node:http'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startServer } from '../../../api/kit/server.ts'
import { MAX_READERS, MAX_READERS_PER_ADDRESS } from '../../../api/trends/stream/streams.ts'
import { TRENDS_VIEW } from '../../../state/views/trends/trends.ts'
import { caughtUpKey } from '../../../state/views/view.ts'
import { START } from '../kit/harness.ts'
import { terms, trendsApi } from './harness.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const LONDON = 44418
/** Time limit for changes to arrive. The service checks for changes once a second. */
const SOON = { timeout: 20_000, interval: 20 }

/** A reader with a separate connection, like a browser. */
interface Reader {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  text(): string
  /** Returns the data of all events with this name. */
  events(name: string): { as_of: string; trends: { term: string }[] }[]
  isEnded(): boolean
  leave(): void
}

async function served() {
  const api = await trendsApi()
  const server = await startServer({ ...api, host: '127.0.0.1', port: 0, now: () => api.clock.now })
  onTestFinished(async () => {
    api.service.stopping()
    await server.close(0)
  })

  function open(query = '', method = 'GET', from = '203.0.113.1'): Promise<Reader> {
    return new Promise((resolve, reject) => {
      const options = { agent: false, method, headers: { 'x-forwarded-for': from } }
      const request = httpGet(`${server.url}/v1/trends/stream${query}`, options, (response) => {
        let text = ''
        let isEnded = false
        response.setEncoding('utf8').on('data', (part: string) => {
          text += part
        })
        response.on('end', () => {
          isEnded = true
        })
        response.on('error', () => undefined)
        resolve({
          status: response.statusCode!,
          headers: response.headers,
          text: () => text,
          events: (name) => [...text.matchAll(new RegExp(`event: ${name}\ndata: (.*)\n\n`, 'g'))].map(([, data]) => JSON.parse(data)),
          isEnded: () => isEnded,
          leave: () => request.destroy(),
        })
      })
      request.on('error', reject)
    })
  }

  async function readersCounted(): Promise<number> {
    return Number(/trends_stream_readers (\d+)/.exec(await api.serviceMetrics.text())![1])
  }

  return { ...api, server, open, readersCounted }
}

const asOf = (reader: Reader) => reader.events('list').map(({ as_of }) => Date.parse(as_of))

describe('GET /v1/trends/stream', () => {
  test('sends the list at once, and again after each change, with the same bodies as the plain list', async () => {
    const { open, putList, get, clock } = await served()
    putList()
    const reader = await open()
    expect([reader.status, reader.headers['content-type'], reader.headers['cache-control']]).toEqual([
      200,
      'text/event-stream; charset=utf-8',
      'no-store',
    ])
    await expect.poll(() => asOf(reader), SOON).toEqual([START])
    expect(reader.text()).toMatch(/^retry: 5000\nevent: list\ndata: /)
    const plain = await get('/v1/trends')
    expect(reader.events('list')[0]).toEqual(plain.body)
    clock.now += 30 * SECOND_MS
    putList({ entries: terms(2) })
    await expect.poll(() => asOf(reader), SOON).toEqual([START, START + 30 * SECOND_MS])
    expect(reader.events('list')[1].trends.map(({ term }) => term)).toEqual(['term1', 'term2'])
    expect(reader.isEnded()).toBe(false)
  })

  test('sends only comments while the list stays the same', async () => {
    const { open, putList, clock } = await served()
    putList()
    const reader = await open()
    await expect.poll(() => asOf(reader), SOON).toHaveLength(1)
    for (const count of [1, 2]) {
      clock.now += 15 * SECOND_MS
      await expect.poll(() => reader.text().match(/^: $/gm)?.length, SOON).toBe(count)
    }
    expect(asOf(reader)).toHaveLength(1)
  })

  test('keeps locations and safe lists apart, and leaves out newly blocked terms', async () => {
    const { open, putList, blocked } = await served()
    putList()
    putList({ woeid: LONDON, entries: terms(3) })
    const [world, london, safe] = await Promise.all([open(), open(`?woeid=${LONDON}`), open('?safe=true')])
    await expect.poll(() => [world, london, safe].map((reader) => asOf(reader).length), SOON).toEqual([1, 1, 1])
    expect(london.events('list')[0].trends).toHaveLength(3)
    blocked.apply('term1', { name: 'term1', reason: 'x', blocked_by: 'x', blocked_at: 1 })
    await expect
      .poll(() => [world, london, safe].map((reader) => reader.events('list').at(-1)!.trends[0].term), SOON)
      .toEqual(['term2', 'term2', 'term2'])
  })

  test('reports once that the list is stale, and continues with the next list', async () => {
    const { open, putList, clock } = await served()
    putList()
    const reader = await open()
    await expect.poll(() => asOf(reader), SOON).toHaveLength(1)
    clock.now += 3 * MINUTE_MS + 1
    await expect.poll(() => reader.events('stale'), SOON).toEqual([{ woeid: 1 }])
    expect((await open()).status).toBe(503)
    clock.now += 5 * SECOND_MS
    putList()
    await expect.poll(() => asOf(reader), SOON).toEqual([START, clock.now])
    expect(reader.events('stale')).toHaveLength(1)
  })

  test('continues after Redis has been unreachable', async () => {
    const { open, putList, redis, clock } = await served()
    putList()
    const reader = await open()
    await expect.poll(() => asOf(reader), SOON).toHaveLength(1)
    redis.state.down = true
    clock.now += 10 * SECOND_MS
    expect((await open()).status).toBe(503)
    redis.state.down = false
    clock.now += 10 * SECOND_MS
    putList()
    await expect.poll(() => asOf(reader), SOON).toHaveLength(2)
  })

  test.each([
    ['Redis is unreachable', 'down'],
    ['the view is being built', 'cleared'],
  ] as const)('reports that a list is stale once it is more than three minutes old, even while %s', async (_what, fault) => {
    const { open, putList, redis, clock } = await served()
    putList()
    const reader = await open()
    await expect.poll(() => asOf(reader), SOON).toHaveLength(1)
    if (fault === 'down') redis.state.down = true
    else for (const partition of [0, 1, 2, 3]) redis.apply([{ op: 'del', key: caughtUpKey(TRENDS_VIEW, partition) }])
    clock.now += 3 * MINUTE_MS
    const reads = redis.state.reads
    await expect.poll(() => redis.state.reads, SOON).toBeGreaterThan(reads)
    expect(reader.events('stale')).toEqual([])
    clock.now += SECOND_MS
    await expect.poll(() => reader.events('stale'), SOON).toEqual([{ woeid: 1 }])
    expect(reader.isEnded()).toBe(false)
  })

  test.each([
    ['?woeid=2', 404],
    ['?woeid=x', 400],
    ['?safe=1', 400],
    [`?woeid=${LONDON}`, 503],
  ])('%s gives %i', async (query, status) => {
    const { open, putList } = await served()
    putList()
    expect((await open(query)).status).toBe(status)
  })

  test('HEAD gets the status and content type of a stream, and occupies no place', async () => {
    const { open, putList, readersCounted } = await served()
    putList()
    const head = await open('', 'HEAD')
    await expect.poll(() => head.isEnded(), SOON).toBe(true)
    expect([head.status, head.headers['content-type'], await readersCounted()]).toEqual([200, 'text/event-stream; charset=utf-8', 0])
  })

  test('a stopping process ends its streams and refuses new ones', async () => {
    const { open, putList, service, server } = await served()
    putList()
    const reader = await open()
    await expect.poll(() => asOf(reader), SOON).toHaveLength(1)
    service.stopping()
    await expect.poll(() => reader.isEnded(), SOON).toBe(true)
    expect((await open()).status).toBe(503)
    expect(await server.close(20_000)).toBe(0)
  })
})

test(`${MAX_READERS} readers of one location cost one query, further readers are refused, and places become free when readers leave`, async () => {
  const { open, putList, redis, clock, readersCounted } = await served()
  putList()
  const addressOf = (index: number) => `198.51.100.${Math.floor(index / MAX_READERS_PER_ADDRESS)}`
  const readers = await Promise.all(Array.from({ length: MAX_READERS }, (_, index) => open('', 'GET', addressOf(index))))
  expect(new Set(readers.map(({ status }) => status))).toEqual(new Set([200]))
  await expect.poll(() => readers.filter((reader) => asOf(reader).length === 1).length, SOON).toBe(MAX_READERS)
  expect(await readersCounted()).toBe(MAX_READERS)
  // All readers share one query. It takes seven reads: the positions in two topics, the list's version and the list,
  // with their caught-up flags.
  expect(redis.state.reads).toBeLessThanOrEqual(10)

  const refused = await open()
  expect([refused.status, refused.headers['retry-after']]).toEqual([503, '30'])
  await expect.poll(() => refused.text(), SOON).toContain('too_many_readers')

  const before = redis.state.reads
  clock.now += 30 * SECOND_MS
  putList()
  await expect.poll(() => readers.filter((reader) => asOf(reader).length === 2).length, SOON).toBe(MAX_READERS)
  expect(redis.state.reads - before).toBeLessThanOrEqual(10)

  for (const reader of readers.slice(0, 10)) reader.leave()
  await expect.poll(readersCounted, SOON).toBe(MAX_READERS - 10)
  expect((await open()).status).toBe(200)
  for (const reader of readers) reader.leave()
  await expect.poll(readersCounted, SOON).toBe(1)
})

test(`an IPv6 /64 network has at most ${MAX_READERS_PER_ADDRESS} readers, so that one client cannot occupy all places`, async () => {
  const { open, putList, readersCounted } = await served()
  putList()
  const from = (host: number) => `2001:db8::${host.toString(16)}`
  const readers = await Promise.all(Array.from({ length: MAX_READERS_PER_ADDRESS }, (_, host) => open('', 'GET', from(host + 1))))
  expect(new Set(readers.map(({ status }) => status))).toEqual(new Set([200]))
  const refused = await open(`?woeid=${LONDON}`, 'GET', from(0xffff))
  await expect.poll(() => refused.text(), SOON).toContain('too_many_readers')
  expect((await open('', 'GET', '2001:db8:0:1::1')).status).toBe(200)

  readers[0].leave()
  await expect.poll(readersCounted, SOON).toBe(MAX_READERS_PER_ADDRESS)
  expect((await open('', 'GET', from(1))).status).toBe(200)
  expect((await open('', 'GET', from(1))).status).toBe(503)
})
