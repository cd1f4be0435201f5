import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { ApiError } from '../../../../api/kit/errors.ts'
import { MAX_CONTENT_BYTES } from '../../../../api/snippets/intake/content.ts'
import { takeBody } from '../../../../api/snippets/intake/intake.ts'
import { contentStreams, streams } from '../../../../api/snippets/streams.ts'
import { blobStore } from '../../../../state/blobs/blob-store.ts'
import { draftFolderOf, folderShelf } from '../../../../state/blobs/folder.ts'

const ADDRESS = '10.0.0.1'
const root = mkdtempSync(join(tmpdir(), 'millrace-intake-'))
const blobs = blobStore({ shelf: folderShelf(root), draftFolder: draftFolderOf(root) })
afterAll(() => rmSync(root, { recursive: true, force: true }))

type Taken = { content: string; fields: Record<string, unknown> }
type Refused = { code: string; message: string; details: string | undefined; path: string | undefined }

/** Parses a body that arrives in chunks of the given size. */
async function take(contentType: string | undefined, body: Uint8Array | string, pieceBytes = 65_536): Promise<Taken | Refused> {
  const bytes = Buffer.from(body)
  async function* pieces() {
    for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes)
  }
  try {
    const { draft, fields } = await takeBody(
      { contentType, pieces: pieces(), address: ADDRESS },
      { blobs, incoming: contentStreams().incoming },
    )
    const { hash } = await blobs.keep(draft)
    const read: Buffer[] = []
    for await (const piece of (await blobs.open(hash))!.content()) read.push(piece)
    return { content: Buffer.concat(read).toString(), fields }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const [first] = error.options.details ?? []
    return { code: error.definition.code, message: error.message, details: first?.message, path: first?.path }
  }
}

const json = (body: string | Uint8Array, pieceBytes?: number) => take('application/json', body, pieceBytes)
const text = (body: string | Uint8Array, pieceBytes?: number) => take('text/plain', body, pieceBytes)
const pieceSizes = fc.constantFrom(1, 2, 3, 7, 64, 65_536)
const anyText = fc.string({ unit: 'binary', minLength: 1, maxLength: 60 }).filter((value) => value.isWellFormed() && !value.includes('\0'))

function escapeSome(value: string, escaped: (index: number) => boolean): string {
  const units = Array.from({ length: value.length }, (_, index) => value[index])
  const parts = [...value].map((character, index) => {
    if (!escaped(index)) return JSON.stringify(character).slice(1, -1)
    return Array.from({ length: character.length }, (_, unit) => `\\u${character.charCodeAt(unit).toString(16).padStart(4, '0')}`).join('')
  })
  expect(units.join('')).toBe(value)
  return parts.join('')
}

describe('a JSON body', () => {
  it('a long name is parsed at most twice, however many colons follow it', async () => {
    const parse = vi.spyOn(JSON, 'parse')
    const refused = await json(`{"${'a'.repeat(30_000)}":${'"":'.repeat(5_000)}${',:""'.repeat(1_000)}}`)
    expect(refused).toMatchObject({ code: 'invalid_request' })
    expect(parse.mock.calls.filter(([text]) => text.length >= 30_000).length).toBeLessThanOrEqual(2)
    parse.mockRestore()
  })

  it('may begin with a byte order mark, which is not part of any field', async () => {
    expect(await json('\ufeff{"content":"\ufeffa","title":"t"}')).toEqual({ content: '\ufeffa', fields: { title: 't' } })
  })

  it('is parsed as JSON.parse would parse it, for all chunk boundaries and escapes', async () => {
    const others = fc.dictionary(
      fc.string({ maxLength: 8 }).filter((name) => !['content', '__proto__'].includes(name) && !name.includes('\0')),
      fc.jsonValue({ maxDepth: 3 }),
      { maxKeys: 4 },
    )
    const property = fc.asyncProperty(anyText, others, others, pieceSizes, fc.nat(7), async (content, before, after, size, mask) => {
      const fields = { ...before, content, ...after }
      const escapedContent = `"${escapeSome(content, (index) => ((index + mask) & mask) === mask)}"`
      const body = Object.entries(fields)
        .map(([name, value]) => `${JSON.stringify(name)} : ${name === 'content' ? escapedContent : JSON.stringify(value, null, mask & 1)}`)
        .join(' ,\n')
      const taken = await json(`{${body}}`, size)
      if (JSON.stringify(fields).includes('\\u0000')) return
      const { content: _content, ...rest } = JSON.parse(`{${body}}`)
      expect(taken).toEqual({ content, fields: rest })
    })
    await fc.assert(property, { numRuns: 300 })
  })

  it('is refused if JSON.parse refuses it, and otherwise only if its content is missing, empty, repeated or not a string', async () => {
    const fragments = [
      '{',
      '}',
      '[',
      ']',
      '"content"',
      '"a"',
      ':',
      ',',
      '"x\\"y"',
      '1',
      'null',
      ' ',
      '"con\\u0074ent"',
      '\\',
      '"',
      '{"b":"content"}',
    ]
    const property = fc.asyncProperty(fc.array(fc.constantFrom(...fragments), { maxLength: 9 }), fc.boolean(), async (parts, wrapped) => {
      const body = wrapped ? `{"content":"c",${parts.join('')}}` : parts.join('')
      const taken = await json(body, 3)
      let parsed: unknown
      try {
        parsed = JSON.parse(body)
      } catch {
        expect(taken).toMatchObject({ code: 'invalid_request' })
        return
      }
      if ('code' in taken) {
        const names = body.match(/"con(?:t|\\u0074)ent"\s*:/g) ?? []
        const isObject = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)
        const content = isObject ? (parsed as { content?: unknown }).content : undefined
        expect(typeof content !== 'string' || content === '' || names.length > 1, `${body}: ${JSON.stringify(taken)}`).toBe(true)
      } else expect(taken.content).toBe((parsed as { content: string }).content)
    })
    await fc.assert(property, { numRuns: 1_500 })
  })

  it.each([
    ['nothing', '', 'the body is empty'],
    ['a list instead of an object', '[{"content":"x"}]', 'must be an object'],
    ['no content', '{"title":"x"}', 'is missing, or is not a string'],
    ['content that is not a string', '{"content":5}', 'is missing, or is not a string'],
    ['content that is a list', '{"content":["x"]}', 'is missing, or is not a string'],
    ['content only in a nested object', '{"a":{"content":"x"}}', 'is missing, or is not a string'],
    ['content twice', '{"content":"x","content":"y"}', 'is given twice'],
    ['content twice, the second time as null', '{"content":"x","content":null}', 'is missing, or is not a string'],
    ['a raw line break in content', '{"content":"a\nb"}', 'the JSON body cannot be read: an unescaped control character in content'],
    ['an unknown escape', '{"content":"a\\x41"}', 'the JSON body cannot be read: an invalid escape in content'],
    ['an incomplete escape', '{"content":"\\u12"}', 'the JSON body cannot be read: an invalid escape in content'],
    ['a syntax error', '{"content":"abc","title":secret}', 'the JSON body cannot be read: a syntax error outside of content'],
    ['a string without a closing quote', '{"content":"abc', 'the JSON body cannot be read: it ends within a string'],
  ])('is refused if it contains %s', async (_name, body, details) => {
    for (const size of [1, 1_000]) expect(await json(body, size)).toMatchObject({ code: 'invalid_request', details })
  })

  it('is refused with the path of the content if it contains content twice', async () => {
    expect(await json('{"content":"x","content":"y"}')).toMatchObject({ path: 'body.content' })
  })

  it('is refused if text follows its end', async () => {
    expect(await json('{"content":"x"} {"content":"y"}')).toMatchObject({ code: 'invalid_request' })
    expect(await json('{"content":"x"}x')).toMatchObject({ code: 'invalid_request' })
  })

  it('is refused if the content or another field contains lone surrogates or NUL', async () => {
    const bodies = [
      '"\\ud83d"',
      '"\\ude00"',
      '"\\ud83dx"',
      '"\\ud83d\\n"',
      '"\\ud83d\\ud83d"',
      '"\\ude00\\ud83d"',
      '"a\\u0000b"',
      '"\\ud83d\u00e9"',
    ]
    for (const value of bodies) {
      for (const size of [1, 4, 1_000]) {
        expect(await json(`{"content":${value}}`, size), value).toMatchObject({ code: 'invalid_encoding' })
        expect(await json(`{"content":"x","title":${value}}`, size), value).toMatchObject({ code: 'invalid_encoding' })
      }
    }
    expect(await json('{"content":"\\ud83d\\ude00"}', 1)).toMatchObject({ content: '😀' })
  })

  it('is refused if it is too deeply nested or has too much text outside the content', async () => {
    expect(await json(`{"content":"x","a":${'['.repeat(1_000)}${']'.repeat(1_000)}}`)).toMatchObject({ code: 'invalid_request' })
    expect(await json(`{"content":"x","a":${'['.repeat(100_000)}`)).toMatchObject({ code: 'content_too_large' })
    expect(await json(`{"content":"x","title":"${'y'.repeat(70_000)}"}`)).toMatchObject({ code: 'content_too_large' })
    expect(await json(' '.repeat(70_000))).toMatchObject({ code: 'content_too_large' })
  })
})

describe('the size of the content', () => {
  it("is at most 10 MiB of UTF-8 regardless of the body's size, and the rest of longer content is not read", async () => {
    const whole = 'é'.repeat(MAX_CONTENT_BYTES / 2)
    const form = (content: string) => `--b\r\nContent-Disposition: form-data; name="content"\r\n\r\n${content}\r\n--b--\r\n`
    for (const [type, body] of [
      ['text/plain', (content: string) => content],
      ['application/json', (content: string) => JSON.stringify({ content })],
      ['multipart/form-data; boundary=b', form],
    ] as const) {
      expect(((await take(type, body(whole))) as Taken).content === whole).toBe(true)
      expect(await take(type, body(`${whole}x`)), type).toMatchObject({ code: 'content_too_large' })
    }
    const escaped = JSON.stringify({ content: 'x' }).replace('x', '\\u0078'.repeat(MAX_CONTENT_BYTES + 1))
    expect(await json(escaped)).toMatchObject({ code: 'content_too_large' })
    let taken = 0
    async function* endless() {
      for (; ; taken++) yield Buffer.alloc(65_536, 'x')
    }
    await expect(
      takeBody({ contentType: 'text/plain', pieces: endless(), address: ADDRESS }, { blobs, incoming: contentStreams().incoming }),
    ).rejects.toThrow('larger than')
    expect(taken).toBe(MAX_CONTENT_BYTES / 65_536)
  })

  it('a body that is cut off releases its slot even if the disk cannot delete the draft', async () => {
    const incoming = streams({ places: 1, placesPerCaller: 1, maxWaiting: 0, maxWaitingPerCaller: 0, waitMs: 1 })
    const draft = blobs.draft()
    const { discard } = draft
    const failing = () => discard().then(() => Promise.reject(new Error('EIO')))
    const stuck = Object.assign(draft, { discard: failing })
    async function* broken() {
      yield Buffer.alloc(100_000, 'x')
      expect(incoming.running).toBe(1)
      throw new Error('the client has gone')
    }
    await expect(
      takeBody({ contentType: 'text/plain', pieces: broken(), address: ADDRESS }, { blobs: { ...blobs, draft: () => stuck }, incoming }),
    ).rejects.toThrow()
    expect(incoming.running).toBe(0)
  })

  it('must not be zero', async () => {
    expect(await text('')).toMatchObject({ code: 'invalid_content' })
    expect(await json('{"content":""}')).toMatchObject({ code: 'invalid_content' })
  })
})

describe('bare text', () => {
  it('is stored byte for byte, including byte order mark and line ends', async () => {
    const property = fc.asyncProperty(anyText, pieceSizes, async (content, size) => {
      expect(await text(content, size)).toEqual({ content, fields: {} })
    })
    await fc.assert(property, { numRuns: 100 })
    expect(await take('application/x-www-form-urlencoded', '\ufeffa=b\r\n')).toMatchObject({ content: '\ufeffa=b\r\n' })
  })

  it('is refused if it is not UTF-8, for all chunk boundaries', async () => {
    const bad = [
      [0xff],
      [0xc3],
      [0xc3, 0x28],
      [0xe2, 0x82],
      [0xed, 0xa0, 0x80],
      [0xf0, 0x9f, 0x98],
      [0xf4, 0x90, 0x80, 0x80],
      [0xc0, 0x80],
      [0x80],
    ]
    for (const bytes of bad) {
      for (const size of [1, 2, 100]) {
        for (const after of [[], [0x78]]) {
          expect(await text(Buffer.from([0x61, ...bytes, ...after]), size)).toMatchObject({ code: 'invalid_encoding' })
          expect(await json(Buffer.from([...Buffer.from('{"content":"a'), ...bytes, ...Buffer.from('"}')]), size)).toMatchObject({
            code: 'invalid_encoding',
          })
        }
      }
    }
    expect(await text('a\0b')).toMatchObject({ code: 'invalid_encoding' })
  })

  it('is refused if its charset is not UTF-8, or if its content type is missing or not supported', async () => {
    for (const type of ['text/plain; charset=latin1', 'text/html', 'application/octet-stream', undefined, ''])
      expect(await take(type, 'x'), type).toMatchObject({ code: 'unsupported_media_type' })
    for (const type of ['text/plain; charset=UTF-8', 'Text/Plain;charset="utf-8"'])
      expect(await take(type, 'x')).toMatchObject({ content: 'x' })
  })
})

describe('a form', () => {
  async function formBody(entries: readonly (readonly [string, string | Blob])[]) {
    const data = new FormData()
    for (const [name, value] of entries) data.append(name, value)
    const response = new Response(data)
    return [response.headers.get('content-type')!, Buffer.from(await response.arrayBuffer())] as const
  }

  it('is parsed as FormData encodes it, with the content as a field or as a file', async () => {
    const property = fc.asyncProperty(anyText, anyText, pieceSizes, fc.boolean(), async (content, title, size, asFile) => {
      // FormData encodes line ends in fields as CRLF, but leaves files unchanged. The fields thus contain no line ends.
      const value = asFile ? content : content.replaceAll(/[\r\n]/g, ' ')
      const name = title.replaceAll(/[\r\n]/g, ' ')
      const [type, body] = await formBody([
        ['title', name],
        ['content', asFile ? new File([value], 'a.py') : value],
        ['language', 'go'],
      ])
      const shown = name.startsWith('\ufeff') ? name.slice(1) : name
      expect(await take(type, body, size)).toEqual({ content: value, fields: { title: shown, language: 'go' } })
    })
    await fc.assert(property, { numRuns: 150 })
  })

  it('may contain text that resembles its boundary', async () => {
    const content = '\r\n--b\r-\n--\r\n--bb--\r\n\r\n--'
    const body = `preamble\r\n--bx\r\nContent-Disposition: form-data; name=content\r\nContent-Type: text/x-go\r\n\r\n${content}\r\n--bx--\r\nepilogue`
    for (const size of [1, 3, 500]) expect(await take('multipart/form-data; boundary="bx"', body, size)).toMatchObject({ content })
  })

  it.each([
    ['without a boundary', 'multipart/form-data', ''],
    ['without an end', 'multipart/form-data; boundary=b', '--b\r\nContent-Disposition: form-data; name="content"\r\n\r\nabc'],
    ['without content', 'multipart/form-data; boundary=b', '--b\r\nContent-Disposition: form-data; name="title"\r\n\r\nabc\r\n--b--'],
    ['without names', 'multipart/form-data; boundary=b', '--b\r\n\r\nabc\r\n--b--'],
    ['with endless headers', 'multipart/form-data; boundary=b', `--b\r\n${'x'.repeat(9_000)}`],
    ['with a boundary in the middle of a line', 'multipart/form-data; boundary=b', '--bad'],
    ['empty', 'multipart/form-data; boundary=b', ''],
    [
      'with a field twice',
      'multipart/form-data; boundary=b',
      '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n2\r\n--b--',
    ],
    [
      'with a long field',
      'multipart/form-data; boundary=b',
      `--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n${'x'.repeat(5_000)}\r\n--b--`,
    ],
    [
      'with too many parts',
      'multipart/form-data; boundary=b',
      `${Array.from({ length: 40 }, (_, index) => `--b\r\nContent-Disposition: form-data; name="a${index}"\r\n\r\n1\r\n`).join('')}--b--`,
    ],
  ])('%s is refused', async (_name, type, body) => {
    for (const size of [1, 10_000]) expect(await take(type, body, size)).toMatchObject({ code: 'invalid_request' })
  })
})

it('no draft of a refused body is left behind', () => {
  expect(readdirSync(draftFolderOf(root))).toEqual([])
})
