import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { waitUntil } from '../../../deploy/local/wait.ts'
import { FUZZ_TIMEOUT_MS, fuzz } from '../../stack/fuzzer.ts'
import { AT_FIRST_TRY } from '../../stack/index.ts'
import { burnRace } from './burn-race.ts'
import { type Asked, type SnippetStack, SOON, snippetStack } from './stack.ts'

const SETUP_TIMEOUT_MS = 120_000
const TEN_MIB = 10_485_760
const BURN_TIMEOUT_MS = 240_000
/** Number of reads that the snippet allows. The last wave of readers uses up the reads that are left. */
const BURN_READS = 45
const BURN_WAVE = 10

let stack: SnippetStack
beforeAll(async () => {
  stack = await snippetStack()
}, SETUP_TIMEOUT_MS)
afterAll(() => stack.finish(), SETUP_TIMEOUT_MS)

const get = (path: string, headers: Record<string, string> = {}, api = 0) => stack.send('GET', path, { headers, api: stack.apis[api] })
const error = (answer: { status: number; body: { error: string } }) => [answer.status, answer.body?.error]

describe('a snippet', () => {
  test('is readable through every instance as soon as its creation has succeeded', async () => {
    const content = 'import os\n\ndef main():\n    print("héllo")\n'
    const made = await stack.create({ content, title: 'Greeting', expiration: '1h', visibility: 'public' })
    expect(made.status).toBe(201)
    expect(made.body).toMatchObject({ language: 'python', visibility: 'public', content_size: Buffer.byteLength(content) })
    const { paste_id: id, created_at, expires_at } = made.body
    expect(id).toMatch(/^[0-9A-Za-z]{8}$/)
    expect(Date.parse(expires_at) - Date.parse(created_at)).toBe(3_600_000)
    for (const api of [0, 1]) {
      const read = await get(`/api/v1/pastes/${id}`, {}, api)
      expect(read.body).toMatchObject({
        paste_id: id,
        title: 'Greeting',
        content,
        author: null,
        versions: [],
        reads_left: null,
        expires_at,
      })
      const raw = await get(`/api/v1/pastes/${id}/raw`, {}, api)
      expect(raw.text).toBe(content)
      expect(raw.headers.get('content-type')).toBe('text/plain; charset=utf-8')
      expect(raw.headers.get('content-security-policy')).toContain('sandbox')
      expect(raw.headers.get('etag')).toBe(`"${createHash('sha256').update(content).digest('hex')}"`)
    }
    const etag = (await get(`/api/v1/pastes/${id}/raw`)).headers.get('etag')!
    expect((await get(`/api/v1/pastes/${id}/raw`, { 'if-none-match': etag })).status).toBe(304)
  })

  test('returns content of up to 10 MiB byte for byte as JSON and as text, regardless of how it was sent', async () => {
    const text = { 'content-type': 'text/plain' }
    const formOf = (content: string) => {
      const form = new FormData()
      form.append('content', new File([content], 'big.txt'))
      form.append('title', 'big')
      return form
    }
    const ways: [bytes: number, create: (content: string) => Promise<Asked>][] = [
      [TEN_MIB, (content) => stack.send('POST', '/api/v1/pastes?title=big', { body: content, headers: text })],
      // Each content has a different length, because existing content would not be stored again.
      [TEN_MIB / 2, (content) => stack.create({ content, title: 'big' })],
      [TEN_MIB / 2 + 1, (content) => stack.send('POST', '/api/v1/pastes', { body: formOf(content) })],
    ]
    for (const [bytes, create] of ways) {
      const content = awkwardContent(bytes)
      const hash = createHash('sha256').update(content).digest('hex')
      const made = await create(content)
      expect(made.body).toMatchObject({ content_hash: hash, content_size: bytes })
      const read = await get(`/api/v1/pastes/${made.body.paste_id}`)
      expect(read.body.title).toBe('big')
      expect(read.body.content === content).toBe(true)
      const raw = await fetch(`${stack.apis[0].url}/api/v1/pastes/${made.body.paste_id}/raw`)
      expect(
        createHash('sha256')
          .update(Buffer.from(await raw.arrayBuffer()))
          .digest('hex'),
      ).toBe(hash)
      expect(Number(raw.headers.get('content-length'))).toBe(bytes)
    }
    const tooLong = await stack.send('POST', '/api/v1/pastes', { body: awkwardContent(TEN_MIB + 1), headers: text })
    expect(error(tooLong)).toEqual([413, 'content_too_large'])
  })

  test('is refused with the reason if it is malformed, and nothing is stored', async () => {
    const before = storedBlobs()
    expect(error(await stack.create({ content: '' }))).toEqual([400, 'invalid_content'])
    expect(error(await stack.create({ content: 'never stored 1', language: 'klingon' }))).toEqual([400, 'invalid_language'])
    const many = await stack.create({
      content: 'never stored 2',
      title: 'x'.repeat(256),
      expiration: '2h',
      visibility: 'secret',
      burn_after_reads: 0,
    })
    expect(many.body.details.map(({ path }: { path: string }) => path)).toEqual([
      'body.title',
      'body.expiration',
      'body.visibility',
      'body.burn_after_reads',
    ])
    expect(error(await stack.send('POST', '/api/v1/pastes', { body: 'x', headers: { 'content-type': 'image/png' } }))).toEqual([
      415,
      'unsupported_media_type',
    ])
    expect(
      error(await stack.send('POST', '/api/v1/pastes', { body: Buffer.from([0x61, 0xff]), headers: { 'content-type': 'text/plain' } })),
    ).toEqual([400, 'invalid_encoding'])
    expect(storedBlobs()).toEqual(before)
    expect(readdirSync(join(stack.blobFolder, 'drafts'))).toEqual([])
  })

  test('leaves nothing behind if the connection is lost before its content is complete', async () => {
    const before = storedBlobs()
    const { hostname, port } = new URL(stack.apis[0].url)
    const socket = connect(Number(port), hostname)
    socket.write(
      `POST /api/v1/pastes HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: 500000\r\n\r\n${'y'.repeat(200_000)}`,
    )
    await waitUntil(async () => readdirSync(join(stack.blobFolder, 'drafts')).length === 1, { what: 'the draft', ...SOON })
    socket.destroy()
    await waitUntil(async () => readdirSync(join(stack.blobFolder, 'drafts')).length === 0, { what: 'the draft to be discarded', ...SOON })
    expect(storedBlobs()).toEqual(before)
  })

  test('is never served as intact if its content is damaged on disk', async () => {
    const made = await stack.create({ content: 'precious '.repeat(20) })
    const hash: string = made.body.content_hash
    const { writeFileSync } = await import('node:fs')
    writeFileSync(join(stack.blobFolder, hash.slice(0, 2), `${hash}.zst`), 'rubbish')
    expect(error(await get(`/api/v1/pastes/${made.body.paste_id}`))).toEqual([500, 'internal_error'])
  })

  test('is created once per Idempotency-Key, even through another instance', async () => {
    const headers = { 'idempotency-key': 'once', 'x-forwarded-for': '10.200.0.1', 'content-type': 'text/plain' }
    const first = await stack.send('POST', '/api/v1/pastes', { body: 'once', headers })
    const again = await stack.send('POST', '/api/v1/pastes', { body: 'once', headers, api: stack.apis[1] })
    expect(again.body).toEqual(first.body)
    const other = await stack.send('POST', '/api/v1/pastes', { body: 'twice', headers, api: stack.apis[1] })
    expect(error(other)).toEqual([409, 'idempotency_conflict'])
  })

  test('is not found under an invalid or unknown id', async () => {
    for (const id of ['zzzzzzzz', 'x', '12345678901', '..%2f..%2fet', '-_-_-_-_']) {
      for (const path of [`/api/v1/pastes/${id}`, `/api/v1/pastes/${id}/raw`, `/api/v1/pastes/${id}/diff?with=${id}`])
        expect(error(await get(path)), path).toEqual([404, 'paste_not_found'])
    }
  })
})

describe('visibility', () => {
  test('only the owner can read a private snippet, everyone with the link can read an unlisted one, and lists show other users only public snippets', async () => {
    const alice = await stack.bearer('4001', 'alice')
    const bob = await stack.bearer('4002')
    const ids: Record<string, string> = {}
    for (const visibility of ['public', 'unlisted', 'private']) {
      const made = await stack.create({ content: `by alice, ${visibility}`, title: visibility, visibility }, alice)
      ids[visibility] = made.body.paste_id
    }
    expect((await get(`/api/v1/pastes/${ids.private}`, alice)).body).toMatchObject({ author: { username: 'alice', user_id: '4001' } })
    for (const headers of [bob, {}]) {
      expect(error(await get(`/api/v1/pastes/${ids.private}`, headers))).toEqual([403, 'private_paste'])
      expect(error(await get(`/api/v1/pastes/${ids.private}/raw`, headers))).toEqual([403, 'private_paste'])
      expect(error(await get(`/api/v1/pastes/${ids.public}/diff?with=${ids.private}`, headers))).toEqual([403, 'private_paste'])
      expect((await get(`/api/v1/pastes/${ids.unlisted}`, headers)).status).toBe(200)
    }
    expect((await get(`/p/${ids.private}`)).status).toBe(403)
    const own = await get('/api/v1/users/4001/pastes?sort=created_at_asc', alice)
    expect(own.body).toMatchObject({ total: 3, page: 1 })
    expect(own.body.pastes.map(({ title }: { title: string }) => title)).toEqual(['public', 'unlisted', 'private'])
    const byTitle = await get('/api/v1/users/4001/pastes?sort=title_asc&limit=2&page=1', alice)
    expect(byTitle.body.pastes.map(({ title }: { title: string }) => title)).toEqual(['private', 'public'])
    for (const headers of [bob, {}]) {
      const shown = await get('/api/v1/users/4001/pastes', headers)
      expect(shown.body).toMatchObject({ total: 1, pastes: [{ paste_id: ids.public, visibility: 'public' }] })
    }
    expect((await get('/api/v1/users/999999/pastes')).body).toMatchObject({ pastes: [], total: 0 })
    expect((await get('/api/v1/pastes')).body.pastes[0]).toMatchObject({ paste_id: ids.public })

    expect(error(await stack.send('DELETE', `/api/v1/pastes/${ids.public}`, { headers: bob }))).toEqual([403, 'forbidden'])
    expect(error(await stack.send('DELETE', `/api/v1/pastes/${ids.public}`))).toEqual([401, 'unauthorized'])
    expect((await stack.send('DELETE', `/api/v1/pastes/${ids.public}`, { headers: alice })).status).toBe(204)
    expect(error(await stack.send('DELETE', `/api/v1/pastes/${ids.public}`, { headers: alice }))).toEqual([404, 'paste_not_found'])
    expect(error(await get(`/api/v1/pastes/${ids.public}`, alice, 1))).toEqual([404, 'paste_not_found'])
    expect((await get('/api/v1/users/4001/pastes', bob)).body.total).toBe(0)
    expect((await get('/api/v1/users/4001/pastes', alice)).body.total).toBe(2)
  })

  test('search finds a public snippet, and no longer finds it once it is deleted', async () => {
    const carol = await stack.bearer('4003')
    const made = await stack.create(
      { content: 'fn zygomorphic() { /* 100%_sure */ }', title: 'Botany', visibility: 'public', language: 'rust' },
      carol,
    )
    await stack.create({ content: 'zygomorphic, but unlisted' }, carol)
    const search = async (q: string) => (await get(`/api/v1/pastes?q=${encodeURIComponent(q)}`)).body
    await waitUntil(async () => (await search('ZYGOMORPHIC'))?.total === 1, { what: 'the search', ...SOON })
    expect((await search('botany zygomorphic rust')).pastes).toMatchObject([{ paste_id: made.body.paste_id }])
    expect((await search('100%_sure')).total).toBe(1)
    expect((await search('100%Xsure')).total).toBe(0)
    expect((await search("'; DROP TABLE snippets --")).total).toBe(0)
    await stack.send('DELETE', `/api/v1/pastes/${made.body.paste_id}`, { headers: carol })
    expect((await search('zygomorphic')).pastes).toEqual([])
    await waitUntil(async () => (await search('zygomorphic')).total === 0, { what: 'the removal from the search', ...SOON })
  })
})

test('the total of a search leaves out snippets with limited reads, even if their language matches', async () => {
  const dave = await stack.bearer('4004')
  const fields = { content: 'program', visibility: 'public', language: 'haskell' }
  await stack.create({ ...fields, burn_after_reads: 2 }, dave)
  // The table gets the snippets of a user in the order of their creation, so once the search finds this one, the first
  // is in the table as well.
  const made = await stack.create({ ...fields, title: 'Quokka' }, dave)
  const search = async (q: string) => (await get(`/api/v1/pastes?q=${q}`)).body
  await waitUntil(async () => (await search('quokka'))?.total === 1, { what: 'the search', ...SOON })
  expect(await search('haskell')).toMatchObject({ total: 1, pastes: [{ paste_id: made.body.paste_id }] })
})

describe('versions', () => {
  test('each version names its predecessor, and lists all versions that the reader may see', async () => {
    const owner = await stack.bearer('4010')
    const first = await stack.create({ content: 'a\nb\nc\n', title: 'Letters', language: 'go', visibility: 'public' }, owner)
    const second = await stack.create({ content: 'a\nB\nc\n-- d\n' }, owner, `/api/v1/pastes/${first.body.paste_id}/versions`)
    expect(second).toMatchObject({ status: 201, body: { predecessor: first.body.paste_id, language: 'go', visibility: 'public' } })
    const third = await stack.create({ content: 'z', visibility: 'private' }, owner, `/api/v1/pastes/${second.body.paste_id}/versions`)
    const [one, two, three] = [first, second, third].map(({ body }) => body.paste_id as string)
    const shown = async (id: string, headers = {}) =>
      (await get(`/api/v1/pastes/${id}`, headers)).body.versions.map((version: { paste_id: string }) => version.paste_id)
    expect(await shown(one, owner)).toEqual([one, two, three])
    expect(await shown(three, owner)).toEqual([one, two, three])
    expect(await shown(two)).toEqual([one, two])
    const diff = await get(`/api/v1/pastes/${one}/diff?with=${two}`)
    expect(diff.body).toMatchObject({ from: one, to: two, added: 2, removed: 1 })
    expect(diff.body.diff).toContain('-b\n+B\n c\n+-- d\n')
    const stranger = await stack.bearer('4011')
    expect(error(await stack.create({ content: 'x' }, stranger, `/api/v1/pastes/${one}/versions`))).toEqual([403, 'forbidden'])
    expect(error(await stack.create({ content: 'x' }, {}, `/api/v1/pastes/${one}/versions`))).toEqual([401, 'unauthorized'])
  })

  test('versions are not compared if they differ too much', async () => {
    const lines = (word: string) => Array.from({ length: 20_000 }, (_, index) => `${word} ${(index * 7_919) % 20_011}`).join('\n')
    const [one, two] = [await stack.create({ content: lines('a') }), await stack.create({ content: lines('b') })]
    expect(error(await get(`/api/v1/pastes/${one.body.paste_id}/diff?with=${two.body.paste_id}`))).toEqual([422, 'not_comparable'])
  })
})

describe('a burning snippet', () => {
  test('gives each of its reads to one of 24 concurrent readers, through all instances', async () => {
    const made = await stack.create({ content: 'for three', burn_after_reads: 3, visibility: 'public' })
    const path = `/api/v1/pastes/${made.body.paste_id}`
    expect((await stack.send('HEAD', path)).status).toBe(200)
    const answers = await Promise.all(Array.from({ length: 24 }, (_, index) => get(index % 3 === 0 ? `${path}/raw` : path, {}, index % 2)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(3)
    expect(answers.filter(({ status }) => status === 404)).toHaveLength(21)
    expect(error(await get(path))).toEqual([404, 'paste_not_found'])
    expect((await get('/api/v1/pastes')).body.pastes.map(({ paste_id }: { paste_id: string }) => paste_id)).not.toContain(
      made.body.paste_id,
    )
  })

  test('gives a repeated read with the same key the first response', async () => {
    const made = await stack.create({ content: 'once, but surely', burn_after_reads: 1 })
    const headers = { 'idempotency-key': 'my read', 'x-forwarded-for': '10.200.0.2' }
    const read = await get(`/api/v1/pastes/${made.body.paste_id}`, headers)
    expect(read.body).toMatchObject({ content: 'once, but surely', view_count: 1, reads_left: 0 })
    for (const api of [1, 0]) expect((await get(`/api/v1/pastes/${made.body.paste_id}`, headers, api)).body).toEqual(read.body)
    expect((await get(`/api/v1/pastes/${made.body.paste_id}/raw`, headers)).text).toBe('once, but surely')
    expect(error(await get(`/api/v1/pastes/${made.body.paste_id}`))).toEqual([404, 'paste_not_found'])
  })

  test('is read exactly as often as allowed while the worker, an API instance, Redis and the broker are killed', {
    ...AT_FIRST_TRY,
    timeout: BURN_TIMEOUT_MS,
  }, async () => {
    const race = await burnRace(stack, 'a crash', BURN_READS)
    race.enter(BURN_WAVE)
    await stack.worker.kill()
    race.enter(BURN_WAVE)
    await stack.worker.restart()
    stack.apis[1].child.kill('SIGKILL')
    race.enter(BURN_WAVE)
    await stack.restartApi(1)
    await stack.redis!.kill()
    race.enter(BURN_WAVE)
    await stack.redis!.start()
    await stack.kafka.kill()
    race.enter(BURN_WAVE)
    await stack.kafka.start()
    await race.finish()
  })
})

describe('views', () => {
  test('each read of the content is counted, but HEAD requests, 304 responses and lists are not', async () => {
    const owner = await stack.bearer('4020')
    const made = await stack.create({ content: 'viewed', title: 'viewed', visibility: 'public' }, owner)
    const other = await stack.create({ content: 'not viewed', title: 'a', visibility: 'public' }, owner)
    const path = `/api/v1/pastes/${made.body.paste_id}`
    for (let read = 0; read < 5; read++) await get(path, {}, read % 2)
    const etag = (await get(`${path}/raw`)).headers.get('etag')!
    await get(`${path}/raw`, { 'if-none-match': etag })
    await stack.send('HEAD', path)
    // Real servers may remove the Content-Length of an answer without a body.
    expect((await stack.send('HEAD', `${path}/raw`)).headers.get('content-length')).toBe('6')
    const list = async (sort: string) => (await get(`/api/v1/users/4020/pastes?sort=${sort}`)).body.pastes
    await waitUntil(async () => (await list('views_desc'))[0].view_count === 6, { what: 'the views', ...SOON })
    expect((await list('views_desc')).map((one: { paste_id: string }) => one.paste_id)).toEqual([made.body.paste_id, other.body.paste_id])
  })
})

describe('every route', () => {
  test(
    'answers the requests of a fuzzer as documented',
    async () => {
      const { authorization } = await stack.bearer('4099')
      const { url } = stack.apis[0]
      const routes = ['--include-path-regex', '^/(api/v1/(pastes|users)|p/)']
      await fuzz({ url, authorization, routes, folder: stack.folder.path })
    },
    FUZZ_TIMEOUT_MS,
  )
})

/**
 * Creates a text of exactly the given number of bytes of UTF-8, with punctuation, escapes, and characters of 2 to 4
 * bytes.
 */
function awkwardContent(bytes: number): string {
  const line = `\ufeff"quoted"\\ \u2028 é😀\t\r\n`
  const lines = Math.floor(bytes / Buffer.byteLength(line))
  return line.repeat(lines) + 'x'.repeat(bytes - lines * Buffer.byteLength(line))
}

function storedBlobs(): string[] {
  return readdirSync(stack.blobFolder, { recursive: true })
    .map(String)
    .filter((name) => name.endsWith('.zst'))
    .sort()
}
