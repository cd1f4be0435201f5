import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { addressRanges, LOOPBACK } from '../../../api/kit/client-address.ts'
import { ApiError, errors } from '../../../api/kit/errors.ts'
import type { RequestLimits } from '../../../api/kit/rate-limits.ts'
import { limitedPaths } from '../../../api/limits/core/limited-paths.ts'
import { limiter } from '../../../api/limits/core/limiter.ts'
import { compileRules } from '../../../api/limits/core/matching.ts'
import { requestLimits } from '../../../api/limits/core/request-limits.ts'
import { snippetsService } from '../../../api/snippets/service.ts'
import { exactCounters } from '../../../bench/limits/exact-counters.ts'
import { seededLimits } from '../../../schemas/catalogue.ts'
import { snippetTexts } from '../../../schemas/snippets/topics.ts'
import { BlobsUnavailableError } from '../../../state/blobs/blob-store.ts'
import { SNIPPETS_VIEW } from '../../../state/views/snippets/snippets.ts'
import { viewTag } from '../../../state/views/view.ts'
import { START } from '../kit/harness.ts'
import { snippetsApi } from './harness.ts'

const ALICE = { sub: '42' }
const MINUTE_MS = 60_000

describe('creating a snippet', () => {
  test('returns full addresses, and applies defaults to omitted fields', async () => {
    const { create, clock } = await snippetsApi()
    const { status, body } = await create({ content: 'hello' })
    expect(status).toBe(201)
    expect(body).toEqual({
      paste_id: body.paste_id,
      url: `http://localhost:8080/p/${body.paste_id}`,
      raw_url: `http://localhost:8080/api/v1/pastes/${body.paste_id}/raw`,
      created_at: new Date(clock.now).toISOString(),
      expires_at: null,
      visibility: 'unlisted',
      language: 'plaintext',
      content_size: 5,
      content_hash: '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824',
      burn_after_reads: null,
      predecessor: null,
    })
  })

  test('options that a form leaves empty count as omitted', async () => {
    const { send } = await snippetsApi()
    const form = new FormData()
    form.append('content', 'hello')
    for (const name of ['title', 'language', 'expiration', 'visibility', 'burn_after_reads']) form.append(name, '')
    const { status, body } = await send('POST', '/api/v1/pastes', { body: form })
    expect([status, body]).toMatchObject([201, { language: 'plaintext', expires_at: null, visibility: 'unlisted', burn_after_reads: null }])
    form.set('language', 'nonsense')
    expect((await send('POST', '/api/v1/pastes', { body: form })).body.error).toBe('invalid_language')
  })

  test.each([
    ['10m', 10],
    ['1h', 60],
    ['1d', 1_440],
    ['1w', 10_080],
    ['1M', 43_200],
  ])('a snippet with expiration %s can be read for %i minutes, and not a millisecond longer', async (expiration, minutes) => {
    const { create, send, clock } = await snippetsApi()
    const { body } = await create({ content: 'x', expiration })
    expect(Date.parse(body.expires_at)).toBe(clock.now + minutes * MINUTE_MS)
    clock.now += minutes * MINUTE_MS - 1
    expect((await send('GET', `/api/v1/pastes/${body.paste_id}/raw`)).status).toBe(200)
    clock.now += 1
    expect((await send('GET', `/api/v1/pastes/${body.paste_id}/raw`)).body.error).toBe('paste_not_found')
  })

  test.each([1_000, 1_000_000])('gets a 503 for %i bytes if the disk that stores contents is full', async (bytes) => {
    const { create } = await snippetsApi()
    const file = await open(import.meta.filename)
    const prototype = Object.getPrototypeOf(file)
    await file.close()
    const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
    const failing = ['write', 'writeFile'].map((name) => vi.spyOn(prototype, name).mockRejectedValue(full))
    onTestFinished(() => void vi.restoreAllMocks())
    // The content is random, so compression does not shrink it much, and it reaches the disk.
    const content = randomBytes(bytes).toString('base64')
    expect(await create({ content })).toMatchObject({ status: 503, body: { error: 'unavailable' } })
    for (const spy of failing) spy.mockRestore()
    expect((await create({ content })).status).toBe(201)
  })

  test('reads the options for a raw text from the query', async () => {
    const { send } = await snippetsApi()
    const path = '/api/v1/pastes?language=PY&expiration=1d&visibility=public&title=A%20b&burn_after_reads=2'
    const { body } = await send('POST', path, { body: 'x = 1', headers: { 'content-type': 'text/plain' } })
    expect(body).toMatchObject({ language: 'python', visibility: 'public', burn_after_reads: 2 })
    const read = await send('GET', `/api/v1/pastes/${body.paste_id}`)
    expect(read.body).toMatchObject({ title: 'A b', content: 'x = 1', reads_left: 1 })
  })

  test.each([0, -1, 1.5, 1_001, true, '', '0', '01', '5.0', 'abc', '1001'])(
    'the error for burn_after_reads %j names the allowed range',
    async (reads) => {
      const { create, send } = await snippetsApi()
      const problem = (place: string) => [{ path: `${place}.burn_after_reads`, message: 'must be an integer from 1 to 1000' }]
      expect((await create({ content: 'x', burn_after_reads: reads })).body).toMatchObject({
        error: 'invalid_request',
        details: problem('body'),
      })
      const path = `/api/v1/pastes?burn_after_reads=${reads}`
      expect((await send('POST', path, { body: 'x', headers: { 'content-type': 'text/plain' } })).body.details).toEqual(problem('query'))
    },
  )

  test('the error for a parameter that is given twice or is missing says what is allowed', async () => {
    const { send } = await snippetsApi()
    const messageOf = async (method: string, path: string) =>
      (await send(method, path, { body: method === 'POST' ? 'x' : undefined, headers: { 'content-type': 'text/plain' } })).body.details[0]
        .message
    expect(await messageOf('POST', '/api/v1/pastes?title=a&title=b')).toBe('must be given once')
    expect(await messageOf('GET', '/api/v1/pastes?q=a&q=b')).toBe('must be given once')
    expect(await messageOf('GET', '/api/v1/pastes/abcdefgh/diff')).toBe('must be the id of one snippet')
  })

  test.each([' \u00a0\u3000', '\u200b\u202e'])('the page of a snippet with the blank title %j has the id as its heading', async (title) => {
    const { create, send } = await snippetsApi()
    const { body } = await create({ content: 'x', title })
    const { text } = await send('GET', `/p/${body.paste_id}`)
    expect(text).toContain(`<h1>Snippet ${body.paste_id}</h1>`)
    expect(text).toContain(`<title>Snippet ${body.paste_id} · Millrace</title>`)
  })

  test('stores titles in NFC and contents unchanged', async () => {
    const { create, send } = await snippetsApi()
    const decomposed = 'e\u0301'
    const { body } = await create({ content: decomposed, title: decomposed })
    const read = await send('GET', `/api/v1/pastes/${body.paste_id}`)
    expect([read.body.title, read.body.content]).toEqual(['\u00e9', decomposed])
  })

  test('is aborted after 25 seconds if the body arrives too slowly, and leaves nothing behind', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const { app, draftFolder } = await snippetsApi()
    const asked = Promise.withResolvers<void>()
    let pieces = 0
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        // Sends more than fits into the buffer in memory, and then nothing.
        if (pieces++ === 0) return controller.enqueue(Buffer.alloc(100_000, 'x'))
        asked.resolve()
        return new Promise(() => undefined)
      },
    })
    const request = { method: 'POST', headers: { 'content-type': 'text/plain' }, body, duplex: 'half' } as RequestInit
    const answering = app.request('/api/v1/pastes', request)
    await asked.promise
    await vi.waitUntil(() => existsSync(draftFolder) && readdirSync(draftFolder).length === 1)
    await vi.advanceTimersByTimeAsync(25_000)
    const answer = await answering
    expect([answer.status, await answer.json()]).toEqual([408, expect.objectContaining({ error: 'request_timeout' })])
    expect(readdirSync(draftFolder)).toEqual([])
  })

  test('stores the author as plain text of bounded length', async () => {
    const { send } = await snippetsApi()
    const authorOf = async (preferred_username: string) => {
      const as = { ...ALICE, preferred_username }
      const made = await send('POST', '/api/v1/pastes', { body: 'x', as, headers: { 'content-type': 'text/plain' } })
      return (await send('GET', `/api/v1/pastes/${made.body.paste_id}`)).body.author
    }
    expect(await authorOf('Zoe\u0308\n\u0000')).toEqual({ username: 'Zo\u00eb', user_id: '42' })
    expect(await authorOf('😀'.repeat(500))).toEqual({ username: '😀'.repeat(128), user_id: '42' })
    for (const none of ['', ' \t']) expect(await authorOf(none)).toEqual({ username: 'user-42', user_id: '42' })
  })

  test('stores all snippets of one user in one partition', async () => {
    const { create, facts } = await snippetsApi()
    const { snippetCommands } = await import('../../../schemas/snippets/topics.ts')
    const home = facts.partitionOf(snippetCommands, '42')
    for (let count = 0; count < 10; count++) {
      const { body } = await create({ content: `number ${count}` }, ALICE)
      expect(facts.partitionOf(snippetCommands, body.paste_id)).toBe(home)
    }
  })
})

describe('the rate limit for creating snippets', () => {
  /** Creates a limiter with the seeded rules and in-memory counters. */
  function limitsInForce(): RequestLimits {
    const { store } = exactCounters(() => START * 1_000)
    const rules = compileRules(seededLimits)
    return requestLimits({
      limiter: limiter({ counters: store, rules: () => rules }),
      clients: { find: () => undefined },
      trusted: addressRanges(LOOPBACK),
      isMemoryShort: () => false,
      paths: limitedPaths(snippetsService.limitedPaths),
    })
  }

  test('is 100 a minute for a user, including new versions', async () => {
    const { create } = await snippetsApi({ limits: limitsInForce() })
    const { body } = await create({ content: 'first' }, ALICE)
    const versions = `/api/v1/pastes/${body.paste_id}/versions`
    for (let count = 1; count < 100; count++) {
      const path = count % 2 === 0 ? versions : undefined
      expect((await create({ content: `number ${count}` }, ALICE, path)).status).toBe(201)
    }
    for (const path of [versions, undefined]) {
      const { status, body } = await create({ content: 'one too many' }, ALICE, path)
      expect([status, body]).toEqual([429, expect.objectContaining({ error: 'rate_limit_exceeded', limit: 100, window: '60s' })])
    }
  })

  test('is 10 a minute for an address', async () => {
    const { create } = await snippetsApi({ limits: limitsInForce() })
    for (let count = 0; count < 10; count++) expect((await create({ content: `number ${count}` })).status).toBe(201)
    const { status, body } = await create({ content: 'one too many' })
    expect([status, body.limit]).toEqual([429, 10])
  })
})

describe('reads', () => {
  test('each read counts once, but HEAD, 304 and diffs do not count', async () => {
    const { create, send, counted } = await snippetsApi()
    const { body } = await create({ content: 'x' })
    const path = `/api/v1/pastes/${body.paste_id}`
    await send('GET', path)
    const raw = await send('GET', `${path}/raw`)
    await send('GET', `/p/${body.paste_id}`)
    expect(counted).toEqual([body.paste_id, body.paste_id, body.paste_id])
    await send('HEAD', path)
    expect((await send('HEAD', `${path}/raw`)).headers.get('content-length')).toBe('1')
    await send('HEAD', `/p/${body.paste_id}`)
    expect((await send('GET', `${path}/raw`, { headers: { 'if-none-match': raw.headers.get('etag')! } })).status).toBe(304)
    await send('GET', `${path}/diff?with=${body.paste_id}`)
    expect(counted).toHaveLength(3)
  })

  test("opening a burning snippet's page uses up no read until the button is pressed, and a comparison is refused", async () => {
    const { create, send, counted } = await snippetsApi()
    const { body } = await create({ content: 'secret', burn_after_reads: 1 })
    const page = await send('GET', `/p/${body.paste_id}`)
    expect(page.text).toContain('id="reveal"')
    expect(page.text).not.toContain('secret')
    expect((await send('GET', `/api/v1/pastes/${body.paste_id}/diff?with=${body.paste_id}`)).body.error).toBe('not_comparable')
    const shown = await send('POST', `/p/${body.paste_id}`)
    expect(shown.text).toContain('secret')
    expect(shown.headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'sha256-/)
    expect((await send('POST', `/p/${body.paste_id}`)).status).toBe(404)
    expect(counted).toEqual([])
  })

  test('reads get a 503 if the blob store fails while it delivers the content', async () => {
    const failing = async () =>
      new Readable({
        read() {
          this.destroy(new BlobsUnavailableError('the bucket does not respond'))
        },
      })
    const { create, send } = await snippetsApi({ shelf: { open: failing } })
    const { body } = await create({ content: 'x' })
    for (const path of ['', '/raw', `/diff?with=${body.paste_id}`]) {
      const answer = await send('GET', `/api/v1/pastes/${body.paste_id}${path}`)
      expect([answer.status, answer.body.error], path).toEqual([503, 'unavailable'])
    }
    expect((await send('GET', `/p/${body.paste_id}`)).status).toBe(503)
  })

  test('reads get a 503 while the view is being built: never a wrong 404, a deleted snippet or an incomplete search', async () => {
    const { create, send, redis, found } = await snippetsApi()
    const { body } = await create({ content: 'word', visibility: 'public' }, ALICE)
    found.rows = [[body.paste_id, 1]]
    redis.apply([0, 1, 2, 3].map((partition) => ({ op: 'del', key: `{snippets:${partition}}:caught-up` })))
    for (const id of ['abcd1234', body.paste_id]) {
      for (const path of [`/api/v1/pastes/${id}`, `/api/v1/pastes/${id}/raw`, `/api/v1/pastes/${id}/diff?with=${id}`, `/p/${id}`])
        expect((await send('GET', path)).body.error, path).toBe('not_ready')
    }
    for (const path of ['/api/v1/pastes', '/api/v1/pastes?q=word', '/api/v1/users/42/pastes'])
      expect((await send('GET', path)).body.error, path).toBe('not_ready')
  })
})

describe('refusals', () => {
  test('the refusal to change an anonymous snippet says that the snippet has no owner', async () => {
    const { create, send } = await snippetsApi()
    const path = `/api/v1/pastes/${(await create({ content: 'x' })).body.paste_id}`
    for (const answer of [await send('DELETE', path, { as: ALICE }), await create({ content: 'y' }, ALICE, `${path}/versions`)]) {
      expect(answer).toMatchObject({ status: 403, body: { error: 'forbidden' } })
      expect(answer.body.message).toContain('has no owner')
    }
  })

  test('the page of a snippet names what is wrong with a form, and when to try again', async () => {
    const { create, send, redis } = await snippetsApi()
    const path = `/p/${(await create({ content: 'x', burn_after_reads: 1 })).body.paste_id}`
    const headers = { 'sec-fetch-mode': 'navigate', 'content-type': 'application/x-www-form-urlencoded' }
    const malformed = await send('POST', path, { body: 'key=abc', headers })
    expect([malformed.status, malformed.text]).toEqual([400, expect.stringContaining('body.key must be the key of a form')])
    redis.reader.mget = async () => {
      throw new ApiError(errors.unavailable, { retryAfter: 7 })
    }
    const failing = await send('GET', path, { headers })
    expect([failing.status, failing.text]).toEqual([503, expect.stringContaining('Try again in 7 seconds.')])
  })

  test('the page of a snippet does not name the server that does not respond, because visitors do not know the servers', async () => {
    const { create, send, redis } = await snippetsApi()
    const message = 'The view store does not respond. Try again shortly.'
    const { paste_id } = (await create({ content: 'x' })).body
    redis.reader.mget = () => Promise.reject(new ApiError(errors.unavailable, { message }))
    const page = await send('GET', `/p/${paste_id}`, { headers: { 'sec-fetch-mode': 'navigate' } })
    expect(page.status).toBe(503)
    expect(page.text).toContain('<p>The service is temporarily unavailable. Try again shortly.</p>')
    expect((await send('GET', `/api/v1/pastes/${paste_id}`)).body.message).toBe(message)
  })
})

describe('versions', () => {
  test('a reader who may see no other version gets an empty list, which does not reveal that other versions exist', async () => {
    const { create, send } = await snippetsApi()
    const first = (await create({ content: 'one', visibility: 'public' }, ALICE)).body.paste_id
    await create({ content: 'draft', visibility: 'private' }, ALICE, `/api/v1/pastes/${first}/versions`)
    const versionsOf = async (as?: { sub: string }) => (await send('GET', `/api/v1/pastes/${first}`, { as })).body.versions
    expect(await versionsOf()).toEqual([])
    expect(await versionsOf({ sub: '7' })).toEqual([])
    expect(await versionsOf(ALICE)).toHaveLength(2)
  })

  test('of more than 101 versions, the first and the newest hundred are listed', async () => {
    const { create, send, advance } = await snippetsApi()
    const first = (await create({ content: 'version 0' }, ALICE)).body.paste_id
    const ids = [first]
    for (let version = 1; version <= 103; version++) {
      advance(1_000)
      const { body } = await create({ content: `version ${version}` }, ALICE, `/api/v1/pastes/${ids.at(-1)}/versions`)
      ids.push(body.paste_id)
    }
    const { body } = await send('GET', `/api/v1/pastes/${ids.at(-1)}`, { as: ALICE })
    expect(body.versions.map(({ paste_id }: { paste_id: string }) => paste_id)).toEqual([first, ...ids.slice(-100)])
  })

  test('if the first version cannot be read, a read of a later version gets a 503 instead of an incomplete list of versions', async () => {
    const { create, send, redis } = await snippetsApi()
    const first = (await create({ content: 'one', visibility: 'public' }, ALICE)).body.paste_id
    const next = async (id: string) => (await create({ content: id }, ALICE, `/api/v1/pastes/${id}/versions`)).body.paste_id
    const third = await next(await next(first))
    const { mget } = redis.reader
    redis.reader.mget = async (keys) => {
      if (keys.some((key) => key.endsWith(first))) throw new ApiError(errors.unavailable)
      return await mget(keys)
    }
    expect(await send('GET', `/api/v1/pastes/${third}`)).toMatchObject({ status: 503, body: { error: 'unavailable' } })
  })

  test('a version with limited reads is listed only for the owner and in the response to a read of this version', async () => {
    const { create, send } = await snippetsApi()
    const first = (await create({ content: 'one', visibility: 'public' }, ALICE)).body.paste_id
    const next = (fields: object) => create({ visibility: 'public', ...fields }, ALICE, `/api/v1/pastes/${first}/versions`)
    const burning = (await next({ content: 'two', burn_after_reads: 9 })).body.paste_id
    const third = (await next({ content: 'three' })).body.paste_id
    const versionsOf = async (id: string, as?: { sub: string }) =>
      (await send('GET', `/api/v1/pastes/${id}`, { as })).body.versions.map(({ paste_id }: { paste_id: string }) => paste_id)
    expect(await versionsOf(first)).toEqual([first, third])
    expect(await versionsOf(third, { sub: '7' })).toEqual([first, third])
    expect((await versionsOf(burning)).sort()).toEqual([first, burning, third].sort())
    expect((await versionsOf(first, ALICE)).sort()).toEqual([first, burning, third].sort())
  })

  test('a first version with limited reads is not listed in the responses to reads of later versions', async () => {
    const { create, send } = await snippetsApi()
    const first = (await create({ content: 'one', visibility: 'public', burn_after_reads: 9 }, ALICE)).body.paste_id
    const second = (await create({ content: 'two' }, ALICE, `/api/v1/pastes/${first}/versions`)).body.paste_id
    const read = await send('GET', `/api/v1/pastes/${second}`)
    expect([read.body.predecessor, JSON.stringify(read.body).includes(first)]).toEqual([null, false])
  })

  test.each([
    ['unlisted', { visibility: 'unlisted' }],
    ['private', { visibility: 'private' }],
    ['burning', { visibility: 'public', burn_after_reads: 2 }],
  ])('hides the id of a predecessor that is %s from others', async (_which, fields) => {
    const { create, send } = await snippetsApi()
    const first = (await create({ content: 'one', ...fields }, ALICE)).body.paste_id
    const second = (await create({ content: 'two', visibility: 'public' }, ALICE, `/api/v1/pastes/${first}/versions`)).body.paste_id
    for (const as of [undefined, { sub: '7' }]) {
      const { body, text } = await send('GET', `/api/v1/pastes/${second}`, { as })
      expect([body.predecessor, text.includes(first)]).toEqual([null, false])
    }
    expect((await send('GET', `/api/v1/pastes/${second}`, { as: ALICE })).body.predecessor).toBe(first)
    await send('DELETE', `/api/v1/pastes/${first}`, { as: ALICE })
    expect((await send('GET', `/api/v1/pastes/${second}`)).body.predecessor).toBeNull()
  })

  test('the id of a public predecessor is shown to everybody', async () => {
    const { create, send } = await snippetsApi()
    const first = (await create({ content: 'one', visibility: 'public' }, ALICE)).body.paste_id
    const second = (await create({ content: 'two' }, ALICE, `/api/v1/pastes/${first}/versions`)).body.paste_id
    expect((await send('GET', `/api/v1/pastes/${second}`)).body.predecessor).toBe(first)
    const third = (await create({ content: 'three' }, ALICE, `/api/v1/pastes/${second}/versions`)).body.paste_id
    expect((await send('GET', `/api/v1/pastes/${third}`)).body.predecessor).toBe(second)
  })
})

describe('lists', () => {
  test('lists are sorted and paged, and leave out expired snippets', async () => {
    const { create, send, advance } = await snippetsApi()
    const titles = ['b', 'A', null, 'c']
    for (const [index, title] of titles.entries()) {
      await create({ content: `${index}`, title, visibility: 'public', expiration: title === 'c' ? '10m' : 'never' }, ALICE)
      advance(1_000)
    }
    const list = async (query: string) => (await send('GET', `/api/v1/users/42/pastes?${query}`)).body
    const titlesOf = async (query: string) => (await list(query)).pastes.map(({ title }: { title: string | null }) => title)
    expect(await titlesOf('')).toEqual(['c', null, 'A', 'b'])
    expect(await titlesOf('sort=created_at_asc')).toEqual(['b', 'A', null, 'c'])
    expect(await titlesOf('sort=title_asc')).toEqual(['A', 'b', 'c', null])
    expect(await list('sort=title_asc&page=2&limit=3')).toMatchObject({ total: 4, page: 2, pastes: [{ title: null }] })
    expect((await list('page=9')).pastes).toEqual([])
    advance(11 * MINUTE_MS)
    expect(await titlesOf('sort=title_asc')).toEqual(['A', 'b', null])
    expect((await list('')).total).toBe(3)
    const newest = (await send('GET', '/api/v1/pastes?limit=2')).body
    expect([newest.total, newest.pastes.map(({ title }: { title: string | null }) => title)]).toEqual([3, [null, 'A']])
  })

  test.each(['page=0', 'limit=101', 'limit=0', 'sort=random', 'page=x'])('the query %s is refused', async (query) => {
    const { send } = await snippetsApi()
    expect((await send('GET', `/api/v1/users/42/pastes?${query}`)).status).toBe(400)
  })

  test('lists have no page beyond 2,000 snippets, and a search shows only snippets that still exist and have unlimited reads', async () => {
    const { create, send, found } = await snippetsApi()
    for (const query of ['', '&q=word']) expect((await send('GET', `/api/v1/pastes?page=21&limit=100${query}`)).status).toBe(400)
    const { body } = await create({ content: 'x', visibility: 'public' })
    const burning = await create({ content: 'y', visibility: 'public', burn_after_reads: 1 })
    found.rows = [
      [body.paste_id, 5],
      [burning.body.paste_id, 5],
      ['goneaway', 5],
    ]
    const search = await send('GET', '/api/v1/pastes?q=Two%20%20words%20two')
    expect(found.words).toEqual(['two', 'words'])
    expect(search.body).toMatchObject({ total: 3, pastes: [{ paste_id: body.paste_id }] })
    expect((await send('GET', '/api/v1/pastes?q=%20')).body.pastes).toHaveLength(1)
    for (const letter of ['x', encodeURIComponent('𝒙')]) {
      expect((await send('GET', `/api/v1/pastes?q=${letter.repeat(100)}`)).status).toBe(200)
      expect((await send('GET', `/api/v1/pastes?q=${letter.repeat(101)}`)).status).toBe(400)
    }
  })

  test('lists reach the 2,000th snippet even if the page size does not divide 2,000, and their total counts no snippet that cannot be listed', async () => {
    const { create, send, redis } = await snippetsApi()
    const { body } = await create({ content: 'x', visibility: 'public' })
    const list = `${viewTag(SNIPPETS_VIEW, 0)}:public`
    // Stores only the ids of 1,985 newer snippets and 50 older ones.
    const others = Array.from({ length: 2_035 }, (_, index) => ({ score: START + (index < 1_985 ? 1 : -1), member: `other${index}` }))
    redis.apply(others.map((other) => ({ op: 'zadd', key: list, ...other })))
    const last = await send('GET', '/api/v1/pastes?page=67&limit=30')
    expect(last.body).toMatchObject({ total: 2_000, pastes: [{ paste_id: body.paste_id }] })
    expect((await send('GET', '/api/v1/pastes?page=68&limit=30')).status).toBe(400)
    expect((await send('GET', '/api/v1/pastes?page=67&limit=30&q=word')).status).toBe(200)
  })

  test('snippets are found by their first 2,048 characters, even if some of these consist of two code units', async () => {
    const { create, driver } = await snippetsApi()
    for (const emoji of [2_043, 2_044]) await create({ content: `${'🙂'.repeat(emoji)}needle`, visibility: 'public' })
    const ends = driver.read(snippetTexts).map(({ value }) => value?.text.replaceAll('🙂', ''))
    expect(ends.sort()).toEqual(['need', 'needl'])
  })

  test('lists are searched for words in NFC, like titles and texts, and for at most 8 words', async () => {
    const { create, send, found, driver } = await snippetsApi()
    await create({ content: 'Zoe\u0308', visibility: 'public' })
    expect(driver.read(snippetTexts).map(({ value }) => value?.text)).toEqual(['Zo\u00eb'])
    await send('GET', `/api/v1/pastes?q=${encodeURIComponent('ZOE\u0308')}`)
    expect(found.words).toEqual(['zo\u00eb'])
    expect((await send('GET', '/api/v1/pastes?q=1+2+3+4+5+6+7+8+8')).status).toBe(200)
    const refused = await send('GET', '/api/v1/pastes?q=1+2+3+4+5+6+7+8+9')
    expect([refused.status, refused.body.details]).toEqual([400, [{ path: 'query.q', message: 'must have at most 8 words' }]])
  })

  test('lists are not searched while the table is being filled: the search gets 503, never an incomplete list', async () => {
    const { create, send, found } = await snippetsApi()
    const { body } = await create({ content: 'x', visibility: 'public' })
    found.rows = [[body.paste_id, 1]]
    found.caughtUp -= 1
    const { status, headers, body: refused } = await send('GET', '/api/v1/pastes?q=x')
    expect([status, refused.error, headers.get('retry-after')]).toEqual([503, 'not_ready', '5'])
    expect((await send('GET', '/api/v1/pastes')).body.total).toBe(1)
    found.caughtUp += 1
    expect((await send('GET', '/api/v1/pastes?q=x')).body.total).toBe(1)
  })
})
