import { beforeAll, expect, test } from 'vitest'
import { START } from '../kit/harness.ts'
import { recommendationsApi } from './harness.ts'

const NOW_SECONDS = START / 1_000
const VIEW = { item_id: '5', event_type: 'VIEW' }

let api: Awaited<ReturnType<typeof recommendationsApi>>
beforeAll(async () => {
  api = await recommendationsApi()
  for (let id = 1n; id <= 60n; id++) api.putItem(id, {})
})

test.each([
  ['an unknown type', { ...VIEW, event_type: 'LOOK' }, 'body.event_type'],
  ['a type that has its own endpoint', { ...VIEW, event_type: 'NOT_INTERESTED' }, 'body.event_type'],
  ['a rating of 0', { ...VIEW, event_type: 'RATE', metadata: { rating: 0 } }, 'body.metadata.rating'],
  ['a rating of 6', { ...VIEW, event_type: 'RATE', metadata: { rating: 6 } }, 'body.metadata.rating'],
  ['a RATE without a rating', { ...VIEW, event_type: 'RATE' }, 'body.metadata.rating'],
  ['more than 100 % watched', { ...VIEW, metadata: { watch_pct: 1.01 } }, 'body.metadata.watch_pct'],
  ['a negative share watched', { ...VIEW, metadata: { watch_pct: -0.1 } }, 'body.metadata.watch_pct'],
  ['a time 6 minutes ahead', { ...VIEW, timestamp: NOW_SECONDS + 360 }, 'body.timestamp'],
  ['a time 91 days ago', { ...VIEW, timestamp: NOW_SECONDS - 91 * 86_400 }, 'body.timestamp'],
  ['a dwell time of more than a day', { ...VIEW, metadata: { dwell_time_sec: 86_401 } }, 'body.metadata.dwell_time_sec'],
  ['the position 10,001', { ...VIEW, context: { position: 10_001 } }, 'body.context.position'],
  ['a page of 101 characters', { ...VIEW, context: { page: 'p'.repeat(101) } }, 'body.context.page'],
  ['a device of 101 characters', { ...VIEW, context: { device: 'd'.repeat(101) } }, 'body.context.device'],
  ['a rec_request_id of 129 characters', { ...VIEW, context: { rec_request_id: 'r'.repeat(129) } }, 'body.context.rec_request_id'],
  ['a session_id of 129 characters', { ...VIEW, context: { session_id: 's'.repeat(129) } }, 'body.context.session_id'],
  ['an event_id of 129 characters', { ...VIEW, event_id: 'e'.repeat(129) }, 'body.event_id'],
  ['no item', { event_type: 'VIEW' }, 'body.item_id'],
  ['the item id 0', { ...VIEW, item_id: 0 }, 'body.item_id'],
  ['an item id beyond 64 bits', { ...VIEW, item_id: '9223372036854775808' }, 'body.item_id'],
  ['an unknown field', { ...VIEW, extra: 1 }, 'body'],
])('an event with %s is refused and not published', async (_what, body, path) => {
  const before = api.published.length
  const { status, body: answer } = await api.send('POST', '/api/v1/events', { user: '42', body })
  expect([status, answer.error]).toEqual([400, 'invalid_request'])
  expect(answer.details.map((detail: { path: string }) => detail.path).join()).toContain(path)
  expect(api.published).toHaveLength(before)
})

test('an event is accepted if each of its fields is at its limit', async () => {
  const context = { page: 'p'.repeat(100), device: 'd'.repeat(100), position: 10_000 }
  const ids = { rec_request_id: 'r'.repeat(128), session_id: 's'.repeat(128) }
  const metadata = { dwell_time_sec: 86_400, rating: 5, watch_pct: 1 }
  const event = { ...VIEW, event_id: 'e'.repeat(128), context: { ...context, ...ids }, metadata }
  for (const timestamp of [NOW_SECONDS + 300, NOW_SECONDS - 90 * 86_400])
    expect((await api.send('POST', '/api/v1/events', { user: '42', body: { ...event, timestamp } })).status).toBe(202)
})

test('the error for an invalid id in a body says what an id must be, and that large ids must be strings', async () => {
  const messageOf = async (item_id: unknown) => {
    const { body } = await api.send('POST', '/api/v1/me/not-interested', { user: '42', body: { item_id } })
    return body.details[0].message
  }
  for (const id of [0, -1, 1.5, '0', 'x', '9223372036854775808', true])
    expect(await messageOf(id)).toBe('must be a whole number from 1 to 2^63-1')
  for (const id of [2 ** 53, 2 ** 62])
    expect(await messageOf(id)).toBe('must be a string if it is above 2^53-1, because larger JSON numbers are not exact')
})

test('an invalid event of a batch is named, and no event of the batch is published', async () => {
  const before = api.published.length
  const events = [VIEW, { ...VIEW, timestamp: NOW_SECONDS + 900 }]
  const { status, body } = await api.send('POST', '/api/v1/events/batch', { user: '42', body: { events } })
  expect([status, body.details[0].path]).toEqual([400, 'body.events[1].timestamp'])
  for (const size of [0, 501]) {
    const many = { events: Array.from({ length: size }, () => VIEW) }
    expect((await api.send('POST', '/api/v1/events/batch', { user: '42', body: many })).status).toBe(400)
  }
  expect(api.published).toHaveLength(before)
})

test('users act only for themselves, and services act for any user', async () => {
  const body = { ...VIEW, user_id: '43' }
  expect((await api.send('POST', '/api/v1/events', { user: '42', body })).status).toBe(403)
  expect((await api.send('POST', '/api/v1/events', { body })).status).toBe(401)
  expect((await api.send('GET', '/api/v1/recommendations?user_id=43', { user: '42' })).status).toBe(403)
  const explained = await api.send('GET', '/api/v1/recommendations?explain=true', { user: '42' })
  expect([explained.status, explained.body.message]).toEqual([403, 'A request with explain=true needs a token with the scope internal.'])
  expect((await api.send('GET', '/internal/features/user/42', { user: '42' })).status).toBe(403)
  expect((await api.send('POST', '/api/v1/events', { user: 'shop', scope: 'internal', body })).status).toBe(202)
  expect(api.published.at(-1)).toMatchObject({ topic: 'interactions', key: 43n })
  expect((await api.send('POST', '/api/v1/events', { user: 'shop', scope: 'internal', body: VIEW })).status).toBe(400)
})

test('an event without an id gets an id, and a repetition of the event gets the same id', async () => {
  for (let time = 0; time < 2; time++) {
    await api.send('POST', '/api/v1/events', { user: '42', body: { ...VIEW, item_id: 5, timestamp: NOW_SECONDS } })
  }
  const [one, other] = api.published.slice(-2)
  expect(one).toEqual(other)
  expect(one).toMatchObject({ key: 42n, value: { item_id: 5n, event_id: `5-VIEW-${NOW_SECONDS}` } })
})

test('the repetition of an event without an id or a time gets the same id if it has the same Idempotency-Key', async () => {
  const send = async (key: string | undefined, path: string, body: object) => {
    api.state.now += 5_000
    const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key }
    expect((await api.send('POST', path, { user: '42', body, headers })).status).toBe(202)
  }
  const idsOf = (count: number) => api.published.slice(-count).map(({ value }) => value.event_id as string)
  const batch = { events: [VIEW, VIEW, { ...VIEW, event_id: 'own' }, { ...VIEW, item_id: '6' }] }
  for (const path of ['/api/v1/events', '/api/v1/events/batch']) {
    const [body, count] = path.endsWith('batch') ? [batch, 4] : [VIEW, 1]
    await send('k', path, body)
    const first = idsOf(count)
    expect(new Set(first).size).toBe(count)
    await send('k', path, body)
    expect(idsOf(count)).toEqual(first)
    await send('other', path, body)
    expect(idsOf(count).filter((id) => first.includes(id))).toEqual(path.endsWith('batch') ? ['own'] : [])
  }
  await send('k', '/api/v1/events', VIEW)
  const [one] = idsOf(1)
  await send('k', '/api/v1/events', { ...VIEW, item_id: '7' })
  expect(idsOf(1)).not.toEqual([one])
  await send(undefined, '/api/v1/events', VIEW)
  expect(idsOf(1)).toEqual([`5-VIEW-${api.state.now / 1_000}`])
  const long = { 'idempotency-key': 'k'.repeat(129) }
  expect((await api.send('POST', '/api/v1/events', { user: '42', body: VIEW, headers: long })).status).toBe(400)
})

test('events of different callers with the same Idempotency-Key have different ids, because keys belong to callers', async () => {
  const callers = [{ user: '42' }, { user: 'shop', scope: 'internal' }, { user: 'player', scope: 'internal' }]
  for (const caller of callers) {
    const request = { ...caller, body: { ...VIEW, user_id: '42' }, headers: { 'idempotency-key': 'k' } }
    expect((await api.send('POST', '/api/v1/events', request)).status).toBe(202)
  }
  expect(new Set(api.published.slice(-3).map(({ value }) => value.event_id)).size).toBe(3)
})

test.each([
  ['limit=0'],
  ['limit=51'],
  ['limit=ten'],
  ['context=lobby'],
  ['rec_type=best'],
  ['item_id=x'],
  ['user_id=-1'],
  ['diversity=maybe'],
])('a request for a list with %s is refused', async (query) => {
  const { status, body } = await api.send('GET', `/api/v1/recommendations?${query}`, { user: '42' })
  expect([status, body.error]).toEqual([400, 'invalid_request'])
})

test('a page token that is forged, expired or issued to another user is refused', async () => {
  const { body } = await api.send('GET', '/api/v1/recommendations?limit=10', { user: '42' })
  const ask = (token: string, user = '42') => api.send('GET', `/api/v1/recommendations?page_token=${token}`, { user })
  expect((await ask(body.page_token)).status).toBe(200)
  const [text, signature] = body.page_token.split('.')
  const other = Buffer.from(Buffer.from(text, 'base64url').toString().replace('"u":"42"', '"u":"43"')).toString('base64url')
  for (const token of [
    '',
    'x',
    'x'.repeat(12_001),
    `${text}.`,
    `${body.page_token}.x`,
    `${text}.${signature.slice(1)}A`,
    `${other}.${signature}`,
  ]) {
    expect((await ask(token)).body.error).toBe('invalid_page_token')
  }
  expect((await ask(body.page_token, '43')).body.error).toBe('invalid_page_token')
  api.state.now += 30 * 60_000 + 1
  expect((await ask(body.page_token)).body).toMatchObject({ error: 'invalid_page_token', message: expect.stringContaining('expired') })
  api.state.now = START
})

test('a request for similar items is refused for an unknown item and for a limit of 0', async () => {
  expect((await api.send('GET', '/api/v1/items/999/similar')).body.error).toBe('item_not_found')
  expect((await api.send('GET', '/api/v1/items/1/similar?limit=0')).status).toBe(400)
})

test('without Kafka, events get 503 with Retry-After, and lists still work', async () => {
  api.state.isKafkaAway = true
  const { status, headers } = await api.send('POST', '/api/v1/events', { user: '42', body: VIEW })
  expect([status, headers.get('retry-after')]).toEqual([503, '1'])
  expect((await api.send('GET', '/api/v1/recommendations', { user: '42' })).status).toBe(200)
  api.state.isKafkaAway = false
})
