import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open, readdir, rename, stat, unlink, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import type { PackedBlob } from './draft.ts'
import type { BlobHash, BlobShelf, ShelvedBlob } from './shelf.ts'

/** Folders by the first byte of the hash: a few thousand files in each at a million blobs. */
const PREFIX_LENGTH = 2
const BLOB = '.zst'
/** Shorter files are read in one go: a stream would cost several times as much as they do. */
const AT_ONCE_BYTES = 65_536
/** As many reads as a thread pool runs at once. */
const MAX_SPACES = 16
/** A blob that a sweep looks at once more; one that is found under this name was left by a sweep that was killed. */
const ASIDE = '.aside'
const BLOB_NAME = /^[0-9a-f]{64}\.zst$/
const ASIDE_NAME = /^[0-9a-f]{64}\.aside$/

/** Drafts lie on the same file system, so that they can be renamed. */
export function draftFolderOf(root: string): string {
  return join(root, 'drafts')
}

/** Blobs in a folder: `<root>/<first byte>/<hash>.zst`, the time of the last touch as the file's time. */
export function folderShelf(root: string): BlobShelf {
  const drafts = draftFolderOf(root)
  /** What is read into, again and again: most blobs are far smaller. */
  const spaces: Buffer[] = []

  const pathOf = (hash: BlobHash, suffix: string = BLOB) => join(root, hash.slice(0, PREFIX_LENGTH), hash + suffix)

  async function touch(hash: BlobHash): Promise<boolean> {
    const path = pathOf(hash)
    const now = new Date()
    if ((await unlessAbsent(utimes(path, now, now).then(() => true))) === undefined) return false
    // Whoever renamed it here may not have come to this yet.
    await syncFolder(dirname(path))
    return true
  }

  async function put(hash: BlobHash, blob: PackedBlob): Promise<void> {
    const path = pathOf(hash)
    const folder = dirname(path)
    const draft = blob.kind === 'file' ? blob.path : await writeDraft(blob.bytes)
    // Folders are there but for the first time.
    if ((await unlessAbsent(rename(draft, path).then(() => true))) === undefined) {
      if ((await mkdir(folder, { recursive: true })) !== undefined) await syncFolder(root)
      await rename(draft, path)
    }
    await syncFolder(folder)
  }

  /** 1 write to a temporary name, 2 fsync; the caller's 3 renames it and 4 makes the name durable. @returns its path */
  async function writeDraft(bytes: Uint8Array): Promise<string> {
    const draft = join(drafts, `${randomUUID()}.draft`)
    let file = await unlessAbsent(open(draft, 'wx'))
    if (file === undefined) {
      await mkdir(drafts, { recursive: true })
      file = await open(draft, 'wx')
    }
    try {
      await file.writeFile(bytes)
      await file.sync()
    } finally {
      await file.close()
    }
    return draft
  }

  async function openBlob(hash: BlobHash): Promise<Readable | Buffer | undefined> {
    const file = await unlessAbsent(open(pathOf(hash), 'r'))
    if (file === undefined) return undefined
    // One byte more than is wanted tells whether there is more: asking for the size would be one more turn of the thread pool.
    const space = spaces.pop() ?? Buffer.allocUnsafeSlow(AT_ONCE_BYTES + 1)
    try {
      const { bytesRead } = await file.read(space, 0, space.byteLength, 0)
      // The stream closes it.
      if (bytesRead > AT_ONCE_BYTES) return createReadStream('', { fd: file, start: 0, autoClose: true })
      // Nobody needs to wait for that.
      void file.close().catch(() => undefined)
      return Buffer.from(space.subarray(0, bytesRead))
    } catch (error) {
      await file.close()
      throw error
    } finally {
      if (spaces.length < MAX_SPACES) spaces.push(space)
    }
  }

  async function* list(): AsyncGenerator<ShelvedBlob> {
    for (const prefix of await namesIn(root)) {
      if (prefix.length !== PREFIX_LENGTH) continue
      for (const name of await namesIn(join(root, prefix))) {
        const path = join(root, prefix, name)
        if (ASIDE_NAME.test(name)) await unlessAbsent(rename(path, path.replace(ASIDE, BLOB)))
        if (!BLOB_NAME.test(name)) continue
        const found = await unlessAbsent(stat(path))
        if (found !== undefined) yield { hash: name.slice(0, -BLOB.length), touchedAt: found.mtimeMs }
      }
    }
  }

  /**
   * Out of the way first, then the last look: whoever touches it between the two either changes the time that is looked at, or finds
   * nothing and puts it again.
   */
  async function removeUntouched(hash: BlobHash, before: number): Promise<boolean> {
    const aside = pathOf(hash, ASIDE)
    if ((await unlessAbsent(rename(pathOf(hash), aside).then(() => true))) === undefined) return false
    const { mtimeMs } = await stat(aside)
    if (mtimeMs >= before) {
      await rename(aside, pathOf(hash))
      return false
    }
    await unlink(aside)
    return true
  }

  return { touch, put, open: openBlob, list, removeUntouched }
}

/** Deletes drafts that were last written before (epoch ms): their writers are gone. @returns how many */
export async function removeOldDrafts(folder: string, before: number): Promise<number> {
  let removed = 0
  for (const name of await namesIn(folder)) {
    const path = join(folder, name)
    const found = await unlessAbsent(stat(path))
    if (found === undefined || found.mtimeMs >= before) continue
    await unlessAbsent(unlink(path))
    removed++
  }
  return removed
}

async function namesIn(folder: string): Promise<string[]> {
  return (await unlessAbsent(readdir(folder))) ?? []
}

/** A rename is durable when its folder is. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function unlessAbsent<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
