import { statSync, utimesSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { MOST_UNKNOWN_KEYS } from '../../../api/snippets/access.ts'
import { BlobsUnavailableError, UNTOUCHED_MS } from '../../../state/blobs/blob-store.ts'
import { sweepBlobs } from '../../../state/blobs/sweep.ts'
import { snippetsApi } from './harness.ts'

const ALICE = { sub: '42' }
const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000

type Api = Awaited<ReturnType<typeof snippetsApi>>

const error = ({ status, body }: { status: number; body: { error: string } }) => [status, body.error]
const keyed = (key: string) => ({ 'content-type': 'application/json', 'idempotency-key': key })

/** Returns a function that sends the same request with the same key on each call. */
function repeated({ send }: Api, path: string, fields: object, as?: { sub: string }) {
  return () => send('POST', path, { body: JSON.stringify(fields), as, headers: keyed('mine') })
}

describe('a repeated creation', () => {
  test.each([
    ['by a user', ALICE],
    ['by an anonymous caller', undefined],
  ])('%s returns the id of the first creation, even after Redis was emptied', async (_who, as) => {
    const api = await snippetsApi()
    const make = repeated(api, '/api/v1/pastes', { content: 'once', visibility: 'public' }, as)
    const first = await make()
    for (let time = 0; time < 8; time++) {
      api.loseRedis()
      expect(await make()).toMatchObject({ status: 201, body: first.body })
    }
    expect((await api.send('GET', `/api/v1/pastes/${first.body.paste_id}`)).body.content).toBe('once')
    expect((await api.send('GET', '/api/v1/pastes')).body.total).toBe(1)
  })

  test('gets a conflict if its body differs, even after Redis was emptied', async () => {
    const api = await snippetsApi()
    await repeated(api, '/api/v1/pastes', { content: 'one' })()
    api.loseRedis()
    expect(error(await repeated(api, '/api/v1/pastes', { content: 'other' })())).toEqual([409, 'idempotency_conflict'])
  })

  test('creates a new snippet if the request with the same key is sent again more than a day later', async () => {
    const api = await snippetsApi()
    const ids = new Set<string>()
    for (let day = 0; day < 2; day++) {
      ids.add((await repeated(api, '/api/v1/pastes', { content: 'daily' })()).body.paste_id)
      api.advance(25 * HOUR_MS)
      api.loseRedis()
    }
    expect(ids.size).toBe(2)
  })

  test('a repeated creation of a version returns the id of the first creation even if the predecessor is gone, and creates no second version', async () => {
    const api = await snippetsApi()
    const { body } = await api.create({ content: 'first', language: 'go', visibility: 'public' }, ALICE)
    const path = `/api/v1/pastes/${body.paste_id}/versions`
    const make = repeated(api, path, { content: 'second' }, ALICE)
    const made = await make()
    expect(made).toMatchObject({ status: 201, body: { language: 'go', visibility: 'public', predecessor: body.paste_id } })
    await api.send('DELETE', `/api/v1/pastes/${body.paste_id}`, { as: ALICE })
    expect(await make()).toMatchObject({ status: 201, body: made.body })
    expect(error(await api.create({ content: 'third' }, ALICE, path))).toEqual([404, 'paste_not_found'])
    const other = { body: JSON.stringify({ content: 'third' }), as: ALICE, headers: keyed('another') }
    expect(error(await api.send('POST', path, other))).toEqual([404, 'paste_not_found'])
  })

  test('a retry with the command_id of a 503 creates the snippet, even if the first request sent no command', async () => {
    const faults = { away: true }
    const touch = async () => {
      if (faults.away) throw new BlobsUnavailableError('the disk is unavailable')
      return false
    }
    const api = await snippetsApi({ shelf: { touch } })
    const refused = await api.create({ content: 'later' })
    expect(refused).toMatchObject({ status: 503, body: { error: 'unavailable', command_id: expect.any(String) } })
    faults.away = false
    const again = { body: JSON.stringify({ content: 'later' }), headers: keyed(refused.body.command_id) }
    const made = await api.send('POST', '/api/v1/pastes', again)
    expect(made.status).toBe(201)
    expect((await api.send('POST', '/api/v1/pastes', again)).body).toEqual(made.body)
  })
})

describe('a repeated read of a burning snippet', () => {
  async function burning(fields: object = {}, as?: { sub: string }) {
    const api = await snippetsApi()
    const { body } = await api.create({ content: 'secret', title: 'Title', burn_after_reads: 1, ...fields }, as)
    const read = (key: string | undefined, path = '') =>
      api.send('GET', `/api/v1/pastes/${body.paste_id}${path}`, { headers: key === undefined ? {} : { 'idempotency-key': key } })
    return { ...api, id: body.paste_id as string, hash: body.content_hash as string, read }
  }

  test.each(['', '/raw'])(
    'still gets the original response once no reads are left (%s), but only with the key of the original read',
    async (path) => {
      const { read, loseRedis } = await burning()
      const first = await read('mine', path)
      expect([first.status, first.text.includes('secret')]).toEqual([200, true])
      for (const _time of [1, 2]) {
        const again = await read('mine', path)
        expect([again.status, again.body, again.text]).toEqual([200, first.body, first.text])
        loseRedis()
      }
      expect(error(await read(undefined))).toEqual([404, 'paste_not_found'])
      expect(error(await read('another'))).toEqual([404, 'paste_not_found'])
    },
  )

  test('gets the first response even if other readers took the last read', async () => {
    const { read } = await burning({ burn_after_reads: 2 })
    await read('one')
    await read('two')
    expect((await read('one')).body).toMatchObject({ content: 'secret', title: 'Title', reads_left: 1, view_count: 1 })
  })

  test('sends a command only if the reads of the snippet are used up, so requests with a key for unknown ids cost no commands', async () => {
    const api = await burning({ burn_after_reads: 2, expiration: '10m' })
    await api.read('mine')
    api.advance(10 * MINUTE_MS)
    const before = api.published.length
    expect(error(await api.read('mine'))).toEqual([404, 'paste_not_found'])
    const unknown = await api.send('GET', '/api/v1/pastes/Unknown1', { headers: { 'idempotency-key': 'mine' } })
    expect(error(unknown)).toEqual([404, 'paste_not_found'])
    expect(api.published.slice(before)).toEqual([])
  })

  test('other callers who try different keys cause a limited number of commands, and do not lock out the reader', async () => {
    const { read, published, redis } = await burning()
    await read('mine')
    const before = published.length
    for (const _time of [1, 2])
      for (let key = 0; key < 2 * MOST_UNKNOWN_KEYS; key++) expect(error(await read(`key-${key}`))).toEqual([404, 'paste_not_found'])
    expect(published.length - before).toBe(MOST_UNKNOWN_KEYS)
    // Without the result in Redis, the reader's repetition needs a command.
    redis.apply(redis.keys().flatMap((key) => (key.includes(':result:') ? [{ op: 'del', key } as const] : [])))
    expect((await read('mine')).body.content).toBe('secret')
    expect(published.length - before).toBe(MOST_UNKNOWN_KEYS + 1)
  })

  test('gets 404 once the owner has deleted the snippet or the snippet has expired', async () => {
    const deleted = await burning({ burn_after_reads: 2 }, ALICE)
    await deleted.read('mine')
    await deleted.send('DELETE', `/api/v1/pastes/${deleted.id}`, { as: ALICE })
    expect(error(await deleted.read('mine'))).toEqual([404, 'paste_not_found'])
    const expired = await burning({ expiration: '10m' })
    await expired.read('mine')
    expired.advance(10 * MINUTE_MS)
    expect(error(await expired.read('mine'))).toEqual([404, 'paste_not_found'])
  })

  test('finds the content for almost an hour, because the last read renewed its retention', async () => {
    const { read, blobs, hash, draftFolder } = await burning()
    const created = new Date(Date.now() - 2 * UNTOUCHED_MS)
    utimesSync(join(dirname(draftFolder), hash.slice(0, 2), `${hash}.zst`), created, created)
    const readAt = Date.now()
    await read('mine')
    // Runs the sweep as if almost an hour had passed.
    const sweeping = { blobs, referenced: async () => new Set<string>(), signal: new AbortController().signal }
    expect(await sweepBlobs({ ...sweeping, before: readAt - MINUTE_MS })).toMatchObject({ seen: 1, removed: 0 })
    expect((await read('mine')).body.content).toBe('secret')
  })

  test('does not extend the retention of the content, and gets 404 once the record of the snippet has expired', async () => {
    const { read, hash, id, draftFolder, redis } = await burning()
    await read('mine')
    const file = join(dirname(draftFolder), hash.slice(0, 2), `${hash}.zst`)
    const readAt = new Date(Date.now() - UNTOUCHED_MS / 2)
    utimesSync(file, readAt, readAt)
    expect((await read('mine')).status).toBe(200)
    expect(statSync(file).mtime).toEqual(readAt)
    redis.apply(redis.keys().flatMap((key) => (key.endsWith(`:burnt:${id}`) ? [{ op: 'del', key } as const] : [])))
    expect(error(await read('mine'))).toEqual([404, 'paste_not_found'])
  })
})
