import { describe, expect, test } from 'vitest'
import { qrCode } from '../../../api/links/qr.ts'
import { START } from '../kit/harness.ts'
import { linksApi } from './harness.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const URL_1 = 'https://example.com/1'
/** Expiry of all tokens. It is later than any time to which the tests advance the clock. */
const exp = START + 400 * DAY_MS
const ALICE = { sub: '42', exp }
const BOB = { sub: '43', exp }
const ADMIN = { sub: '1', scope: 'admin', exp }

describe('POST /api/v1/urls', () => {
  test('gives an anonymous caller a random code', async () => {
    const { create, clock } = await linksApi()
    const { status, body } = await create({ long_url: URL_1 })
    expect(status).toBe(201)
    expect(body).toEqual({
      short_url: `http://sho.rt/${body.short_code}`,
      short_code: expect.stringMatching(/^[0-9A-Za-z]{7}$/),
      long_url: URL_1,
      created_at: new Date(clock.now).toISOString(),
      expires_at: null,
      domain: 'sho.rt',
      is_active: true,
      analytics: true,
      expired_url: null,
    })
    expect((await create({ long_url: URL_1 })).body.short_code).not.toBe(body.short_code)
  })

  test('gives a user the same link for the same URL, even with another expiration, and gives other users other links', async () => {
    const { create, advance } = await linksApi()
    const first = await create({ long_url: URL_1 }, { as: ALICE })
    advance(HOUR_MS)
    const again = await create({ long_url: URL_1, expiration: '1d' }, { as: ALICE })
    expect(again.status).toBe(201)
    expect(again.body).toEqual(first.body)
    expect((await create({ long_url: URL_1 }, { as: BOB })).body.short_code).not.toBe(first.body.short_code)
    expect((await create({ long_url: URL_1, deduplicate: false }, { as: ALICE })).body.short_code).not.toBe(first.body.short_code)
    expect((await create({ long_url: URL_1, domain: 'go.example' }, { as: ALICE })).body.short_code).not.toBe(first.body.short_code)
  })

  test('gives a new link whenever the existing one is deleted, switched off or expired', async () => {
    const { create, send, advance } = await linksApi()
    const codes = new Set<string>()
    for (let round = 0; round < 10; round++) {
      const { body } = await create({ long_url: URL_1, expiration: '1h' }, { as: ALICE })
      codes.add(body.short_code)
      if (round % 3 === 0) await send('DELETE', `/api/v1/urls/${body.short_code}`, { as: ALICE })
      else if (round % 3 === 1) await send('PATCH', `/api/v1/urls/${body.short_code}`, { as: ALICE, body: { is_active: false } })
      else advance(HOUR_MS)
    }
    expect(codes.size).toBe(10)
  })

  test('gives a user two links for the same URL if one of them counts clicks and the other does not', async () => {
    const { create } = await linksApi()
    const codeOf = async (analytics: boolean) => (await create({ long_url: URL_1, analytics }, { as: ALICE })).body.short_code
    const [counted, uncounted] = [await codeOf(true), await codeOf(false)]
    expect(uncounted).not.toBe(counted)
    expect([await codeOf(true), await codeOf(false)]).toEqual([counted, uncounted])
  })

  test('finds the existing link with few commands, even if twelve links for the same URL have expired', async () => {
    const { create, advance, published } = await linksApi()
    const daily = (headers?: Record<string, string>) => create({ long_url: URL_1, expiration: '1h' }, { as: ALICE, headers })
    for (let day = 0; day < 12; day++) {
      await daily()
      advance(HOUR_MS)
    }
    const before = published.length
    const first = await daily({ 'idempotency-key': 'one' })
    expect((await daily()).body).toEqual(first.body)
    expect(published.length - before).toBe(4)
    advance(HOUR_MS)
    expect((await daily()).body.short_code).not.toBe(first.body.short_code)
    expect((await daily({ 'idempotency-key': 'one' })).body).toEqual({ ...first.body, is_active: false })
  })

  test.each([
    ['1h', HOUR_MS],
    ['1d', DAY_MS],
    ['7d', 7 * DAY_MS],
    ['30d', 30 * DAY_MS],
    ['1y', 365 * DAY_MS],
  ])('a link with the expiration %s expires after that time', async (expiration, ms) => {
    const { create, clock } = await linksApi()
    expect((await create({ long_url: URL_1, expiration })).body.expires_at).toBe(new Date(clock.now + ms).toISOString())
  })

  test('gives an alias permanently to one caller, in exactly the requested spelling', async () => {
    const { create, send } = await linksApi()
    expect((await create({ long_url: URL_1, custom_alias: 'My-link_1' }, { as: ALICE })).body.short_code).toBe('My-link_1')
    const taken = { status: 409, body: { error: 'alias_taken' } }
    expect(await create({ long_url: URL_1, custom_alias: 'My-link_1' }, { as: ALICE })).toMatchObject(taken)
    expect((await create({ long_url: URL_1, custom_alias: 'my-link_1' })).status).toBe(201)
    await send('DELETE', '/api/v1/urls/My-link_1', { as: ALICE })
    expect(await create({ long_url: URL_1, custom_alias: 'My-link_1' }, { as: BOB })).toMatchObject(taken)
    for (const alias of ['api', 'DOCS', 'healthz']) expect(await create({ long_url: URL_1, custom_alias: alias })).toMatchObject(taken)
  })

  test.each([
    [{ custom_alias: 'ab' }, 'invalid_alias'],
    [{ custom_alias: 'elevenchars' }, 'invalid_alias'],
    [{ custom_alias: 'with.dot' }, 'invalid_alias'],
    [{ custom_alias: 7 }, 'invalid_alias'],
    [{ custom_alias: null }, 'invalid_alias'],
    [{ domain: 'other.example' }, 'invalid_domain'],
    [{ domain: ['sho.rt'] }, 'invalid_domain'],
    [{ long_url: undefined }, 'invalid_url'],
    [{ long_url: 7 }, 'invalid_url'],
    [{ expired_url: 'nowhere' }, 'invalid_url'],
    [{ expiration: '2h' }, 'invalid_request'],
    [{ analytics: 'yes' }, 'invalid_request'],
  ])('refuses %j as %s without sending a command', async (fields, error) => {
    const { create, published } = await linksApi()
    expect(await create({ long_url: URL_1, ...fields })).toMatchObject({ status: 400, body: { error } })
    expect(published).toEqual([])
  })

  test('gives a short URL with the scheme and host of the chosen domain', async () => {
    const { create } = await linksApi()
    const { body } = await create({ long_url: URL_1, domain: 'GO.example' })
    expect(body).toMatchObject({ short_url: `https://go.example/${body.short_code}`, domain: 'go.example' })
  })

  test('gives the same link for the same Idempotency-Key, and answers 409 for another body and 400 for a malformed key', async () => {
    const { create } = await linksApi()
    const headers = { 'idempotency-key': 'one' }
    const first = await create({ long_url: URL_1, expiration: '1h' }, { headers })
    expect((await create({ expiration: '1h', long_url: URL_1 }, { headers })).body).toEqual(first.body)
    expect(await create({ long_url: URL_1 }, { headers })).toMatchObject({ status: 409, body: { error: 'idempotency_conflict' } })
    const malformed = await create({ long_url: URL_1 }, { headers: { 'idempotency-key': 'é' } })
    expect(malformed).toMatchObject({ status: 400, body: { details: [{ path: 'header.idempotency-key' }] } })
  })

  test.each([
    ['by a user', ALICE, {}],
    ['by a user without de-duplication', ALICE, { deduplicate: false }],
    ['by an anonymous caller', undefined, {}],
  ])('a repeated request %s gets the same link, even after Redis was emptied', async (_who, as, fields) => {
    const { create, send, loseRedis } = await linksApi()
    const options = { as, headers: { 'idempotency-key': 'one' } }
    const one = () => create({ long_url: URL_1, ...fields }, options)
    const urls = [1, 2, 3].map((number) => ({ long_url: `https://example.com/${number}`, ...fields }))
    const many = () => send('POST', '/api/v1/urls/bulk', { body: { urls }, as, headers: { 'idempotency-key': 'many' } })
    const first = [(await one()).body, (await many()).body]
    for (let time = 0; time < 4; time++) {
      loseRedis()
      expect([(await one()).body, (await many()).body]).toEqual(first)
    }
  })

  test('answers 503 with the command id while commands are not decided, and a retry with that id gets the link', async () => {
    const { create, faults, decide } = await linksApi()
    faults.deciderDown = true
    const late = await create({ long_url: URL_1 })
    expect(late).toMatchObject({ status: 503, body: { error: 'unavailable', command_id: expect.any(String) } })
    expect(late.headers.get('retry-after')).toBe('1')
    faults.deciderDown = false
    decide()
    const again = await create({ long_url: URL_1 }, { headers: { 'idempotency-key': late.body.command_id } })
    expect(again.status).toBe(201)
    faults.kafkaDown = true
    expect((await create({ long_url: URL_1 }, { headers: { 'idempotency-key': late.body.command_id } })).body).toEqual(again.body)
    expect(await create({ long_url: URL_1 })).toMatchObject({ status: 503, body: { command_id: expect.any(String) } })
  })
})

describe('POST /api/v1/urls/bulk', () => {
  test('creates each link separately, in order, and a repetition gets the same links', async () => {
    const { send } = await linksApi()
    const urls = [
      { long_url: URL_1 },
      { long_url: 'nowhere' },
      { long_url: URL_1, custom_alias: 'mine' },
      { long_url: URL_1, custom_alias: 'mine' },
    ]
    const options = { as: ALICE, body: { urls }, headers: { 'idempotency-key': 'all' } }
    const { status, body } = await send('POST', '/api/v1/urls/bulk', options)
    expect(status).toBe(200)
    expect(body.results).toMatchObject([
      { status: 201, long_url: URL_1 },
      { status: 400, error: 'invalid_url' },
      { status: 201, short_code: 'mine' },
      { status: 409, error: 'alias_taken' },
    ])
    expect((await send('POST', '/api/v1/urls/bulk', options)).body).toEqual(body)
  })

  test.each([
    [{ long_url: URL_1, expiration: '2h' }, 'body.urls[1].expiration'],
    [{ long_url: URL_1, analytics: 'no' }, 'body.urls[1].analytics'],
    [URL_1, 'body.urls[1]'],
    [null, 'body.urls[1]'],
  ])('an invalid link (%j) does not prevent the creation of the other links', async (invalid, path) => {
    const { send } = await linksApi()
    const options = { body: { urls: [{ long_url: URL_1 }, invalid, { long_url: URL_1 }] }, headers: { 'idempotency-key': 'all' } }
    const { status, body } = await send('POST', '/api/v1/urls/bulk', options)
    expect(status).toBe(200)
    expect(body.results).toMatchObject([{ status: 201 }, { status: 400, error: 'invalid_request', details: [{ path }] }, { status: 201 }])
    expect((await send('POST', '/api/v1/urls/bulk', options)).body).toEqual(body)
  })

  test('gives all links that are not decided in time the same command id, and a retry with that id creates the links', async () => {
    const { send, faults, decide } = await linksApi()
    const body = { urls: [{ long_url: URL_1 }, { long_url: 'nowhere' }, { long_url: URL_1, custom_alias: 'mine' }] }
    faults.deciderDown = true
    const [first, second, third] = (await send('POST', '/api/v1/urls/bulk', { body })).body.results
    const late = { status: 503, error: 'unavailable', command_id: expect.any(String) }
    expect([first, third]).toMatchObject([late, { ...late, command_id: first.command_id }])
    expect(second.command_id).toBeUndefined()
    faults.deciderDown = false
    decide()
    const again = { body, headers: { 'idempotency-key': first.command_id } }
    expect((await send('POST', '/api/v1/urls/bulk', again)).body.results.map(({ status }: { status: number }) => status)).toEqual([
      201, 400, 201,
    ])
  })

  test.each([0, 101])('a list of %i links is refused', async (count) => {
    const { send } = await linksApi()
    const urls = Array.from({ length: count }, () => ({ long_url: URL_1 }))
    expect(await send('POST', '/api/v1/urls/bulk', { body: { urls } })).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
  })
})

test('the path of bulk creation is not mistaken for the path of a link', async () => {
  const { send } = await linksApi()
  const answer = await send('DELETE', '/api/v1/urls/bulk', { as: ADMIN })
  expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'OPTIONS, POST'])
})

describe('the owner of a link', () => {
  test('lists links in pages, newest first', async () => {
    const { create, send, advance } = await linksApi()
    for (const name of ['one', 'two', 'three']) {
      await create({ long_url: URL_1, custom_alias: name }, { as: ALICE })
      advance(1_000)
    }
    await create({ long_url: URL_1 }, { as: BOB })
    await send('DELETE', '/api/v1/urls/two', { as: ALICE })
    const { body } = await send('GET', '/api/v1/urls', { as: ALICE })
    expect(body).toMatchObject({ urls: [{ short_code: 'three' }, { short_code: 'one' }], total: 2, page: 1, limit: 20 })
    const second = await send('GET', '/api/v1/urls?page=2&limit=1', { as: ALICE })
    expect(second.body).toMatchObject({ urls: [{ short_code: 'one', short_url: 'http://sho.rt/one' }], total: 2, page: 2, limit: 1 })
    expect((await send('GET', '/api/v1/urls?page=9', { as: ALICE })).body).toMatchObject({ urls: [], total: 2 })
    expect((await send('GET', '/api/v1/urls?limit=101', { as: ALICE })).status).toBe(400)
    expect((await send('GET', '/api/v1/urls')).status).toBe(401)
  })

  test('can delete a link (204, then 404), as can an administrator, but nobody else', async () => {
    const { create, send } = await linksApi()
    for (const alias of ['one', 'two']) await create({ long_url: URL_1, custom_alias: alias }, { as: ALICE })
    await create({ long_url: URL_1, custom_alias: 'nobodys' })
    expect((await send('DELETE', '/api/v1/urls/one')).status).toBe(401)
    expect(await send('DELETE', '/api/v1/urls/one', { as: BOB })).toMatchObject({ status: 403, body: { error: 'forbidden' } })
    expect((await send('DELETE', '/api/v1/urls/one', { as: ALICE })).status).toBe(204)
    expect(await send('DELETE', '/api/v1/urls/one', { as: ALICE })).toMatchObject({ status: 404, body: { error: 'url_not_found' } })
    expect((await send('DELETE', '/api/v1/urls/two', { as: ADMIN })).status).toBe(204)
    const nobodys = await send('DELETE', '/api/v1/urls/nobodys', { as: ALICE })
    expect([nobodys.status, nobodys.body.message]).toEqual([403, expect.stringContaining('created without a token')])
    expect((await send('DELETE', '/api/v1/urls/nobodys', { as: ADMIN })).status).toBe(204)
    for (const code of ['missing', 'no.code'])
      expect(await send('DELETE', `/api/v1/urls/${code}`, { as: ALICE })).toMatchObject({ status: 404, body: { error: 'url_not_found' } })
  })

  test('gets the first response again after repeating a DELETE with the same key', async () => {
    const { create, send } = await linksApi()
    await create({ long_url: URL_1, custom_alias: 'one' }, { as: ALICE })
    const options = { as: ALICE, headers: { 'idempotency-key': 'away' } }
    expect((await send('DELETE', '/api/v1/urls/one', options)).status).toBe(204)
    expect((await send('DELETE', '/api/v1/urls/one', options)).status).toBe(204)
  })

  test('switches a link off and on, and changes its expiration and its fallback address', async () => {
    const { create, send, clock, advance } = await linksApi()
    await create({ long_url: URL_1, custom_alias: 'one', expiration: '1h' }, { as: ALICE })
    const patch = (body: object) => send('PATCH', '/api/v1/urls/one', { as: ALICE, body })
    expect((await patch({ is_active: false })).body).toMatchObject({ is_active: false, expires_at: expect.any(String) })
    expect((await patch({ is_active: true })).body.is_active).toBe(true)
    advance(2 * HOUR_MS)
    expect((await send('GET', '/api/v1/urls', { as: ALICE })).body.urls[0].is_active).toBe(false)
    const renewed = await patch({ expiration: '7d', expired_url: 'https://example.com/over' })
    expect(renewed.body).toMatchObject({
      is_active: true,
      expires_at: new Date(clock.now + 7 * DAY_MS).toISOString(),
      expired_url: 'https://example.com/over',
    })
    expect((await patch({ expiration: 'never', expired_url: null })).body).toMatchObject({ expires_at: null, expired_url: null })
    expect((await patch({})).status).toBe(400)
    expect((await patch({ expired_url: 'nowhere' })).body).toMatchObject({
      error: 'invalid_url',
      message: 'This URL is not valid or not allowed. See details.',
      details: [{ path: 'body.expired_url' }],
    })
    expect((await send('PATCH', '/api/v1/urls/one', { as: BOB, body: { is_active: false } })).status).toBe(403)
  })

  test('cannot switch on a link that an administrator switched off', async () => {
    const { create, send } = await linksApi()
    await create({ long_url: URL_1, custom_alias: 'one' }, { as: ALICE })
    const admin = { sub: '1', scope: 'admin' }
    const patch = (as: { sub: string; scope?: string }, body: object) => send('PATCH', '/api/v1/urls/one', { as, body })
    expect((await patch(admin, { is_active: false })).status).toBe(200)
    const refused = await patch(ALICE, { is_active: true, expiration: 'never' })
    expect([refused.status, refused.body]).toEqual([
      403,
      expect.objectContaining({
        error: 'forbidden',
        message: 'An administrator has switched this link off. Only an administrator can switch it on again.',
      }),
    ])
    expect((await patch(ALICE, { expiration: '7d' })).body.is_active).toBe(false)
    expect((await patch(admin, { is_active: true })).body.is_active).toBe(true)
  })
})

describe('GET /api/v1/urls/{short_code}/qr', () => {
  test('encodes the short link', async () => {
    const { create, send } = await linksApi()
    await create({ long_url: URL_1, custom_alias: 'one' })
    const svg = await send('GET', '/api/v1/urls/one/qr')
    expect(svg.headers.get('content-type')).toBe('image/svg+xml')
    expect(new TextDecoder().decode(svg.bytes)).toBe(qrCode('http://sho.rt/one', 'svg', 256))
    const png = await send('GET', '/api/v1/urls/one/qr?format=png&size=300')
    expect(png.headers.get('content-type')).toBe('image/png')
    expect(png.bytes).toEqual(new Uint8Array(qrCode('http://sho.rt/one', 'png', 300) as Uint8Array))
  })

  test.each(['?size=63', '?size=2049', '?format=gif'])('%s is refused', async (query) => {
    const { create, send } = await linksApi()
    await create({ long_url: URL_1, custom_alias: 'one' })
    expect((await send('GET', `/api/v1/urls/one/qr${query}`)).status).toBe(400)
  })

  test('answers 404 for an unknown code', async () => {
    const { send } = await linksApi()
    expect(await send('GET', '/api/v1/urls/missing/qr')).toMatchObject({ status: 404, body: { error: 'url_not_found' } })
  })
})

test('while the views are being built, requests for a QR code or a list get not_ready instead of a 404 or an empty list', async () => {
  const { send, redis } = await linksApi()
  redis.flush()
  expect(await send('GET', '/api/v1/urls/missing/qr')).toMatchObject({ status: 503, body: { error: 'not_ready' } })
  expect(await send('GET', '/api/v1/urls', { as: ALICE })).toMatchObject({ status: 503, body: { error: 'not_ready' } })
})
