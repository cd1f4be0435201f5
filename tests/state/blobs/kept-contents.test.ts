import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { type BlobStore, blobStore } from '../../../state/blobs/blob-store.ts'
import { draftFolderOf, folderShelf } from '../../../state/blobs/folder.ts'
import { withKeptContents } from '../../../state/blobs/kept-contents.ts'
import { BlobCorruptError } from '../../../state/blobs/read.ts'

const root = mkdtempSync(join(tmpdir(), 'millrace-kept-'))
const KEPT_BYTES = 200_000
let blobs: BlobStore
let opened: string[]

beforeEach(() => {
  const store = blobStore({ shelf: folderShelf(root), draftFolder: draftFolderOf(root) })
  opened = []
  const counting: BlobStore = {
    ...store,
    async open(hash) {
      opened.push(hash)
      return await store.open(hash)
    },
  }
  blobs = withKeptContents(counting, KEPT_BYTES)
})

afterAll(() => rmSync(root, { recursive: true, force: true }))

async function keep(content: Uint8Array): Promise<string> {
  const draft = blobs.draft()
  await draft.write(content)
  return (await blobs.keep(draft)).hash
}

async function contentOf(hash: string): Promise<Buffer | undefined> {
  const pieces: Buffer[] = []
  const blob = await blobs.open(hash)
  if (blob === undefined) return undefined
  for await (const piece of blob.content()) pieces.push(piece)
  return Buffer.concat(pieces)
}

const filled = (bytes: number, text: string) => Buffer.alloc(bytes, text)

describe('a store with kept contents', () => {
  it.each([0, 1, 1_000, 65_536])('reads content of %i bytes from the shelf only once', async (bytes) => {
    const content = filled(bytes, `${bytes} bytes`)
    const hash = await keep(content)
    for (let time = 0; time < 3; time++) expect(await contentOf(hash)).toEqual(content)
    expect(opened).toEqual([hash])
  })

  it.each([65_537, 300_000, 1_000_000])('does not cache content of %i bytes', async (bytes) => {
    const content = filled(bytes, 'long')
    const hash = await keep(content)
    for (let time = 0; time < 2; time++) expect((await contentOf(hash))!.equals(content)).toBe(true)
    expect(opened).toEqual([hash, hash])
  })

  it('keeps the most recently read contents up to the size limit, which also bounds the number of tiny contents', async () => {
    const hashes = await Promise.all(Array.from({ length: 5 }, (_, index) => keep(filled(50_000, `${index}.`))))
    for (const hash of hashes) await contentOf(hash)
    opened.length = 0
    for (const hash of hashes.toReversed()) await contentOf(hash)
    expect(opened).toEqual([hashes[1], hashes[0]])

    const tiny = await Promise.all(Array.from({ length: 1_000 }, (_, index) => keep(Buffer.from(`${index}`))))
    for (const hash of tiny) await contentOf(hash)
    opened.length = 0
    await contentOf(tiny.at(-1)!)
    await contentOf(tiny[0])
    expect(opened).toEqual([tiny[0]])
  })

  it('does not cache damaged content, or content that was not read to the end', async () => {
    const hash = await keep(filled(2_000, 'precious'))
    const blob = await blobs.open(hash)
    for await (const _ of blob!.content()) break
    blob!.close()
    const other = await keep(filled(2_000, 'another'))
    const { copyFileSync } = await import('node:fs')
    const pathOf = (name: string) => join(root, name.slice(0, 2), `${name}.zst`)
    copyFileSync(pathOf(other), pathOf(hash))
    for (let time = 0; time < 2; time++) await expect(contentOf(hash)).rejects.toBeInstanceOf(BlobCorruptError)
  })

  it('does not cache the absence of content', async () => {
    const absent = 'ab'.repeat(32)
    expect(await contentOf(absent)).toBeUndefined()
    expect(await contentOf(absent)).toBeUndefined()
    expect(opened).toHaveLength(2)
  })
})
