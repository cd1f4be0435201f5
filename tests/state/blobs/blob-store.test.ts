import { execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, type ReadStream, readdirSync, readFileSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import type { S3Client } from '@aws-sdk/client-s3'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { type BlobStore, BlobsUnavailableError, blobStore, UNTOUCHED_MS } from '../../../state/blobs/blob-store.ts'
import { bucketShelf } from '../../../state/blobs/bucket.ts'
import { connectBlobs, s3Client } from '../../../state/blobs/connect.ts'
import { draftFolderOf, folderShelf } from '../../../state/blobs/folder.ts'
import { BlobCorruptError, readBlob } from '../../../state/blobs/read.ts'
import { sweepBlobs } from '../../../state/blobs/sweep.ts'
import { startS3 } from './s3-server.ts'

const folder = mkdtempSync(join(tmpdir(), 'millrace-blobs-'))
const root = join(folder, 'blobs')
const folderDrafts = draftFolderOf(root)
const bucketDrafts = join(folder, 'drafts')
let s3: Server
let bucketStore: BlobStore
let plainBucketStore: BlobStore
let bucketClient: S3Client
let s3Url: string
/** The time that the clock of the bucket shelf shows, epoch ms. */
let bucketNow = Date.now()

beforeAll(async () => {
  s3 = await startS3(join(folder, 's3'), 'snippets')
  s3Url = `http://127.0.0.1:${(s3.address() as AddressInfo).port}`
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'S3RVER')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'S3RVER')
  bucketClient = await s3Client(s3Url)
  const shelf = await bucketShelf({
    client: bucketClient,
    bucket: 'snippets',
    prefix: 'blobs/',
    renewAfterMs: 1_000,
    timeoutMs: 10_000,
    now: () => bucketNow,
  })
  bucketStore = blobStore({ shelf, draftFolder: bucketDrafts })
  plainBucketStore = blobStore({ shelf, draftFolder: bucketDrafts, compresses: false })
})

afterAll(async () => {
  vi.unstubAllEnvs()
  bucketClient.destroy()
  s3.close()
  s3.closeAllConnections()
  rmSync(folder, { recursive: true, force: true })
})

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

async function keep(blobs: BlobStore, ...pieces: readonly Uint8Array[]) {
  const draft = blobs.draft()
  for (const piece of pieces) await draft.write(piece)
  return await blobs.keep(draft)
}

async function contentOf(blobs: BlobStore, hash: string): Promise<Buffer | undefined> {
  const blob = await blobs.open(hash)
  if (blob === undefined) return undefined
  const pieces: Buffer[] = []
  for await (const piece of blob.content()) pieces.push(piece)
  return Buffer.concat(pieces)
}

describe.each([
  ['a folder', folderDrafts, () => blobStore({ shelf: folderShelf(root), draftFolder: folderDrafts })],
  ['a bucket', bucketDrafts, () => bucketStore],
  ['a folder, uncompressed', folderDrafts, () => blobStore({ shelf: folderShelf(root), draftFolder: folderDrafts, compresses: false })],
  ['a bucket, uncompressed', bucketDrafts, () => plainBucketStore],
])('a store of blobs in %s', (_name, drafts, store) => {
  it('returns the content that was kept, however it was split into pieces', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 400 }), { maxLength: 8 }), fc.constantFrom(1, 200), async (pieces, repeat) => {
        const all = pieces.map((piece) => Buffer.concat(Array.from({ length: repeat }, () => Buffer.from(piece))))
        const { hash, bytes } = await keep(store(), ...all)
        const whole = Buffer.concat(all)
        expect({ hash, bytes }).toEqual({ hash: sha256(whole), bytes: whole.byteLength })
        expect(await contentOf(store(), hash)).toEqual(whole)
      }),
      { numRuns: 30 },
    )
  })

  it('keeps ten megabytes, and leaves no draft behind', async () => {
    const line = Buffer.from('the quick brown fox jumps over the lazy dog\n'.repeat(1_000))
    const pieces = Array.from({ length: 240 }, (_, index) => Buffer.concat([Buffer.from(`${index}\n`), line]))
    const { hash, bytes } = await keep(store(), ...pieces)
    expect(bytes).toBeGreaterThan(10_000_000)
    expect(sha256((await contentOf(store(), hash))!)).toBe(hash)
    expect(readdirSync(drafts)).toEqual([])
  })

  it('contains nothing of a draft that was discarded', async () => {
    const draft = store().draft()
    const content = Buffer.alloc(200_000, 'discarded')
    await draft.write(content)
    await draft.discard()
    expect(await store().open(sha256(content))).toBeUndefined()
    expect(readdirSync(drafts)).toEqual([])
  })

  it('accepts content that it already contains', async () => {
    const content = Buffer.from('kept twice')
    const { hash } = await keep(store(), content)
    expect(await keep(store(), content)).toEqual({ hash, bytes: content.byteLength })
    expect(await contentOf(store(), hash)).toEqual(content)
  })

  it('does not remove a blob that was touched recently', async () => {
    const { hash } = await keep(store(), Buffer.from('touched again'))
    bucketNow = Date.now() + 60_000
    const touchedAt = Date.now()
    expect(await store().touch(hash)).toBe(true)
    expect(await store().shelf.removeUntouched(hash, touchedAt - 1_000)).toBe(false)
    expect(await contentOf(store(), hash)).toEqual(Buffer.from('touched again'))
    expect(await store().touch(sha256(Buffer.from('never kept')))).toBe(false)
    bucketNow = Date.now()
  })

  it('sweeps unreferenced blobs that were not touched recently', async () => {
    const wanted = await keep(store(), Buffer.from('wanted'))
    const orphan = await keep(store(), Buffer.from('orphan'))
    const referenced = async (hashes: readonly string[]) => new Set(hashes.filter((hash) => hash !== orphan.hash))
    const signal = new AbortController().signal
    const hour = 3_600_000
    expect(await sweepBlobs({ blobs: store(), referenced, before: Date.now() - hour, signal })).toMatchObject({ removed: 0 })
    expect(await sweepBlobs({ blobs: store(), referenced, before: Date.now() + hour, signal })).toMatchObject({ removed: 1 })
    expect(await contentOf(store(), orphan.hash)).toBeUndefined()
    expect(await contentOf(store(), wanted.hash)).toEqual(Buffer.from('wanted'))
  })

  it('removes nothing if references cannot be read', async () => {
    const orphan = await keep(store(), Buffer.from('perhaps an orphan'))
    const referenced = () => Promise.reject(new Error('not caught up'))
    const sweep = sweepBlobs({ blobs: store(), referenced, before: Date.now() + 3_600_000, signal: new AbortController().signal })
    await expect(sweep).rejects.toThrow('not caught up')
    expect(await contentOf(store(), orphan.hash)).toBeDefined()
  })
})

describe('a store of blobs in a folder', () => {
  const store = () => blobStore({ shelf: folderShelf(root), draftFolder: folderDrafts })
  const pathOf = (hash: string, suffix = '.zst') => join(root, hash.slice(0, 2), hash + suffix)

  it('detects that a small blob was replaced with another blob or damaged', async () => {
    const { hash } = await keep(store(), Buffer.from('precious'))
    const other = await keep(store(), Buffer.from('exchanged'))
    writeFileSync(pathOf(hash), readFileSync(pathOf(other.hash)))
    await expect(contentOf(store(), hash)).rejects.toBeInstanceOf(BlobCorruptError)
    for (const damaged of [Buffer.from('no zstd'), readFileSync(pathOf(other.hash)).subarray(0, -3), Buffer.alloc(0)]) {
      writeFileSync(pathOf(hash), damaged)
      await expect(contentOf(store(), hash)).rejects.toBeInstanceOf(BlobCorruptError)
    }
  })

  it('returns the stored content or reports damage, whichever byte of the file is changed', async () => {
    const content = Buffer.from('a few words that are stored as they are')
    const { hash } = await keep(store(), content)
    const good = readFileSync(pathOf(hash))
    for (let at = 0; at < good.length; at++) {
      const bad = Buffer.from(good)
      bad[at] ^= 0x55
      writeFileSync(pathOf(hash), bad)
      const found = await contentOf(store(), hash).catch((error: Error) => error)
      // Some bits of the header and of the stamp have no meaning. Flipping such a bit is not detected, but does not
      // change the content.
      expect(found instanceof BlobCorruptError || content.equals(found as Buffer), `byte ${at}`).toBe(true)
    }
  })

  it('keeps a blob that is touched while a sweep examines it', async () => {
    const { hash } = await keep(store(), Buffer.from('touched in time'))
    // Backdates only this blob. The other blobs in the tests of this file must not become old, even on a slow machine.
    const old = new Date(Date.now() - 2 * UNTOUCHED_MS)
    utimesSync(pathOf(hash), old, old)
    const referenced = async () => {
      await keep(store(), Buffer.from('touched in time'))
      return new Set<string>()
    }
    const before = Date.now() - UNTOUCHED_MS
    expect(await sweepBlobs({ blobs: store(), referenced, before, signal: new AbortController().signal })).toMatchObject({ removed: 0 })
    expect(await contentOf(store(), hash)).toBeDefined()
  })

  it('removes old drafts of killed writers when it sweeps and when it opens', async () => {
    const place = join(folder, 'drafts of killed writers')
    const blobs = blobStore({ shelf: folderShelf(place), draftFolder: draftFolderOf(place) })
    const leave = (name: string, daysAgo: number) => {
      const path = join(draftFolderOf(place), name)
      writeFileSync(path, 'half')
      const written = new Date(Date.now() - daysAgo * UNTOUCHED_MS)
      utimesSync(path, written, written)
    }
    mkdirSync(draftFolderOf(place), { recursive: true })
    leave('old.draft', 2)
    leave('new.draft', 0.5)
    const options = { referenced: async () => new Set<string>(), before: Date.now() - UNTOUCHED_MS, signal: new AbortController().signal }
    expect(await sweepBlobs({ blobs, ...options })).toEqual({ seen: 0, removed: 0, drafts: 1 })
    leave('old.draft', 2)
    await connectBlobs({ url: pathToFileURL(place).href, s3Endpoint: undefined })
    expect(readdirSync(draftFolderOf(place))).toEqual(['new.draft'])
  })

  it('leaves no draft behind if the content cannot be written', async () => {
    const unwritable = { kind: 'memory', bytes: null as never } as const
    await expect(folderShelf(root).put(sha256(Buffer.from('unwritten')), unwritable)).rejects.toThrow()
    expect(readdirSync(folderDrafts)).toEqual([])
  })

  it('restores the blobs that a killed sweep had moved aside', async () => {
    const { hash } = await keep(store(), Buffer.from('moved aside'))
    renameSync(pathOf(hash), pathOf(hash, '.aside'))
    const signal = new AbortController().signal
    await sweepBlobs({ blobs: store(), referenced: async (hashes) => new Set(hashes), before: 0, signal })
    expect(await contentOf(store(), hash)).toEqual(Buffer.from('moved aside'))
  })

  it('keeps a blob that was stored again after a killed sweep had moved it aside', async () => {
    const content = Buffer.from('stored again')
    const { hash } = await keep(store(), content)
    const old = new Date(Date.now() - 2 * UNTOUCHED_MS)
    utimesSync(pathOf(hash), old, old)
    renameSync(pathOf(hash), pathOf(hash, '.aside'))
    await keep(store(), content)
    const options = { referenced: async () => new Set<string>(), before: Date.now() - UNTOUCHED_MS, signal: new AbortController().signal }
    expect(await sweepBlobs({ blobs: store(), ...options })).toMatchObject({ removed: 0 })
    expect(await contentOf(store(), hash)).toEqual(content)
    expect(readdirSync(dirname(pathOf(hash)))).not.toContain(`${hash}.aside`)
  })

  it("fails with the disk's own error if the disk accepts only the first bytes of a write", async () => {
    // A draft is written in pieces of 16 KiB, so the third write reaches the limit on the size of a file.
    const command = 'ulimit -f 33; exec "$0" "$@"'
    const child = join(import.meta.dirname, 'children/limited-writer.ts')
    const { stdout } = await promisify(execFile)('bash', ['-c', command, process.execPath, child, join(folder, 'limited')])
    expect(stdout).toBe('EFBIG')
    expect(readdirSync(draftFolderOf(join(folder, 'limited')))).toEqual([])
  })

  it('has every blob that a killed writer reported as kept, and no partial blob', async () => {
    const place = join(folder, 'killed')
    const child = spawn(process.execPath, [join(import.meta.dirname, 'children/writer.ts'), place], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let printed = ''
    child.stdout.on('data', (data) => {
      printed += data
      if (printed.split('\n').length > 40) child.kill('SIGKILL')
    })
    await once(child, 'close')
    const blobs = blobStore({ shelf: folderShelf(place), draftFolder: draftFolderOf(place) })
    const hashes = printed.split('\n').filter((line) => line.length === 64)
    expect(hashes.length).toBeGreaterThanOrEqual(40)
    for (const hash of hashes) expect(sha256((await contentOf(blobs, hash))!)).toBe(hash)
    const listed = await Array.fromAsync(blobs.shelf.list())
    expect(listed.length).toBeGreaterThanOrEqual(hashes.length)
    for (const { hash } of listed) expect(sha256((await contentOf(blobs, hash))!)).toBe(hash)
  })
})

describe('uncompressed blobs in a folder', () => {
  const plain = () => blobStore({ shelf: folderShelf(root), draftFolder: folderDrafts, compresses: false })
  const pathOf = (hash: string) => join(root, hash.slice(0, 2), `${hash}.zst`)

  it.each([1_000, 300_000])(
    'stores %i bytes unchanged after a stamp, and a compressing store on the same folder can read them',
    async (length) => {
      const content = Buffer.alloc(length, `plain ${length}`)
      const { hash } = await keep(plain(), content)
      const stored = readFileSync(pathOf(hash))
      expect(stored.subarray(16).equals(content)).toBe(true)
      expect(stored.byteLength).toBe(16 + length)
      const compressing = blobStore({ shelf: folderShelf(root), draftFolder: folderDrafts })
      expect(await contentOf(compressing, hash)).toEqual(content)
    },
  )

  it.each([1_000, 300_000])('detects damage to a blob of %i bytes', async (length) => {
    const { hash } = await keep(plain(), Buffer.alloc(length, `damaged ${length}`))
    const stored = readFileSync(pathOf(hash))
    const changed = Buffer.from(stored)
    changed[length]++
    for (const damaged of [changed, stored.subarray(0, -1), stored.subarray(0, 10), Buffer.alloc(0)]) {
      writeFileSync(pathOf(hash), damaged)
      await expect(contentOf(plain(), hash)).rejects.toBeInstanceOf(BlobCorruptError)
    }
  })
})

describe('a store of blobs in a bucket', () => {
  it('refuses to touch a blob that was stored long ago, so that the caller stores the blob again', async () => {
    const { hash } = await keep(bucketStore, Buffer.from('renewed'))
    // S3 rounds the time of a blob down to whole seconds.
    bucketNow = Date.now() - 1_000
    expect(await bucketStore.shelf.touch(hash)).toBe(true)
    bucketNow = Date.now() + 60_000
    expect(await bucketStore.shelf.touch(hash)).toBe(false)
    await keep(bucketStore, Buffer.from('renewed'))
    expect(await contentOf(bucketStore, hash)).toEqual(Buffer.from('renewed'))
  })

  it('is unavailable if the bucket does not exist, so that no caller concludes that a blob is missing', async () => {
    const options = { prefix: 'blobs/', renewAfterMs: 1_000, timeoutMs: 10_000, now: () => bucketNow }
    const shelf = await bucketShelf({ ...options, client: bucketClient, bucket: 'nowhere' })
    const { hash } = await keep(bucketStore, Buffer.from('stored elsewhere'))
    await expect(shelf.open(hash)).rejects.toThrow(BlobsUnavailableError)
  })

  it('reports a missing file if the file of a draft was deleted', async () => {
    const missing = { kind: 'file', path: join(bucketDrafts, 'missing.draft'), length: 100_000 } as const
    const stored = bucketStore.shelf.put(sha256(Buffer.from('missing')), missing)
    await expect(stored).rejects.toThrow(BlobsUnavailableError)
    await expect(stored).rejects.toThrow('ENOENT')
  })

  it.each([
    ['deleted', 404],
    ['changed', 409],
    ['stored again', 412],
  ])('removes nothing if another process has %s the blob since its inspection', async (_what, httpStatusCode) => {
    const client = await s3Client('http://127.0.0.1:1')
    onTestFinished(() => client.destroy())
    vi.spyOn(client, 'send')
      .mockResolvedValueOnce({ LastModified: new Date(0), ETag: '"1"' } as never)
      .mockRejectedValueOnce(Object.assign(new Error('refused'), { $metadata: { httpStatusCode } }) as never)
    const shelf = await bucketShelf({ client, bucket: 'b', prefix: '', renewAfterMs: 1, timeoutMs: 50, now: Date.now })
    expect(await shelf.removeUntouched(sha256(Buffer.from('x')), Date.now())).toBe(false)
  })

  it('is unavailable when its server cannot be reached', async () => {
    const client = await s3Client('http://127.0.0.1:1')
    const shelf = await bucketShelf({ client, bucket: 'b', prefix: '', renewAfterMs: 1, timeoutMs: 50, now: Date.now })
    const blobs = blobStore({ shelf, draftFolder: join(folder, 'drafts') })
    await expect(keep(blobs, Buffer.from('x'))).rejects.toBeInstanceOf(BlobsUnavailableError)
    await expect(blobs.open(sha256(Buffer.from('x')))).rejects.toBeInstanceOf(BlobsUnavailableError)
    client.destroy()
  })

  it('is unavailable when its server hangs before or during an answer', async () => {
    let isSilent = true
    const server = createServer((_request, response) => {
      if (!isSilent) response.writeHead(200, { 'content-length': '1000' }).write('a part')
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    onTestFinished(() => {
      server.close()
      server.closeAllConnections()
    })
    const client = await s3Client(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, 50)
    onTestFinished(() => client.destroy())
    const shelf = await bucketShelf({ client, bucket: 'b', prefix: '', renewAfterMs: 1, timeoutMs: 50, now: Date.now })
    const blobs = blobStore({ shelf, draftFolder: join(folder, 'drafts') })
    const hash = sha256(Buffer.from('x'))
    await expect(blobs.open(hash)).rejects.toBeInstanceOf(BlobsUnavailableError)
    await expect(blobs.touch(hash)).rejects.toBeInstanceOf(BlobsUnavailableError)
    isSilent = false
    await expect(contentOf(blobs, hash)).rejects.toBeInstanceOf(BlobsUnavailableError)
  })

  it('frees the connection of a blob that is closed without being read', async () => {
    const { promise: freed, resolve } = Promise.withResolvers<void>()
    const server = createServer((_request, response) => {
      response.on('close', resolve)
      response.writeHead(200, { 'content-length': '1000000' }).write('a part')
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    onTestFinished(() => {
      server.close()
      server.closeAllConnections()
    })
    const client = await s3Client(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    onTestFinished(() => client.destroy())
    const shelf = await bucketShelf({ client, bucket: 'b', prefix: '', renewAfterMs: 1, timeoutMs: 10_000, now: Date.now })
    const blob = await blobStore({ shelf, draftFolder: join(folder, 'drafts') }).open(sha256(Buffer.from('x')))
    blob!.close()
    await freed
  })

  it('closes the file of a draft if the server of the bucket cannot be reached', async () => {
    const client = await s3Client('http://127.0.0.1:1')
    onTestFinished(() => client.destroy())
    const sent = vi.spyOn(client, 'send')
    const shelf = await bucketShelf({ client, bucket: 'b', prefix: '', renewAfterMs: 1, timeoutMs: 50, now: Date.now })
    const path = join(folder, 'refused.draft')
    writeFileSync(path, Buffer.alloc(1_000_000))
    const putting = shelf.put(sha256(Buffer.from('x')), { kind: 'file', path, length: 1_000_000 })
    await expect(putting).rejects.toBeInstanceOf(BlobsUnavailableError)
    const { Body } = sent.mock.calls[0][0].input as { readonly Body: ReadStream }
    await vi.waitFor(() => expect(Body.closed).toBe(true), { timeout: 30_000 })
  })

  it('reads a blob that arrives byte by byte, and detects a blob that ends early', async () => {
    const content = Buffer.from('slowly')
    const { hash } = await keep(bucketStore, content)
    const stored = await Array.fromAsync((await bucketStore.shelf.open(hash)) as Readable)
    async function read(bytes: readonly number[]): Promise<Buffer> {
      return Buffer.concat(
        await Array.fromAsync(
          readBlob(
            hash,
            Readable.from(
              bytes.map((byte) => Buffer.of(byte)),
              { objectMode: false },
            ),
          ),
        ),
      )
    }
    const all = [...Buffer.concat(stored)]
    expect(await read(all)).toEqual(content)
    for (const length of [0, 1, 15, 16, 17]) await expect(read(all.slice(0, length)), `${length}`).rejects.toBeInstanceOf(BlobCorruptError)
  })

  it('is opened by an s3: URL; a file: URL opens a folder, and other URLs are refused', async () => {
    const blobs = await connectBlobs({ url: 's3://snippets/deep/er', s3Endpoint: s3Url })
    const { hash } = await keep(blobs, Buffer.from('by its URL'))
    expect(await contentOf(blobs, hash)).toEqual(Buffer.from('by its URL'))
    const listed: string[] = []
    for await (const blob of blobs.shelf.list()) listed.push(blob.hash)
    expect(listed).toEqual([hash])
    await expect(connectBlobs({ url: 'http://elsewhere/', s3Endpoint: undefined })).rejects.toThrow('file: or s3:')
    const local = await connectBlobs({ url: pathToFileURL(join(folder, 'by-url')).href, s3Endpoint: undefined })
    expect((await keep(local, Buffer.from('x'))).bytes).toBe(1)
  })
})
