import { expect, test } from 'vitest'
import { ApiError, errors } from '../../../api/kit/errors.ts'
import { interests } from '../../../api/trends/interests.ts'
import { partitionFor } from '../../../kafka/partitioner.ts'
import { interestsView } from '../../../state/views/trends/interests.ts'
import { START } from '../kit/harness.ts'
import { trendsApi } from './harness.ts'

const USER = '9223372036854775807'
const PATH = '/v1/me/interests'

test('interests are read back as they were written, except that weights become 32-bit floats and repeated topics are dropped', async () => {
  const { get, send, bearer, published } = await trendsApi()
  const headers = await bearer({ sub: USER })
  expect((await get(PATH, headers)).body).toEqual({ user_id: USER, topic_weights: {}, exclude_topics: [], updated_at: null })
  const body = { topic_weights: { 'Café #1': 0.1, music: 1_000 }, exclude_topics: ['Spoilers', '#SPOILERS', 'dogs'] }
  const written = await send('PUT', PATH, body, headers)
  expect(written.status).toBe(200)
  expect(written.headers.get('cache-control')).toBe('private, no-store')
  const expected = {
    user_id: USER,
    topic_weights: { 'Café #1': Math.fround(0.1), music: 1_000 },
    exclude_topics: ['Spoilers', 'dogs'],
    updated_at: new Date(START).toISOString(),
  }
  expect(written.body).toEqual(expected)
  const read = await get(PATH, headers)
  expect([read.body, read.headers.get('cache-control')]).toEqual([expected, 'private, no-store'])
  expect(published).toEqual([
    {
      topic: 'user-interests',
      key: BigInt(USER),
      value: { user_id: BigInt(USER), topic_weights: expected.topic_weights, exclude_topics: expected.exclude_topics, updated_at: START },
    },
  ])
  expect((await get(PATH, await bearer({ sub: '1' }))).body.topic_weights).toEqual({})
})

test('a request gets 202 if its interests are stored but cannot be read yet', async () => {
  const { send, bearer, kafka } = await trendsApi()
  kafka.sink = false
  expect((await send('PUT', PATH, { topic_weights: { a: 1 } }, await bearer({ sub: '1' }))).status).toBe(202)
})

test('a write of interests while Redis hangs gets 202 without waiting for the time limit of the request', async () => {
  let clock = 0
  const hanging = async () => {
    clock += 1_000
    throw new ApiError(errors.unavailable)
  }
  const { write } = interests({
    reader: { get: hanging } as never,
    facts: { publish: async () => undefined, partitionOf: () => 0 } as never,
    now: () => START,
    monotonic: () => clock,
    sleep: async (ms) => {
      clock += ms
    },
  })
  expect((await write(1n, { topic_weights: {}, exclude_topics: [] })).status).toBe(202)
  expect(clock).toBeLessThanOrEqual(5_000)
})

test('a profile that another writer stored with a later time is not mistaken for the written one, and an invalid time is returned as null', async () => {
  const { get, send, bearer, kafka, redis } = await trendsApi()
  const headers = await bearer({ sub: '1' })
  const partition = partitionFor(Buffer.from('1'), 4)
  const put = (updated_at: number) =>
    redis.apply(interestsView.operationsFor(partition, 1n, { user_id: 1n, topic_weights: { old: 1 }, exclude_topics: [], updated_at }))
  put(START + 60_000)
  expect((await send('PUT', PATH, { topic_weights: { a: 1 } }, headers)).status).toBe(200)
  put(START + 60_000)
  kafka.sink = false
  expect((await send('PUT', PATH, { topic_weights: { a: 1 } }, headers)).status).toBe(202)
  put(Number.MAX_SAFE_INTEGER)
  expect(await get(PATH, headers)).toMatchObject({ status: 200, body: { topic_weights: { old: 1 }, updated_at: null } })
})

test.each([
  [{ topic_weights: { a: -1 } }, 'body.topic_weights.a'],
  [{ topic_weights: { a: 1_000.1 } }, 'body.topic_weights.a'],
  [{ topic_weights: { a: '1' } }, 'body.topic_weights.a'],
  [{ topic_weights: { Cats: 1, '#cats': 2 } }, 'body.topic_weights.#cats'],
  [{ topic_weights: { '#': 1 } }, 'body.topic_weights.#'],
  [{ topic_weights: [] }, 'body.topic_weights'],
  [{ topic_weights: Object.fromEntries(Array.from({ length: 1_001 }, (_, index) => [`t${index}`, 1])) }, 'body.topic_weights'],
  [{ exclude_topics: [''] }, 'body.exclude_topics[0]'],
  [{ exclude_topics: ['x'.repeat(141)] }, 'body.exclude_topics[0]'],
  [{ exclude_topics: 'cats' }, 'body.exclude_topics'],
  [[], 'body'],
])('%j is refused with invalid_request', async (body, path) => {
  const { send, bearer, published } = await trendsApi()
  const answered = await send('PUT', PATH, body, await bearer({ sub: '1' }))
  expect(answered).toMatchObject({ status: 400, body: { error: 'invalid_request', details: [{ path }] } })
  expect(published).toEqual([])
})

test('an error names at most 20 wrong topics, and long topics are truncated', async () => {
  const { send, bearer } = await trendsApi()
  const headers = await bearer({ sub: '1' })
  const exclude_topics = Array.from({ length: 1_000 }, () => '#')
  expect((await send('PUT', PATH, { exclude_topics }, headers)).body.details).toHaveLength(20)
  const [detail] = (await send('PUT', PATH, { topic_weights: { ['x'.repeat(100_000)]: 1 } }, headers)).body.details
  expect(detail.path.length).toBeLessThan(300)
})

test('a topic that has the name of a property of every object is stored like any other topic', async () => {
  const { app, get, bearer } = await trendsApi()
  const headers = await bearer({ sub: '1' })
  const odd = '{"topic_weights":{"constructor":1,"toString":2},"exclude_topics":["hasOwnProperty"]}'
  const written = await app.request(PATH, { method: 'PUT', headers: { 'content-type': 'application/json', ...headers }, body: odd })
  expect(written.status).toBe(200)
  expect((await get(PATH, headers)).body).toMatchObject({
    topic_weights: { constructor: 1, toString: 2 },
    exclude_topics: ['hasOwnProperty'],
  })
})

test('requests for interests need a user, and get unavailable without Kafka and not_ready before the view is ready', async () => {
  const { get, send, bearer, kafka, redis } = await trendsApi()
  expect(await get(PATH)).toMatchObject({ status: 401, body: { error: 'unauthorized' } })
  expect(await send('PUT', PATH, {})).toMatchObject({ status: 401 })
  expect(await get(PATH, await bearer({ sub: 'b7c5' }))).toMatchObject({ status: 403, body: { error: 'forbidden' } })
  kafka.down = true
  expect(await send('PUT', PATH, {}, await bearer({ sub: '1' }))).toMatchObject({ status: 503, body: { error: 'unavailable' } })
  redis.flush()
  expect(await get(PATH, await bearer({ sub: '1' }))).toMatchObject({ status: 503, body: { error: 'not_ready' } })
})
