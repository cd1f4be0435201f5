import { describe, expect, test } from 'vitest'
import { TrendListSchema } from '../../../api/trends/model.ts'
import { entry } from '../../state/views/entries.ts'
import { START } from '../kit/harness.ts'
import { terms, trendsApi } from './harness.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
/** An arbitrary town in the table of locations. */
const LONDON = 44418

describe('GET /v1/trends', () => {
  test('returns the documented list, by default worldwide with 30 entries', async () => {
    const { get, putList } = await trendsApi()
    putList()
    const { status, headers, body } = await get('/v1/trends')
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(TrendListSchema.strict().parse(body)).toEqual(body)
    expect(body).toMatchObject({
      as_of: '2026-01-15T12:00:00.000Z',
      ttl_s: 60,
      location: { woeid: 1, name: 'Worldwide' },
      complete: true,
      missing_partitions: 0,
      personalized: false,
    })
    expect(body.trends.map(({ rank, term }: { rank: number; term: string }) => [rank, term])).toEqual(
      Array.from({ length: 30 }, (_, index) => [index + 1, `term${index + 1}`]),
    )
  })

  test('reports how many partitions are missing in a list', async () => {
    const { get, putList } = await trendsApi()
    putList({ missing_partitions: 2 })
    expect((await get('/v1/trends')).body).toMatchObject({ complete: false, missing_partitions: 2 })
  })

  test('accepts a location and a limit', async () => {
    const { get, putList } = await trendsApi()
    putList({ woeid: LONDON, entries: terms(5) })
    const { body } = await get(`/v1/trends?woeid=${LONDON}&limit=2`)
    expect([body.location, body.trends.length]).toEqual([{ woeid: LONDON, name: 'London' }, 2])
    expect((await get(`/v1/trends?woeid=${LONDON}&limit=30`)).body.trends).toHaveLength(5)
  })

  test.each(['woeid=x', 'woeid=-1', 'woeid=99999999999', 'limit=0', 'limit=31', 'limit=1.5', 'personalized=1', 'woeid=1&woeid=2'])(
    'rejects %s with invalid_request',
    async (query) => {
      const { get } = await trendsApi()
      expect(await get(`/v1/trends?${query}`)).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
    },
  )

  test.each(['0', '2', '2147483647'])('rejects woeid %s with unknown_location', async (woeid) => {
    const { get } = await trendsApi()
    expect(await get(`/v1/trends?woeid=${woeid}`)).toMatchObject({ status: 404, body: { error: 'unknown_location' } })
  })

  test('a list is cacheable for 60 s, or for less time if it is more than 2 minutes old; a list that is more than 3 minutes old is not served', async () => {
    const { get, putList, clock } = await trendsApi()
    putList()
    const cacheControlAfter = async (ageMs: number) => {
      clock.now = START + ageMs
      return (await get('/v1/trends')).headers.get('cache-control')
    }
    expect(await cacheControlAfter(0)).toBe('public, max-age=60')
    expect(await cacheControlAfter(2 * MINUTE_MS)).toBe('public, max-age=60')
    expect(await cacheControlAfter(2 * MINUTE_MS + 500)).toBe('public, max-age=59')
    expect(await cacheControlAfter(2 * MINUTE_MS + 45 * SECOND_MS)).toBe('public, max-age=15')
    expect(await cacheControlAfter(3 * MINUTE_MS)).toBe('public, max-age=0')
    clock.now = START + 3 * MINUTE_MS + 1
    const stale = await get('/v1/trends')
    expect(stale).toMatchObject({ status: 503, body: { error: 'trends_stale' } })
    expect([stale.headers.get('retry-after'), stale.headers.get('cache-control')]).toEqual(['5', 'no-store'])
  })

  test('a list whose window ends more than six minutes in the future gets 503, because the clock of its worker was ahead and the list may be old', async () => {
    const { get, putList, clock } = await trendsApi()
    putList()
    clock.now = START - 6 * MINUTE_MS
    expect((await get('/v1/trends')).status).toBe(200)
    clock.now--
    expect(await get('/v1/trends')).toMatchObject({ status: 503, body: { error: 'trends_stale' } })
  })

  test('a cached answer expires when its list becomes stale', async () => {
    const { app, answers, putList, clock } = await trendsApi()
    putList()
    clock.now = START + 3 * MINUTE_MS - 200
    await app.request('/v1/trends', {}, { incoming: { url: '/v1/trends' } })
    expect(answers.get('/v1/trends', clock.now)).toBeDefined()
    expect(answers.get('/v1/trends', START + 3 * MINUTE_MS)).toBeUndefined()
  })

  test('answers 304 to a matching ETag, which changes with the list and differs between limits', async () => {
    const { get, putList, clock } = await trendsApi()
    putList()
    const first = await get('/v1/trends')
    const etag = first.headers.get('etag')!
    expect((await get('/v1/trends?limit=29')).headers.get('etag')).not.toBe(etag)
    expect(await get('/v1/trends', { 'if-none-match': etag })).toMatchObject({ status: 304, text: '' })
    clock.now += 30 * SECOND_MS
    putList({ entries: terms(3) })
    const renewed = await get('/v1/trends', { 'if-none-match': etag })
    expect([renewed.status, renewed.body.trends.length]).toEqual([200, 3])
  })

  test('two processes serve the same bytes with the same ETag', async () => {
    const [one, other] = [await trendsApi(), await trendsApi()]
    one.putList()
    other.putList()
    other.clock.now += 7 * SECOND_MS
    const [first, second] = [await one.get('/v1/trends'), await other.get('/v1/trends')]
    expect(second.text).toBe(first.text)
    expect(second.headers.get('etag')).toBe(first.headers.get('etag'))
  })

  test('HEAD has the headers of GET', async () => {
    const { app, get, putList } = await trendsApi()
    putList()
    const head = await app.request('/v1/trends', { method: 'HEAD' })
    const { headers } = await get('/v1/trends')
    expect([head.status, await head.text()]).toEqual([200, ''])
    for (const name of ['etag', 'cache-control', 'content-type']) expect(head.headers.get(name)).toBe(headers.get(name))
  })

  test('queries Redis at most once a second, however many requests arrive', async () => {
    const { get, putList, redis, clock } = await trendsApi()
    putList()
    await Promise.all(Array.from({ length: 20 }, (_, index) => get(`/v1/trends?limit=${index + 1}`)))
    const first = redis.state.reads
    // The first query reads the positions in two topics, the list's version and the list, with caught-up flags.
    // The second query finds the same positions, so it reads nothing else.
    expect(first).toBe(7)
    clock.now += SECOND_MS
    await get('/v1/trends')
    expect(redis.state.reads - first).toBe(3)
  })

  test('a cached answer is reused while the position of its partition is unchanged, and the position is queried at most once a second', async () => {
    const { app, answers, putList, redis, clock } = await trendsApi()
    const ask = async (target: string) => (await app.request(target, {}, { incoming: { url: target } })).status
    const woeids = [1, LONDON, 2459115, 23424977]
    for (const woeid of woeids) putList({ woeid })
    const targets = woeids.map((woeid) => `/v1/trends?woeid=${woeid}`)
    for (const target of targets) expect(await ask(target)).toBe(200)
    const before = redis.state.reads
    for (let step = 0; step < 8; step++) {
      clock.now += 400
      for (const target of targets) expect(answers.get(target, clock.now), `${target} after ${step + 1} steps`).toBeDefined()
      // Lets the running query complete.
      await new Promise((done) => setImmediate(done))
    }
    expect(redis.state.reads - before).toBeLessThanOrEqual(4 * 4 * 3)
    clock.now += 600
    putList({ woeid: 1, window_end: clock.now, entries: terms(2) })
    answers.get(targets[0], clock.now)
    await new Promise((done) => setImmediate(done))
    expect(answers.get(targets[0], clock.now)).toBeUndefined()
    redis.flush()
    clock.now += SECOND_MS
    expect(answers.get(targets[1], clock.now)).toBeUndefined()
    expect(await ask(targets[1])).toBe(503)
  })

  test('answers not_ready until the view has caught up and has a list, answers unavailable without Redis, and then recovers', async () => {
    const { get, putList, redis } = await trendsApi({ caughtUp: false })
    putList()
    const notReady = await get('/v1/trends')
    expect([notReady.status, notReady.body.error, notReady.headers.get('retry-after')]).toEqual([503, 'not_ready', '5'])
    redis.caughtUp('trends', 4)
    expect((await get(`/v1/trends?woeid=${LONDON}`)).body.error).toBe('not_ready')
    redis.state.down = true
    expect(await get('/v1/trends')).toMatchObject({ status: 503, body: { error: 'unavailable' } })
    redis.state.down = false
    expect((await get('/v1/trends')).status).toBe(200)
  })
})

describe('a personalized list', () => {
  const profile = { topic_weights: { '#TERM40': 100, term2: 0 }, exclude_topics: ['Term1'] }

  test("reranks the candidates by the caller's interests, only for this caller", async () => {
    const { get, send, putList, bearer } = await trendsApi()
    putList()
    const headers = await bearer({ sub: '42' })
    await send('PUT', '/v1/me/interests', profile, headers)
    const answered = await get('/v1/trends?personalized=true&limit=3', headers)
    expect([answered.headers.get('cache-control'), answered.headers.get('vary'), answered.headers.get('etag')]).toEqual([
      'private, no-store',
      'Authorization, Cookie',
      null,
    ])
    expect(TrendListSchema.strict().parse(answered.body)).toEqual(answered.body)
    expect(answered.body.personalized).toBe(true)
    expect(answered.body.trends.map(({ rank, term }: { rank: number; term: string }) => [rank, term])).toEqual([
      [1, 'term40'],
      [2, 'term3'],
      [3, 'term4'],
    ])
    expect((await get('/v1/trends?personalized=true', headers)).body.trends).toHaveLength(30)
  })

  test('does not name a muted topic as a trend that is related to another trend', async () => {
    const { get, send, putList, bearer } = await trendsApi()
    putList({ entries: [entry('goal', { related: ['#Spoilers', 'match'] }), entry('spoilers'), entry('match')] })
    const headers = await bearer({ sub: '42' })
    await send('PUT', '/v1/me/interests', { exclude_topics: ['SPOILERS'] }, headers)
    const { body } = await get('/v1/trends?personalized=true', headers)
    expect(body.trends).toMatchObject([{ term: 'goal', related: ['match'] }, { term: 'match' }])
  })

  test('is replaced by the plain list if the token or the parameter is missing, and the Vary header keeps the two lists apart in shared caches', async () => {
    const { get, putList, bearer } = await trendsApi()
    putList()
    const anonymous = await get('/v1/trends?personalized=true')
    expect([anonymous.body.personalized, anonymous.headers.get('cache-control'), anonymous.headers.get('vary')]).toEqual([
      false,
      'public, max-age=60',
      'Accept-Encoding, Authorization, Cookie',
    ])
    const plain = await get('/v1/trends', await bearer({ sub: '42' }))
    expect([plain.body.personalized, plain.headers.get('cache-control')]).toEqual([false, 'public, max-age=60'])
    expect(plain.text).toBe(anonymous.text)
  })

  test('even a plain list is refused with 401 for a bad token, and with 403 if the subject is not a user', async () => {
    const { get, putList, bearer } = await trendsApi()
    putList()
    expect(await get('/v1/trends', { authorization: 'Bearer x.y.z' })).toMatchObject({ status: 401, body: { error: 'unauthorized' } })
    expect(await get('/v1/trends', await bearer({ sub: 'abc' }))).toMatchObject({ status: 403, body: { error: 'forbidden' } })
  })

  test('keeps the plain order for a user without a profile', async () => {
    const { get, putList, bearer } = await trendsApi()
    putList()
    const { body } = await get('/v1/trends?personalized=true', await bearer({ sub: '7' }))
    expect([body.personalized, body.trends[0].term, body.trends[29].term]).toEqual([true, 'term1', 'term30'])
  })

  test('becomes stale together with its list', async () => {
    const { get, putList, bearer, clock } = await trendsApi()
    putList()
    clock.now += 3 * MINUTE_MS + 1
    expect(await get('/v1/trends?personalized=true', await bearer({ sub: '7' }))).toMatchObject({
      status: 503,
      body: { error: 'trends_stale' },
    })
  })
})

test('GET /v1/trends/available lists the 551 locations, cacheable for an hour', async () => {
  const { get } = await trendsApi()
  const { status, headers, body } = await get('/v1/trends/available')
  expect([status, body.length, headers.get('cache-control')]).toEqual([200, 551, 'public, max-age=3600'])
  expect(body[0]).toEqual({ woeid: 1, name: 'Worldwide', type: 'Supername', parent: null, country_code: null })
  const count = (type: string) => body.filter((place: { type: string }) => place.type === type).length
  expect([count('Supername'), count('Country'), count('Town')]).toEqual([1, 50, 500])
  expect((await get('/v1/trends/available', { 'if-none-match': headers.get('etag')! })).status).toBe(304)
})

test('/readyz names the views that are still being built', async () => {
  const { get, redis, kafka, readiness } = await trendsApi({ caughtUp: false })
  redis.caughtUp('interests', 4)
  redis.caughtUp('trends', 2)
  expect((await get('/readyz')).body.missing).toEqual([{ name: 'view trends' }])
  const { missing } = await readiness.report()
  expect(missing).toEqual([{ name: 'view trends', reason: 'still being built: partitions 2, 3' }])
  redis.caughtUp('trends', 4)
  expect((await get('/readyz')).status).toBe(200)
  kafka.known = false
  expect((await get('/v1/trends')).body.error).toBe('not_ready')
})

test('new lists are shown after the clock was set back', async () => {
  const { get, putList, clock } = await trendsApi()
  clock.now = START + 2 * MINUTE_MS
  putList({ window_end: START, entries: terms(1) })
  await get('/v1/trends')
  clock.now = START
  putList({ window_end: START + 1, entries: terms(2) })
  expect((await get('/v1/trends')).body.trends).toHaveLength(2)
})

test('/readyz reports the lists as degraded while the worldwide list is too old, even if the view has lost this list in the meantime', async () => {
  const { get, putList, redis, clock } = await trendsApi()
  const degraded = async () => {
    const { status, body } = await get('/readyz')
    return [status, body.degraded]
  }
  expect(await degraded()).toEqual([200, []])
  putList()
  clock.now = START + 3 * MINUTE_MS
  expect(await degraded()).toEqual([200, []])
  clock.now += 1
  await expect.poll(degraded).toEqual([200, [{ name: 'trend lists' }]])
  redis.flush()
  clock.now += 2 * SECOND_MS
  await expect.poll(degraded).toEqual([200, expect.arrayContaining([{ name: 'view trends' }, { name: 'trend lists' }])])
  redis.caughtUp('trends', 4)
  putList()
  await expect.poll(degraded).toEqual([200, [{ name: 'view interests' }]])
})

test('/readyz names the lists as degraded while the window of the worldwide list ends more than six minutes in the future', async () => {
  const { get, putList, clock } = await trendsApi()
  putList({ window_end: START + 6 * MINUTE_MS })
  expect((await get('/readyz')).body.degraded).toEqual([])
  clock.now--
  await expect.poll(async () => (await get('/readyz')).body.degraded).toEqual([{ name: 'trend lists' }])
})
