import { expect, test } from 'vitest'
import { FRAUD_BLOCKLIST_VIEW } from '../../../../state/views/fraud/blocklist.ts'
import { caughtUpKey } from '../../../../state/views/view.ts'
import { isStoredEntry, requestOf } from './entries.ts'
import { blocklistApi } from './harness.ts'

const HOUR_MS = 3_600_000
const DEVICE = { entity_type: 'DEVICE', entity_value: ' d1 ', reason: 'chargebacks', ttl_hours: 1 }

test('an entity is blocked as soon as the response arrives, and its entry can be read, listed and removed', async () => {
  const { send, blocklist } = await blocklistApi()
  const created = await send('POST', '', { body: DEVICE })
  expect(created).toEqual({
    status: 201,
    body: {
      entry_id: expect.stringMatching(/^[0-9a-f]{32}$/),
      entity_type: 'DEVICE',
      entity_value: 'd1',
      reason: 'chargebacks',
      blocked_by: 'ann',
      ttl_hours: 1,
      created_at: '2026-01-15T12:00:00.000Z',
      expires_at: '2026-01-15T13:00:00.000Z',
    },
  })
  expect(blocklist.find(requestOf({ device: 'd1' }))).toBe('DEVICE')
  expect(blocklist.find(requestOf({ device: 'd2' }))).toBeUndefined()
  const { entry_id } = created.body
  expect(await send('GET', `/${entry_id}`)).toEqual({ status: 200, body: created.body })
  expect(await send('GET', '')).toEqual({ status: 200, body: { entries: [created.body], next: null } })
  expect(await send('DELETE', `/${entry_id}`)).toEqual({ status: 204, body: undefined })
  expect(blocklist.find(requestOf({ device: 'd1' }))).toBeUndefined()
  expect((await send('GET', '')).body.entries).toEqual([])
  for (const method of ['GET', 'DELETE']) {
    for (const id of [entry_id, 'no-id']) {
      expect(await send(method, `/${id}`)).toMatchObject({ status: 404, body: { error: 'blocklist_entry_not_found' } })
    }
  }
})

test('an equal entry gets 200, and a different entry for the same entity gets a 409 with the id of the existing entry', async () => {
  const { send, advance } = await blocklistApi()
  const { body: first } = await send('POST', '', { body: DEVICE })
  advance(1_000)
  expect(await send('POST', '', { body: { ...DEVICE, entity_value: 'd1', blocked_by: 'ann' } })).toEqual({ status: 200, body: first })
  expect(await send('POST', '', { body: { ...DEVICE, reason: 'other' } })).toMatchObject({
    status: 409,
    body: { error: 'blocklist_entry_exists', entry_id: first.entry_id },
  })
  expect((await send('GET', `/${first.entry_id}`)).body).toEqual(first)
})

test('PUT changes an entry, which stays in force', async () => {
  const { send, blocklist, advance } = await blocklistApi()
  const { body: first } = await send('POST', '', { body: DEVICE })
  advance(1_000)
  const changed = { ...first, reason: 'other', blocked_by: 'bob', ttl_hours: null, expires_at: null }
  const body = { reason: 'other', blocked_by: 'bob', ttl_hours: null }
  expect(await send('PUT', `/${first.entry_id}`, { body })).toEqual({ status: 200, body: changed })
  expect((await send('GET', `/${first.entry_id}`)).body).toEqual(changed)
  expect(await send('PUT', `/${first.entry_id}`, { body: { ...body, entity_value: 'd2' } })).toMatchObject({ status: 400 })
  for (const id of ['0'.repeat(32), 'no-id']) {
    expect(await send('PUT', `/${id}`, { body })).toMatchObject({ status: 404, body: { error: 'blocklist_entry_not_found' } })
  }
  advance(2 * 3_600_000)
  expect(blocklist.find(requestOf({ device: 'd1' }))).toBe('DEVICE')
})

test('a repeated PUT gets the first answer, although the entry has been removed since', async () => {
  const { send } = await blocklistApi()
  const { body: entry } = await send('POST', '', { body: DEVICE })
  const put = (key: string) =>
    send('PUT', `/${entry.entry_id}`, { body: { reason: 'other', ttl_hours: 2 }, headers: { 'idempotency-key': key } })
  const first = await put('k1')
  expect([first.status, first.body.reason]).toEqual([200, 'other'])
  await send('DELETE', `/${entry.entry_id}`)
  expect(await put('k1')).toEqual(first)
  expect(await put('k2')).toMatchObject({ status: 404, body: { error: 'blocklist_entry_not_found' } })
})

test('a repeated DELETE gets the first answer', async () => {
  const { send } = await blocklistApi()
  const { body: entry } = await send('POST', '', { body: DEVICE })
  const remove = (key: string) => send('DELETE', `/${entry.entry_id}`, { headers: { 'idempotency-key': key } })
  expect([(await remove('k')).status, (await remove('k')).status, (await remove('other')).status]).toEqual([204, 204, 404])
})

test('an entry of any type is found by its canonical value, and types are checked in a fixed order', async () => {
  const { send, blocklist, hashes } = await blocklistApi()
  const block = async (entity_type: string, entity_value: string) =>
    expect((await send('POST', '', { body: { entity_type, entity_value, reason: 'r' } })).status).toBe(201)
  const request = requestOf({ user: 'u1', device: 'd1', ip: '2001:db8::1', card: 'c1', email: hashes.email('a@example.com') })
  expect(blocklist.find(request)).toBeUndefined()
  const steps = [
    ['EMAIL', ' A@EXAMPLE.com'],
    ['CARD_HASH', 'c1\n'],
    ['IP', '2001:DB8:0:0::1'],
    ['DEVICE', 'd1'],
    ['USER', 'u1 '],
  ] as const
  for (const [type, value] of steps) {
    await block(type, value)
    expect(blocklist.find(request)).toBe(type)
  }
  // Entries with the same value but a different type do not match.
  expect(blocklist.find(requestOf({ user: 'd1', device: 'u1', card: 'u1' }))).toBeUndefined()
})

test('an expired entry neither blocks nor is shown, even before it is removed', async () => {
  const { send, blocklist, clock } = await blocklistApi()
  const { body } = await send('POST', '', { body: DEVICE })
  clock.now += HOUR_MS
  expect(blocklist.find(requestOf({ device: 'd1' }))).toBeUndefined()
  expect((await send('GET', '')).body.entries).toEqual([])
  expect((await send('GET', `/${body.entry_id}`)).status).toBe(404)
})

test('an e-mail address appears only in its masked form', async () => {
  const { send, published, redis, lines } = await blocklistApi()
  const body = { entity_type: 'EMAIL', entity_value: 'Ann.Smith@example.com', reason: 'r' }
  const { body: entry } = await send('POST', '', { body, headers: { 'idempotency-key': 'k1' } })
  expect(entry.entity_value).toBe('a***@example.com')
  expect((await send('GET', '')).body.entries).toEqual([entry])
  expect(isStoredEntry(redis, entry.entry_id)).toBe(true)
  expect(JSON.stringify([published, redis.published, lines]).toLowerCase()).not.toContain('smith')
})

test('lists are newest first, in pages without gaps, and can be limited to one type', async () => {
  const { send, advance } = await blocklistApi()
  const ids: string[] = []
  for (let index = 0; index < 25; index++) {
    const entity_type = index % 5 === 0 ? 'USER' : 'DEVICE'
    ids.unshift((await send('POST', '', { body: { entity_type, entity_value: `e${index}`, reason: 'r' } })).body.entry_id)
    advance(1)
  }

  async function pages(query: string) {
    const found: string[][] = []
    for (let after: string | null = ''; after !== null; ) {
      const { body } = await send('GET', `?${query}${after === '' ? '' : `&after=${after}`}`)
      found.push(body.entries.map(({ entry_id }: { entry_id: string }) => entry_id))
      after = body.next
    }
    return found
  }

  const all = await pages('limit=10')
  expect([all.map((page) => page.length), all.flat()]).toEqual([[10, 10, 5], ids])
  const users = await pages('entity_type=USER&limit=2')
  expect([users.map((page) => page.length), users.flat()]).toEqual([[2, 2, 1], ids.filter((_, index) => (24 - index) % 5 === 0)])
  expect(await pages('limit=25')).toEqual([ids])
  for (const query of ['limit=101', 'limit=0', 'after=x', 'entity_type=PHONE']) {
    expect(await send('GET', `?${query}`)).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
  }
})

test('a bulk request returns a result for each entry, and an invalid entry does not stop the others from being created', async () => {
  const { send, blocklist } = await blocklistApi()
  const { body: existing } = await send('POST', '', { body: { entity_type: 'USER', entity_value: 'u1', reason: 'r' } })
  const entries = [
    { entity_type: 'USER', entity_value: 'u1', reason: 'r' },
    { entity_type: 'USER', entity_value: 'u1', reason: 'another' },
    { entity_type: 'IP', entity_value: '192.0.2.0/24', reason: 'r' },
    { entity_type: 'DEVICE', entity_value: 'd1', reason: 'r', ttl_hours: 0 },
    { entity_type: 'DEVICE', entity_value: 'd2', reason: 'r' },
    { entity_type: 'DEVICE', entity_value: 'd2', reason: 'r' },
    'nothing',
  ]
  const { status, body } = await send('POST', '/bulk', { body: { entries } })
  expect([status, body.results.map(({ status: each }: { status: string }) => each)]).toEqual([
    200,
    ['exists', 'conflict', 'invalid', 'invalid', 'created', 'exists', 'invalid'],
  ])
  expect(body.results[0].entry_id).toBe(existing.entry_id)
  expect(body.results[2]).toEqual({
    status: 'invalid',
    entry_id: null,
    details: [{ path: 'body.entries[2].entity_value', message: 'must be an IP address; use a rule to block a network' }],
  })
  expect(body.results[3].details[0].path).toBe('body.entries[3].ttl_hours')
  expect(blocklist.find(requestOf({ device: 'd2' }))).toBe('DEVICE')
})

test('a bulk request has 1 to 1,000 entries', async () => {
  const { send } = await blocklistApi()
  const many = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ entity_type: 'USER', entity_value: `u${index}`, reason: 'r' }))
  for (const count of [0, 1_001]) expect((await send('POST', '/bulk', { body: { entries: many(count) } })).status).toBe(400)
  const { status, body } = await send('POST', '/bulk', { body: { entries: many(1_000) } })
  expect([status, body.results.every((result: { status: string }) => result.status === 'created')]).toEqual([200, true])
})

test.each([
  [{ ...DEVICE, entity_type: 'PHONE' }, 'body.entity_type'],
  [{ ...DEVICE, entity_value: ' ' }, 'body.entity_value'],
  [{ ...DEVICE, entity_value: 'x'.repeat(129) }, 'body.entity_value'],
  [{ ...DEVICE, entity_type: 'USER', entity_value: 'x'.repeat(51) }, 'body.entity_value'],
  [{ ...DEVICE, entity_type: 'EMAIL', entity_value: `${'x'.repeat(320)}@example.com` }, 'body.entity_value'],
  [{ ...DEVICE, entity_type: 'IP' }, 'body.entity_value'],
  [{ ...DEVICE, entity_type: 'EMAIL' }, 'body.entity_value'],
  [{ ...DEVICE, reason: '' }, 'body.reason'],
  [{ ...DEVICE, ttl_hours: 0 }, 'body.ttl_hours'],
  [{ ...DEVICE, ttl_hours: 1.5 }, 'body.ttl_hours'],
  [{ ...DEVICE, ttl_hours: 87_601 }, 'body.ttl_hours'],
  [{ ...DEVICE, ttl_hours: '1' }, 'body.ttl_hours'],
])('the entry %j is refused because of %s', async (body, path) => {
  const { send } = await blocklistApi()
  expect(await send('POST', '', { body })).toMatchObject({ status: 400, body: { error: 'invalid_request', details: [{ path }] } })
})

test('the number of a payment card is neither stored, logged nor returned', async () => {
  const { send, published, lines } = await blocklistApi()
  const NUMBER = '4111 1111 1111 1111'
  const card = { entity_type: 'CARD_HASH', entity_value: NUMBER, reason: 'r' }
  const single = await send('POST', '', { body: card })
  expect(single).toMatchObject({ status: 400, body: { error: 'raw_card_number', details: [{ path: 'body.entity_value' }] } })
  const bulk = await send('POST', '/bulk', { body: { entries: [card] } })
  expect(bulk.body.results).toMatchObject([{ status: 'invalid', details: [{ path: 'body.entries[0].entity_value' }] }])
  expect(JSON.stringify([single, bulk, published, lines])).not.toContain('1111')
})

test('only analysts and administrators may read or change the list', async () => {
  const { send } = await blocklistApi()
  const unknown = `/${'0'.repeat(32)}`
  const calls = [
    ['POST', '', { body: DEVICE }, 201],
    ['GET', '', {}, 200],
    ['GET', unknown, {}, 404],
    ['PUT', unknown, { body: { reason: 'other', ttl_hours: 1 } }, 404],
    ['DELETE', unknown, {}, 404],
    ['POST', '/bulk', { body: { entries: [DEVICE] } }, 200],
  ] as const
  for (const [method, path, options, allowed] of calls) {
    expect((await send(method, path, { ...options, as: null })).status).toBe(401)
    for (const scope of ['fraud:ops', 'internal', 'seller']) {
      expect((await send(method, path, { ...options, as: { sub: 'x', scope } })).status).toBe(403)
    }
    const { status } = await send(method, path, { ...options, as: { sub: 'root', scope: 'admin' } })
    expect([method, path, status]).toEqual([method, path, allowed])
  }
})

test('while Kafka or the worker is down, a request to block an entity gets 503, and it can be repeated with the command_id from this response', async () => {
  const { send, faults, blocklist, decide } = await blocklistApi()
  faults.kafkaDown = true
  const refused = await send('POST', '', { body: DEVICE })
  expect(refused).toMatchObject({ status: 503, body: { error: 'unavailable', command_id: expect.any(String) } })
  expect((await send('POST', '/bulk', { body: { entries: [DEVICE] } })).status).toBe(503)
  expect(blocklist.find(requestOf({ device: 'd1' }))).toBeUndefined()
  faults.kafkaDown = false
  faults.deciderDown = true
  const late = await send('POST', '', { body: DEVICE })
  expect(late).toMatchObject({ status: 503, body: { error: 'unavailable' } })
  faults.deciderDown = false
  decide()
  const repeated = await send('POST', '', { body: DEVICE, headers: { 'idempotency-key': late.body.command_id } })
  expect([repeated.status, blocklist.find(requestOf({ device: 'd1' }))]).toEqual([201, 'DEVICE'])
})

test('a view that is still being built gives 503 instead of an empty list', async () => {
  const { send, redis } = await blocklistApi()
  redis.flush()
  for (const path of ['', `/${'0'.repeat(32)}`]) {
    expect(await send('GET', path)).toMatchObject({ status: 503, body: { error: 'not_ready' } })
  }
})

test('an API is ready to score while the view of the blocklist is rebuilt, and reports the view as degraded', async () => {
  const { app, send, redis, blocklist } = await blocklistApi()
  await send('POST', '', { body: DEVICE })
  redis.apply([{ op: 'del', key: caughtUpKey(FRAUD_BLOCKLIST_VIEW, 0) }])
  const ready = await app.request('/readyz')
  expect([ready.status, (await ready.json()).degraded]).toEqual([200, [{ name: 'view fraud-blocklist' }]])
  expect(blocklist.find(requestOf({ device: 'd1' }))).toBe('DEVICE')
  expect((await send('GET', '')).status).toBe(503)
})
