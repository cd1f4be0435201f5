import { afterAll, beforeAll, expect, test } from 'vitest'
import { type System, startSystem } from './system.ts'
import { get, tokenFor } from './trends-api.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const SOON = { timeout: 60_000, interval: 200 }
/** Cities without tweets. */
const ANKARA = 2343732
const ADANA = 2343678
const KONYA = 2344210

let system: System

beforeAll(async () => {
  system = await startSystem({ workers: 1, apis: 2 })
})

afterAll(async () => {
  await system?.finish()
})

test('every process finds places by name and by position, and all return the same bytes', async () => {
  for (const path of ['/v1/trends/available?q=sao', '/v1/trends/closest?lat=-23.6&long=-46.6']) {
    const [one, other] = await Promise.all(system.apis.map((api) => get(api, path)))
    expect([one.status, other.status, other.text]).toEqual([200, 200, one.text])
    expect(one.text).toContain('"São Paulo"')
    expect(one.headers.get('etag')).toBe(other.headers.get('etag'))
  }
  expect((await get(system.apis[0], '/v1/trends/closest?lat=91&long=0')).status).toBe(400)
})

interface Posted {
  readonly woeid: number
  readonly windowEnd: number
  readonly terms: readonly string[]
}

/** Posts a list to the API. Like a list from the pipeline, it passes through Kafka into Redis and ClickHouse. */
async function post({ woeid, windowEnd, terms }: Posted): Promise<void> {
  const headers = { ...(await tokenFor(system, '--sub', 'tests', '--scope', 'internal')), 'content-type': 'application/json' }
  const top_k = terms.map((term, index) => ({ term, count: 100 - index, velocity: 1, sample_ids: ['9007199254740993'] }))
  const body = JSON.stringify({ woeid, window_end: new Date(windowEnd).toISOString(), top_k })
  expect((await fetch(`${system.apis[0].address}/v1/internal/trends/refresh`, { method: 'POST', headers, body })).status).toBe(204)
}

test('every process returns the list for a past time, but no list for a time more than 3 minutes after the last list', async () => {
  const windowEnd = Math.floor(Date.now() / SECOND_MS) * SECOND_MS + 2 * MINUTE_MS
  await post({ woeid: ANKARA, windowEnd, terms: ['#Old', 'tea'] })
  const past = (at: number) => `/v1/trends/${ANKARA}/past?at=${new Date(at).toISOString()}`
  for (const api of system.apis) {
    await expect
      .poll(async () => {
        const { status, text } = await get(api, past(windowEnd + 3 * MINUTE_MS))
        return status === 200 ? JSON.parse(text).trends.map(({ term }: { term: string }) => term) : status
      }, SOON)
      .toEqual(['old', 'tea'])
    const { as_of, trends } = JSON.parse((await get(api, past(windowEnd))).text)
    expect([Date.parse(as_of), Date.parse(trends[0].trending_since)]).toEqual([windowEnd, windowEnd])
    expect(trends[0]).toMatchObject({ name: '#Old', tweet_volume: 100, volume_24h: 100, sample_tweets: ['9007199254740993'] })
    expect((await get(api, past(windowEnd + 3 * MINUTE_MS + SECOND_MS))).status).toBe(404)
  }
})

test('a term that is blocked through one process disappears from the current and past lists of the other process, and returns when it is unblocked', async () => {
  const [one, other] = system.apis
  const windowEnd = Math.floor(Date.now() / SECOND_MS) * SECOND_MS + 3 * MINUTE_MS
  await post({ woeid: ADANA, windowEnd, terms: Array.from({ length: 32 }, (_, index) => `#Term${index + 1}`) })
  const at = new Date(windowEnd).toISOString()
  const paths = [`/v1/trends?woeid=${ADANA}`, `/v1/trends/${ADANA}/past?at=${at}`]
  const shown = (api = other) =>
    Promise.all(
      paths.map(async (path) => {
        const { status, text } = await get(api, path)
        return status === 200 ? JSON.parse(text).trends.map(({ term }: { term: string }) => term) : [status]
      }),
    )
  const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => `term${from + index}`)
  await expect.poll(() => shown(), SOON).toEqual([range(1, 30), range(1, 30)])

  const headers = { ...(await tokenFor(system, '--sub', 'ada', '--scope', 'admin')), 'content-type': 'application/json' }
  const blocked = `${one.address}/v1/admin/trends/blocked/${encodeURIComponent('#TERM1')}`
  const put = await fetch(blocked, { method: 'PUT', headers, body: JSON.stringify({ reason: 'a test' }) })
  expect([put.status, await put.json()]).toMatchObject([200, { term: 'term1', name: '#TERM1', blocked_by: 'ada' }])
  expect(await shown(one)).toEqual([range(2, 31), range(2, 31)])
  await expect.poll(() => shown(), { interval: 50 }).toEqual([range(2, 31), range(2, 31)])
  const [mine, others] = await Promise.all(system.apis.map((api) => get(api, paths[0])))
  expect(others.text).toBe(mine.text)

  expect((await fetch(blocked, { method: 'DELETE', headers })).status).toBe(204)
  await expect.poll(() => shown(), { interval: 50 }).toEqual([range(1, 30), range(1, 30)])
})

test('a stream delivers lists that were published through another process, and ends in an orderly way when its own process stops', async () => {
  const [one, other] = system.apis
  const windowEnd = Math.floor(Date.now() / SECOND_MS) * SECOND_MS + 4 * MINUTE_MS
  await post({ woeid: KONYA, windowEnd, terms: ['#First'] })
  await expect.poll(async () => (await get(other, `/v1/trends?woeid=${KONYA}`)).text, SOON).toContain('"first"')

  const response = await fetch(`${other.address}/v1/trends/stream?woeid=${KONYA}`)
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8'])
  let text = ''
  const reading = (async () => {
    for await (const part of response.body!.pipeThrough(new TextDecoderStream())) text += part
  })()
  const lists = () => [...text.matchAll(/^event: list\ndata: (.*)\n\n/gm)].map(([, data]) => JSON.parse(data).trends[0].term)
  await expect.poll(lists, SOON).toEqual(['first'])
  expect(text).toContain((await get(one, `/v1/trends?woeid=${KONYA}`)).text)
  await post({ woeid: KONYA, windowEnd: windowEnd + SECOND_MS, terms: ['#Second'] })
  await expect.poll(lists, SOON).toEqual(['first', 'second'])

  await other.stop()
  // The response must end in an orderly way. If the connection broke, this promise would reject.
  await reading
})
