import { describe, expect, test } from 'vitest'
import { snippetsApi } from './harness.ts'

const BROWSER = 'Mozilla/5.0 (X11; Linux x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36'
const SPECULATIVE: readonly [string, Record<string, string>][] = [
  ['a prefetch', { 'sec-purpose': 'prefetch', 'user-agent': BROWSER }],
  ['a prerendered page', { 'sec-purpose': 'prefetch;prerender', 'user-agent': BROWSER }],
  ['an older prefetch', { purpose: 'prefetch', 'user-agent': BROWSER }],
  ["Firefox' former prefetch", { 'x-moz': 'prefetch' }],
  ["Safari's preview", { 'x-purpose': 'preview' }],
  ['WhatsApp', { 'user-agent': 'WhatsApp/2.23.20.0' }],
  ['Slack', { 'user-agent': 'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)' }],
  ['Facebook', { 'user-agent': 'facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)' }],
  ['Skype', { 'user-agent': 'Mozilla/5.0 (Windows NT 6.1; WOW64) SkypeUriPreview Preview/0.5' }],
]
const ALICE = { sub: '42', preferred_username: 'alice' }
const DELIBERATE: readonly [string, Record<string, string>][] = [
  ['curl', { accept: '*/*', 'user-agent': 'curl/8.5.0' }],
  ['a library', { 'user-agent': 'python-requests/2.32.0' }],
  ['a script of a page', { accept: '*/*', 'sec-fetch-mode': 'cors', 'user-agent': BROWSER }],
  ['a phone whose make ends in bot', { 'user-agent': 'Mozilla/5.0 (Linux; Android 13; CUBOT X70) AppleWebKit/537.36' }],
  ['a request with a key', { 'idempotency-key': 'mine', accept: 'text/html', 'user-agent': BROWSER }],
]

describe('a snippet with limited reads', () => {
  async function burning() {
    const api = await snippetsApi()
    const { body } = await api.create({ content: 'secret', burn_after_reads: 1 })
    return { ...api, id: body.paste_id as string, path: `/api/v1/pastes/${body.paste_id}` }
  }

  test.each([
    ...SPECULATIVE,
    ['a browser that opens the address', { accept: 'text/html,application/xhtml+xml,*/*;q=0.8', 'user-agent': BROWSER }],
    ['a browser that navigates', { accept: '*/*', 'sec-fetch-mode': 'navigate' }],
  ])('is not read by %s: the response redirects to the page that asks for confirmation first', async (_who, headers) => {
    const { send, id, path } = await burning()
    for (const address of [path, `${path}/raw`]) {
      const { status, headers: sent, text } = await send('GET', address, { headers })
      expect([status, sent.get('location'), sent.get('cache-control'), text]).toEqual([303, `/p/${id}`, 'private, no-store', ''])
    }
    expect((await send('GET', `/p/${id}`, { headers })).text).toContain('id="reveal"')
    expect((await send('GET', `${path}/raw`)).text).toBe('secret')
  })

  test.each([
    ['opens the address', { 'sec-fetch-mode': 'navigate', 'sec-fetch-site': 'none' }],
    ['loads the address in advance', { 'sec-purpose': 'prefetch;prerender', 'sec-fetch-mode': 'navigate', 'sec-fetch-site': 'none' }],
  ])(
    'is not read by a browser that %s with the cookie of a session, because browsers send cookies on their own',
    async (_what, browser) => {
      const { bearer, create, send } = await snippetsApi()
      const { body } = await create({ content: 'secret', burn_after_reads: 1, visibility: 'private' }, ALICE)
      const [path, raw] = [`/api/v1/pastes/${body.paste_id}`, `/api/v1/pastes/${body.paste_id}/raw`]
      const { authorization } = await bearer(ALICE)
      const headers = { cookie: `millrace-session=${authorization.slice('Bearer '.length)}`, accept: 'text/html', ...browser }
      for (const address of [path, raw]) {
        const { status, headers: sent } = await send('GET', address, { headers })
        expect([status, sent.get('location')]).toEqual([303, `/p/${body.paste_id}`])
      }
      const byScript = { cookie: headers.cookie, 'sec-fetch-mode': 'same-origin', 'sec-fetch-site': 'same-origin' }
      expect((await send('GET', raw, { headers: byScript })).text).toBe('secret')
    },
  )

  test('is read by a browser that sends a token', async () => {
    const { create, send } = await snippetsApi()
    const { body } = await create({ content: 'secret', burn_after_reads: 1, visibility: 'private' }, ALICE)
    const headers = { accept: 'text/html', 'sec-fetch-mode': 'navigate' }
    expect((await send('GET', `/api/v1/pastes/${body.paste_id}/raw`, { as: ALICE, headers })).text).toBe('secret')
  })

  test.each(DELIBERATE)('is read by %s', async (_who, headers) => {
    const { send, path } = await burning()
    expect(await send('GET', `${path}/raw`, { headers })).toMatchObject({ status: 200, text: 'secret' })
    expect((await send('GET', path)).status).toBe(404)
  })
})

describe('a snippet with unlimited reads', () => {
  test.each(SPECULATIVE)('is shown to %s without counting a view', async (_who, headers) => {
    const { create, send, counted } = await snippetsApi()
    const { body } = await create({ content: 'open' })
    for (const path of [`/api/v1/pastes/${body.paste_id}`, `/api/v1/pastes/${body.paste_id}/raw`, `/p/${body.paste_id}`])
      expect((await send('GET', path, { headers })).text).toContain('open')
    expect(counted).toEqual([])
  })

  test.each([...DELIBERATE, ['a browser', { accept: 'text/html', 'sec-fetch-mode': 'navigate', 'user-agent': BROWSER }]])(
    'counts a view when it is read by %s',
    async (_who, headers) => {
      const { create, send, counted } = await snippetsApi()
      const { body } = await create({ content: 'open' })
      for (const path of [`/api/v1/pastes/${body.paste_id}/raw`, `/p/${body.paste_id}`])
        expect((await send('GET', path, { headers })).status).toBe(200)
      expect(counted).toHaveLength(2)
    },
  )
})
