import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ApiError, errors } from '../../../api/kit/errors.ts'
import type { RequestLimits } from '../../../api/kit/rate-limits.ts'
import { START } from '../kit/harness.ts'
import { snippetsApi } from './harness.ts'

const ALICE = { sub: '42' }
const MINUTE_MS = 60_000
const LONG = `${'<tag> & "quotes"\n'.repeat(60_000)}the end`

describe('revealing a snippet with limited reads', () => {
  async function burning(fields: object = {}, as?: { sub: string }) {
    const api = await snippetsApi()
    const { body } = await api.create({ content: 'secret', burn_after_reads: 1, ...fields }, as)
    const path = `/p/${body.paste_id}`
    /** Returns the hidden field of a new form, encoded as browsers send it. */
    async function form(): Promise<string> {
      const { text } = await api.send('GET', path, { as })
      const [, name, value] = /<input type="hidden" name="(\w+)" value="([^"]+)">/.exec(text) ?? []
      return new URLSearchParams({ [name]: value }).toString()
    }
    const press = (sent: string | undefined, address = '10.0.0.1') =>
      api.send('POST', path, {
        body: sent,
        as,
        headers: {
          ...(sent !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
          'x-forwarded-for': address,
        },
      })
    return { ...api, path, id: body.paste_id as string, form, press }
  }

  test('can be repeated with the same form when the response was lost, even from another address', async () => {
    const { form, press, loseRedis, path, send } = await burning()
    const [mine, other] = [await form(), await form()]
    expect(mine).not.toBe(other)
    const first = await press(mine)
    expect([first.status, first.text.includes('secret')]).toEqual([200, true])
    for (const address of ['10.0.0.1', '10.0.0.2']) {
      expect(await press(mine, address)).toMatchObject({ status: 200, text: first.text })
      loseRedis()
    }
    expect((await press(other)).status).toBe(404)
    expect((await press(undefined)).status).toBe(404)
    expect((await send('GET', path)).status).toBe(404)
  })

  test('fails while commands are not decided, and the page then says that the same form can be sent again', async () => {
    const { form, faults, decide, path, send } = await burning({ burn_after_reads: 2 })
    const sent = await form()
    const headers = { 'sec-fetch-mode': 'navigate', 'content-type': 'application/x-www-form-urlencoded' }
    const press = () => send('POST', path, { body: sent, headers })
    faults.deciderDown = true
    const failed = await press()
    expect([failed.status, failed.headers.get('retry-after')]).toEqual([503, '1'])
    expect(failed.text).toContain('Send the same form again')
    expect(failed.text).not.toContain('Idempotency-Key')
    faults.deciderDown = false
    decide()
    const shown = await press()
    expect([shown.status, shown.text.includes('secret'), shown.text.includes('can be read once more')]).toEqual([200, true, true])
  })

  test('works for a signed-in browser, but only if the request comes from the same origin', async () => {
    const api = await snippetsApi()
    const { body } = await api.create({ content: 'secret', burn_after_reads: 1, visibility: 'private' }, ALICE)
    const cookie = `millrace-session=${(await api.bearer(ALICE)).authorization.slice('Bearer '.length)}`
    const press = (headers: Record<string, string>) => api.send('POST', `/p/${body.paste_id}`, { headers: { cookie, ...headers } })
    const foreign = [
      {},
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'none' },
      { origin: 'http://evil.example' },
      { origin: 'null' },
    ]
    for (const headers of foreign) expect((await press(headers as Record<string, string>)).status).toBe(403)
    const page = await api.send('GET', `/p/${body.paste_id}`, { headers: { cookie } })
    expect([page.status, page.headers.get('referrer-policy')]).toEqual([200, 'same-origin'])
    const own = await press({ 'sec-fetch-site': 'same-origin' })
    expect([own.status, own.text.includes('secret')]).toEqual([200, true])
    // Without Sec-Fetch-Site, a matching Origin header is sufficient. The status is 404 because the only read has been
    // used.
    expect((await press({ origin: 'http://localhost' })).status).toBe(404)
  })

  test.each([
    ['belongs to a user of another service', { sub: 'ann' }, 403],
    ['has ended', { ...ALICE, exp: START - 60 * MINUTE_MS }, 401],
  ])('treats a browser whose session %s like one without a session', async (_what, claims, status) => {
    const api = await snippetsApi()
    const secret = await api.create({ content: 'secret', burn_after_reads: 1 })
    const hidden = await api.create({ content: 'hidden', visibility: 'private' }, ALICE)
    const cookie = `millrace-session=${(await api.bearer(claims)).authorization.slice('Bearer '.length)}`
    const headers = { cookie, 'sec-fetch-site': 'same-origin' }
    const asking = await api.send('GET', `/p/${secret.body.paste_id}`, { headers })
    expect(asking.text).toContain('Read it now')
    expect(asking.headers.get('set-cookie')?.startsWith('millrace-session=; Expires=Thu, 01 Jan 1970')).toBe(
      status === 401 ? true : undefined,
    )
    expect((await api.send('GET', `/p/${hidden.body.paste_id}`, { headers })).text).toContain('<h1>Private</h1>')
    const foreign = { cookie, 'sec-fetch-site': 'same-site' }
    expect((await api.send('POST', `/p/${secret.body.paste_id}`, { headers: foreign })).status).toBe(status)
    expect((await api.send('POST', `/p/${secret.body.paste_id}`, { headers })).text).toContain('secret')
    // A program that sends the same token in the Authorization header gets an error.
    expect((await api.send('GET', `/p/${secret.body.paste_id}`, { as: claims })).status).toBe(status)
  })

  test('says on a page when the browser may try again if it has sent too many requests', async () => {
    const refusal = new ApiError(errors.rate_limit_exceeded, { retryAfter: 7 })
    const limits = { covers: () => true, admit: async () => ({ caller: { kind: 'ip', id: '' }, headers: {}, refusal }) }
    const { send } = await snippetsApi({ limits: limits as unknown as RequestLimits })
    const { status, headers, text } = await send('POST', '/p/abcdefgh', { headers: { 'sec-fetch-mode': 'navigate' } })
    expect([status, headers.get('content-type'), headers.get('retry-after')]).toEqual([429, 'text/html; charset=utf-8', '7'])
    expect(text).toContain('Try again in 7 seconds.')
  })

  test('uses one read per form, and works without a form', async () => {
    const { form, press, send, id } = await burning({ burn_after_reads: 4 })
    const mine = await form()
    for (const _time of [1, 2]) expect((await press(mine)).text).toContain('This snippet can be read 3 more times.')
    expect((await press(await form())).text).toContain('This snippet can be read 2 more times.')
    expect((await press(undefined)).text).toContain('This snippet can be read once more.')
    expect((await send('GET', `/api/v1/pastes/${id}`)).body).toMatchObject({ reads_left: 0 })
  })

  test('cannot be repeated once the owner has deleted the snippet or the snippet has expired', async () => {
    const deleted = await burning({ burn_after_reads: 2 }, ALICE)
    const mine = await deleted.form()
    expect((await deleted.press(mine)).status).toBe(200)
    await deleted.send('DELETE', `/api/v1/pastes/${deleted.id}`, { as: ALICE })
    expect((await deleted.press(mine)).status).toBe(404)
    const expired = await burning({ expiration: '10m' })
    const key = await expired.form()
    expect((await expired.press(key)).status).toBe(200)
    expired.advance(10 * MINUTE_MS)
    expect((await expired.press(key)).status).toBe(404)
  })

  test.each([
    ['a key that cannot come from a form', 'key=1', 'application/x-www-form-urlencoded', 400],
    ['a body that is too long', `key=${'x'.repeat(10_000)}`, 'application/x-www-form-urlencoded', 413],
  ])('answers %s with an error page and uses up no read', async (_what, body, type, status) => {
    const { send, path, form, press } = await burning()
    const refused = await send('POST', path, { body, headers: { 'sec-fetch-mode': 'navigate', 'content-type': type } })
    expect([refused.status, refused.headers.get('content-type')]).toEqual([status, 'text/html; charset=utf-8'])
    expect((await press(await form())).text).toContain('secret')
  })

  test('delivers content that is too long for the page as a complete file', async () => {
    const { send, path, form, press } = await burning({ content: LONG })
    const asking = (await send('GET', path)).text
    expect(asking).toContain('996.1 KiB')
    expect(asking).toContain('file')
    const mine = await form()
    for (const _time of [1, 2]) {
      const { status, headers, text } = await press(mine)
      expect([status, text === LONG]).toEqual([200, true])
      expect(headers.get('content-type')).toBe('text/plain; charset=utf-8')
      expect(headers.get('content-disposition')).toMatch(/^attachment; filename="\w{8}\.txt"$/)
      expect(headers.get('cache-control')).toBe('private, no-store')
      expect(headers.get('content-security-policy')).toContain('sandbox')
    }
    expect((await press(undefined)).status).toBe(404)
  })
})

test.each([
  ['short', 1],
  ['long', 5_000],
])('damaged %s content costs none of the limited reads', async (_what, times) => {
  const { create, send, draftFolder } = await snippetsApi()
  const content = Array.from({ length: times }, (_, line) => `secret line ${line} ${Math.sin(line)}\n`).join('')
  const { body } = await create({ content, burn_after_reads: 1 })
  const path = `/api/v1/pastes/${body.paste_id}`
  const file = join(dirname(draftFolder), body.content_hash.slice(0, 2), `${body.content_hash}.zst`)
  const intact = readFileSync(file)
  writeFileSync(file, intact.with(intact.byteLength >> 1, ~intact[intact.byteLength >> 1]))
  const attempts = [send('GET', path), send('GET', `${path}/raw`), send('POST', `/p/${body.paste_id}`)]
  expect((await Promise.all(attempts)).map(({ status }) => status)).toEqual([500, 500, 500])
  writeFileSync(file, intact)
  expect((await send('GET', path)).body).toMatchObject({ content, reads_left: 0 })
})
